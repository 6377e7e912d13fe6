"""A design as SystemVerilog text: one module for each component that has its own, the library it needs, the top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mase_hw import resources
from mase_hw.emit.filters import FILTERS
from mase_hw.emit.layout import comment, fit
from mase_hw.ir import Component, Design, Pipe, runs


@dataclass(frozen=True)
class Part:
    """A component as the top instantiates it."""

    component: Component
    module: str
    parameters: Mapping[str, Any]

    @property
    def pipe(self) -> bool:
        return isinstance(self.component, Pipe)


def render(design: Design) -> dict[str, str]:
    """File name to text, in compile order: library, components, top."""
    environment = rtl_environment()
    library = {"mase_stream_check"}
    own: dict[str, str] = {}
    parts = []
    for component in design.components:
        instance = component.instance()
        library.update(instance.needs)
        if instance.library:
            library.add(instance.library)
            parts.append(Part(component, instance.library, instance.values))
        else:
            part = Part(component, module_name(design, component), {})
            own[f"{part.module}.sv"] = _component(environment, part, instance.template, instance.values)
            parts.append(part)
    top = _top(environment, design, parts)
    folder = resources.rtl_templates() / "lib"
    shared = {f"{name}.sv": (folder / f"{name}.sv").read_text("utf-8") for name in sorted(library)}
    return {**shared, **own, f"{design.name}.sv": top}


def render_alone(design: Design, single: Design) -> str:
    """A top for one component of `design` that instantiates the module emitted for it."""
    component = single.components[0]
    instance = component.instance()
    part = Part(component, module_name(design, component), instance.values if instance.library else {})
    return _top(rtl_environment(), single, [part])


def rtl_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(resources.rtl_templates()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(FILTERS, comment=comment)
    return environment


def _top(environment: Environment, design: Design, parts: list[Part]) -> str:
    timing = design.schedule
    text = environment.get_template("top.sv.j2").render(
        design=design,
        parts={part.component.name: part for part in parts},
        runs=runs(design.components),
        interval=timing.interval,
        latency=timing.latency,
    )
    return fit(text)


def module_name(design: Design, component: Component) -> str:
    """The module that a component is an instance of."""
    return component.instance().library or f"{design.name}_{component.name}"


def _component(environment: Environment, part: Part, template: str, values: Mapping[str, Any]) -> str:
    path = f"ops/{template}.sv.j2"
    component = part.component
    text = environment.get_template(path).render(
        name=component.name,
        module=part.module,
        template=path,
        x=component.input,
        y=component.output,
        interval=component.interval,
        latency=component.latency,
        **values,
    )
    return fit(text)
