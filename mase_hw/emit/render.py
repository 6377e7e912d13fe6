"""A design as SystemVerilog text: one module for each component that has its own, the library it needs, the top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mase_hw import resources
from mase_hw.emit.filters import FILTERS
from mase_hw.emit.layout import comment, fit
from mase_hw.ir import Component, Design, Instance, Pipe


@dataclass(frozen=True)
class Part:
    """A component as the top instantiates it."""

    component: Component
    module: str
    parameters: Mapping[str, Any]

    @property
    def pipe(self) -> bool:
        return isinstance(self.component, Pipe)

    @property
    def joins(self) -> bool:
        """A pipe with several inputs: the top says when all of them are there."""
        return self.pipe and len(self.component.inputs) > 1


def render(design: Design) -> dict[str, str]:
    """File name to text, in compile order: library, components, top."""
    library = {"mase_stream_check": resources.rtl_templates() / "lib" / "mase_stream_check.sv"}
    own: dict[str, str] = {}
    parts = []
    for component in design.components:
        instance = component.instance()
        library |= {name: _library_file(instance, name) for name in instance.needs}
        if instance.library:
            library[instance.library] = _library_file(instance, instance.library)
            parts.append(Part(component, instance.library, instance.values))
        else:
            part = Part(component, _own_module(design, component), {})
            own[f"{part.module}.sv"] = _component(part, instance)
            parts.append(part)
    top = _top(design, parts)
    shared = {f"{name}.sv": library[name].read_text("utf-8") for name in sorted(library)}
    return {**shared, **own, f"{design.name}.sv": top}


def render_alone(design: Design, single: Design) -> str:
    """A top for one component of `design` that instantiates the module emitted for it."""
    component = single.components[0]
    instance = component.instance()
    module = instance.library or _own_module(design, component)
    part = Part(component, module, instance.values if instance.library else {})
    return _top(single, [part])


def rtl_environment(folder: Path | None = None) -> Environment:
    """Where templates are found: among the project's own and, of an operator from elsewhere, in its folder."""
    places = [resources.rtl_templates(), *([folder] if folder else [])]
    environment = Environment(
        loader=FileSystemLoader(places),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(FILTERS, comment=comment)
    return environment


def _library_file(instance: Instance, name: str) -> Path:
    own = resources.rtl_templates() / "lib" / f"{name}.sv"
    return own if instance.folder is None or own.exists() else instance.folder / f"{name}.sv"


def _top(design: Design, parts: list[Part]) -> str:
    timing, ends = design.schedule, {y.name for y in design.outputs}
    text = (
        rtl_environment()
        .get_template("top.sv.j2")
        .render(
            design=design,
            parts={part.component.name: part for part in parts},
            inner=[y for component in design.components for y in component.outputs if y.name not in ends],
            groups=design.groups,
            interval=timing.interval,
            latency=timing.latency,
        )
    )
    return fit(text)


def module_name(design: Design, component: Component) -> str:
    """The module that a component is an instance of."""
    return component.instance().library or _own_module(design, component)


def _own_module(design: Design, component: Component) -> str:
    return f"{design.name}_{component.name}"


def _component(part: Part, instance: Instance) -> str:
    path = f"{instance.template}.sv.j2" if instance.folder else f"ops/{instance.template}.sv.j2"
    component = part.component
    text = (
        rtl_environment(instance.folder)
        .get_template(path)
        .render(
            name=component.name,
            module=part.module,
            template=path,
            x=component.input,
            y=component.output,
            interval=component.interval,
            latency=component.latency,
            **instance.values,
        )
    )
    return fit(text)
