"""The choices of one entry of [search.search_space.seed]: quantizers and widths, channel multipliers, or both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mase_hw.config.quantize import ARGUMENTS, UNQUANTIZED
from mase_hw.config.table import Table, nearest, shown
from mase_hw.numerics import MAX_FRAC, MAX_WIDTH, Rounding

ROLES = ("output_only", "both", "input_only")
WIDTH_KEYS = tuple(f"{argument}_{kind}" for argument in ARGUMENTS for kind in ("width", "frac_width", "signed"))
_KEYS = ("name", *WIDTH_KEYS, "redefine", "channel_multiplier")
_QUANTIZERS = tuple(rule.value for rule in Rounding)
Suggest = Callable[[str, tuple[Any, ...]], Any]  # a key and its choices to the value chosen


@dataclass(frozen=True)
class Choices:
    """What a node may become. None among `quantizers` leaves it in floats, None among `roles` leaves its channels.

    `role_key` is where the role is written: `name`, as MASE's users do, or `redefine` beside a quantizer's name.
    """

    quantizers: tuple[str | None, ...] = (None,)
    widths: Mapping[str, tuple[int | bool, ...]] = field(default_factory=lambda: MappingProxyType({}))
    roles: tuple[str | None, ...] = (None,)
    multipliers: tuple[int, ...] = (1,)
    role_key: str = "redefine"

    @property
    def quantizes(self) -> bool:
        return any(name is not None for name in self.quantizers)

    @property
    def widens(self) -> bool:
        return any(role is not None for role in self.roles)

    def count(self) -> int:
        """How many different configurations there are: widths count only where there is a quantizer."""
        return sum(map(self._quantized, self.quantizers)) * sum(map(self._widened, self.roles))

    def pick(self, suggest: Suggest) -> dict[str, Any]:
        """A `config` table. `suggest` is asked where there is more than one choice, and only if the answer matters."""

        def ask(key: str, choices: tuple[Any, ...]) -> Any:
            return choices[0] if len(choices) == 1 else suggest(key, choices)

        quantizer = ask("name", self.quantizers) if self.role_key != "name" else None
        role = ask(self.role_key, self.roles)
        config: dict[str, Any] = {"name": role if self.role_key == "name" else quantizer}
        if quantizer is not None:
            config |= {key: ask(key, choices) for key, choices in self.widths.items()}
        if role is not None and self.role_key != "name":
            config["redefine"] = role
        if role in ("output_only", "both"):
            config["channel_multiplier"] = ask("channel_multiplier", self.multipliers)
        return config

    def at(self, index: int) -> dict[str, Any]:
        """The configuration number `index` of `count()`."""
        index, of_role = divmod(index, sum(map(self._widened, self.roles)))
        chosen: dict[str, Any] = {}
        chosen["name"], rest = _within(self.quantizers, self._quantized, index)
        if chosen["name"] is not None:
            for key, choices in self.widths.items():
                rest, at = divmod(rest, len(choices))
                chosen[key] = choices[at]
        role, at = _within(self.roles, self._widened, of_role)
        chosen |= {self.role_key: role, "channel_multiplier": self.multipliers[at % len(self.multipliers)]}
        return self.pick(lambda key, _: chosen[key])

    def _quantized(self, name: str | None) -> int:
        return 1 if name is None else math.prod(map(len, self.widths.values()))

    def _widened(self, role: str | None) -> int:
        return len(self.multipliers) if role in ("output_only", "both") else 1


def _within(names: tuple[str | None, ...], count: Callable[[str | None], int], index: int) -> tuple[str | None, int]:
    """The name whose configurations hold number `index`, and which of them it is."""
    for name in names:
        if index < count(name):
            return name, index
        index -= count(name)
    raise AssertionError("the index is past the last configuration")


def parse_choices(config: Table, channels_only: bool) -> Choices:
    """Reads a `config` table whose values are lists of choices; a single value stands for a list of one."""
    config.only(_KEYS)
    names = _values(config, "name", _name)
    widths = {key: _values(config, key, _width(key)) for key in WIDTH_KEYS if key in config.values}
    multipliers = _values(config, "channel_multiplier", _multiplier) or (1,)
    if "name" not in config.values:
        config.problem("name is missing", hint=f"add name = a list of {', '.join((*_QUANTIZERS, 'NA', *ROLES))}")
    named_role = any(name in ROLES for name in names)
    if named_role and any(name in _QUANTIZERS for name in names):
        config.problem("name mixes quantizers and channel roles", "name", hint="put the roles under redefine")
    if named_role and (widths or "redefine" in config.values):
        hint = 'for both on one node: name = ["integer"], its widths, and redefine = ["both"]'
        config.problem("name is a channel role, beside widths or redefine", "name", hint=hint)
    roles = names if named_role else _values(config, "redefine", _role) or (None,)
    quantizers: tuple[str | None, ...] = (None,) if named_role or not names else names
    if channels_only and (widths or any(quantizers)):
        hint = 'set name = "graph/quantize/mixed_precision_ptq", which searches both'
        config.problem('widths and quantizers are no part of "graph/channel_size"', "name", hint=hint)
    _check_multiplier(config, roles)
    if any(quantizers):
        _check_pairs(config)
    elif widths:
        config.problem("widths without a quantizer are never used", next(iter(widths)), hint='name = ["integer"]')
    frozen = MappingProxyType({key: values or (0,) for key, values in widths.items()})
    return Choices(quantizers, frozen, roles, multipliers, "name" if named_role else "redefine")


def _check_multiplier(config: Table, roles: tuple[str | None, ...]) -> None:
    widening = any(role in ("output_only", "both") for role in roles)
    if widening and "channel_multiplier" not in config.values:
        config.problem(f"{' or '.join(map(shown, roles))} needs channel_multiplier", "name", hint="add it: [1, 2, 4]")
    if not widening and "channel_multiplier" in config.values:
        hint = f"name (or, beside a quantizer, redefine) says how: {', '.join(ROLES)}"
        config.problem("channel_multiplier is never used", "channel_multiplier", hint=hint)


def _check_pairs(config: Table) -> None:
    """A type is a width and a frac_width; a signed one has two bits or more."""
    for argument in ARGUMENTS:
        keys = [f"{argument}_{kind}" for kind in ("width", "frac_width", "signed")]
        given = [key for key in keys if key in config.values]
        for key in keys[:2]:
            if given and key not in config.values:
                config.problem(f"{given[0]} is given without {key}", given[0], hint=f"add {key}")
        signed = config.values.get(keys[2], True)
        widths = config.values.get(keys[0], [])
        if signed not in (False, [False]) and 1 in (widths if isinstance(widths, list | tuple) else [widths]):
            config.problem(f"{keys[0]} = 1 is too narrow for a signed type", keys[0], hint="2 or more")
    if "data_in_width" not in config.values and "data_in_frac_width" not in config.values:
        config.problem("a quantizer needs the type of data_in", "name", hint="add data_in_width, data_in_frac_width")


_Check = Callable[[Any], str | None]  # a value to what is wrong with it


def _values(config: Table, key: str, check: _Check) -> tuple[Any, ...]:
    if key not in config.values:
        return ()
    given = config.values[key]
    values = list(given) if isinstance(given, list | tuple) else [given]
    if not values:
        config.problem(f"{key} = [] has no choice", key)
    for at, value in enumerate(values):
        wrong = check(value)
        if wrong is not None:
            text, _, hint = wrong.partition("\n")
            config.problem(f"{key}: {shown(value)} {text}", key, hint=hint or None)
            return ()
        if value in values[:at]:
            config.problem(f"{key}: {shown(value)} is listed twice", key)
    return tuple(None if key in ("name", "redefine") and value in UNQUANTIZED else value for value in values)


def _name(value: Any) -> str | None:
    names = (*_QUANTIZERS, *UNQUANTIZED, *ROLES)
    if value is None or value in names:
        return None
    return f"is no quantizer and no channel role\n{nearest(str(value), names, 'names')}"


def _role(value: Any) -> str | None:
    if value is None or value in (*ROLES, *UNQUANTIZED):
        return None
    return f"is no channel role\n{nearest(str(value), ROLES, 'roles')}"


def _multiplier(value: Any) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return None if good else "is no multiplier\nan integer, 1 or more"


def _width(key: str) -> _Check:
    if key.endswith("_signed"):
        return lambda value: None if isinstance(value, bool) else "is not true or false"
    lo, hi = (-MAX_FRAC, MAX_FRAC) if key.endswith("_frac_width") else (1, MAX_WIDTH)

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "is not an integer"
        return None if lo <= value <= hi else f"is out of range\nallowed: {lo} to {hi}"

    return check
