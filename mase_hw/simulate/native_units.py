"""Splits what Verilator wrote into units that compile by themselves: some per component, and the rest.

Verilator writes a class per module that it keeps apart. Such a class reaches others only through the table of all
instances, whose layout changes with any of them. Here each reach becomes a call of a function that the rest defines,
so a unit's text names only its own class: it changes with its own module alone, and so does its object in the cache.

What little of a component is tied to the order in which the whole design is evaluated may move between its small
functions when another component changes. So its long functions, where the arithmetic is, are a unit of their own, named
by what they do and not by their number.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

PREFIX = "Vtop"
FORM = "4"  # of the units; a new one when this file makes others of the same input
_INCLUDE = re.compile(r'^#include "Vtop.*"$', re.MULTILINE)
_REACH = re.compile(r"vlSymsp->(TOP\w*)\.(\w+)")
_NAME = "vlSymsp->name()"
_MEMBER = re.compile(r"^\s*((?:CData|SData|IData|QData|VlWide<\d+>))/\*\d+:0\*/ (\w+);", re.MULTILINE)
_PORT = re.compile(r"^\s*VL_(?:IN|OUT|INOUT)(8|16|64|W|)\((\w+),\d+,\d+(?:,(\d+))?\);", re.MULTILINE)
_INSTANCE = re.compile(r"^\s+(Vtop\w+)\s+(TOP\w*);", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?:VL_ATTR_COLD |VL_INLINE_OPT )*void (\w+)\(\w+\* vlSelf\) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL
)
_LONG = 16_000  # characters, of a function that is in the unit of the long ones
_PORT_TYPES = {"8": "CData", "16": "SData", "": "IData", "64": "QData"}


@dataclass(frozen=True)
class Units:
    """`apart` by class name, with `.long` for its long functions: texts that need nothing but Verilator's runtime.

    `rest` is compiled in the folder that Verilator wrote.
    """

    apart: dict[str, str]
    rest: str


def split(folder: Path, driver: Path) -> Units:
    """The units of a folder that Verilator wrote."""
    headers = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob(f"{PREFIX}*.h"))}
    sources = {path: path.read_text("utf-8") for path in sorted(folder.glob(f"{PREFIX}*.cpp"))}
    classes = {place: name for name, place in _INSTANCE.findall(headers[f"{PREFIX}__Syms"])}
    members = {name: _members(text) for name, text in headers.items()}
    own = {name for place, name in classes.items() if place != "TOP"}
    apart: dict[str, str] = {}
    reached: dict[str, str] = {}  # declaration to definition
    for name in sorted(own):
        mine = [path for path in sources if path.stem.startswith(f"{name}__")]
        made = _units(name, headers[name], "".join(sources[path] for path in mine), classes, members)
        if made is not None:
            apart |= made[0]
            reached |= made[1]
            for path in mine:
                del sources[path]
    rest = [f'#include "{PREFIX}__Syms.h"\n', *reached.values()]
    rest += [f'#include "{path.name}"\n' for path in sources]
    rest += [_ports(headers[PREFIX]), f'#include "{driver}"\n']
    return Units(apart, "".join(rest))


def _ports(header: str) -> str:
    """The ports of the top module, for the driver: a macro that applies another to each one's number and name."""
    lines = []
    for side, kind, name in (("INPUTS", "IN", "data_in"), ("OUTPUTS", "OUT", "data_out")):
        numbers = sorted(int(k) for k in re.findall(rf"VL_{kind}8\(&{name}_(\d+)_valid,", header))
        lines.append(f"#define MASE_{side}(DO) {' '.join(f'DO({k}, {name}_{k})' for k in numbers)}\n")
    return "".join(lines)


def _units(
    name: str, header: str, body: str, classes: dict[str, str], members: dict[str, dict[str, str]]
) -> tuple[dict[str, str], dict[str, str]] | None:
    """The class's units and what they call, for the rest; None if it reaches others in a way not known here."""
    functions = {"mase_name": f"const char* mase_name({PREFIX}__Syms* symsp)"}
    bodies = {"mase_name": "return symsp->name();"}
    for place, member in sorted(set(_REACH.findall(body))):
        kind = members.get(classes.get(place, ""), {}).get(member)
        if kind is None:
            return None
        function = f"mase_{place}_{member}"
        functions[function] = f"{kind}& {function}({PREFIX}__Syms* symsp)"
        bodies[function] = f"return symsp->{place}.{member};"
    body = _REACH.sub(r"mase_\1_\2(vlSymsp)", body).replace(_NAME, "mase_name(vlSymsp)")
    if "vlSymsp->" in body:
        return None
    # const: the same reference for the same table, so that a function asks once.
    declared = {function: f"__attribute__((const)) {text};\n" for function, text in functions.items()}
    defined = {text: f"{text} {{ {bodies[key]} }}\n" for key, text in functions.items()}
    short, long = _parted(_INCLUDE.sub("", body))
    units = {}
    for key, text in ((name, short), *([(f"{name}.long", long)] if long else [])):
        called = "".join(line for function, line in declared.items() if f"{function}(" in text)
        units[key] = f"class {PREFIX}__Syms;\n{header}\n{called}{text}"
    return units, defined


def _parted(body: str) -> tuple[str, str]:
    """A class's functions: the short ones with all else, and the long ones, under names that say what they do."""
    long: dict[str, str] = {}  # two instances of a module may have the same one
    rest = _FUNCTION.sub("", body)
    tables = "".join(re.findall(r"^extern const .*;\n", rest, re.MULTILINE))  # constants that all units share

    def part(match: re.Match[str]) -> str:
        function, text = match[1], match[0]
        calls = re.findall(rf"\b({PREFIX}\w*___\w+)\(", text)
        if len(text) < _LONG or set(calls) - {function}:
            return text
        unnamed = text.replace(function, "MASE_FUNCTION")
        same = f"mase_function_{hashlib.sha256(unnamed.encode()).hexdigest()[:16]}"
        kind = text.partition("(")[2].partition("*")[0]
        long[same] = unnamed.replace("MASE_FUNCTION", same)
        return f"void {same}({kind}* vlSelf);\nvoid {function}({kind}* vlSelf) {{ {same}(vlSelf); }}\n"

    short = _FUNCTION.sub(part, body)
    return short, tables * bool(long) + "".join(long[same] for same in sorted(long))


def _members(header: str) -> dict[str, str]:
    """Member to type, for those that are plain words."""
    found = {name: kind for kind, name in _MEMBER.findall(header)}
    for size, name, words in _PORT.findall(header):
        found[name] = f"VlWide<{words}>" if size == "W" else _PORT_TYPES[size]
    return found
