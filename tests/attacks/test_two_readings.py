"""Random expressions in the language, read by Yosys and by Verilator, and run on the same numbers: all are alike.

A bit of which the two think differently could decide when a design is wrong, and the proof would not know. So whatever
is found here is taken out of the language. Signals are signed or not, counted up or down, of one dimension or two;
what is outside of the language is left out, line by line.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from mase_hw import resources
from mase_hw.language.check import refusals
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.netlist.plain import PlainMachine
from mase_hw.simulate.replay import Driven, Replay, Watched, build_replay, harness, words

CHECKER = "mase_stream_check.sv"
BITS, RUNS, OUT = 96, 256, 64
LINES = 60
WIDTHS = (1, 2, 4, 8, 9, 16, 32, 33)
OPERATORS = (
    "+",
    "-",
    "*",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<<<",
    "compare",
    "?",
    "cast",
    "sign",
    "-x",
    "~",
    "!",
    "{}",
    "{{}}",
)


class Draw:
    """One module: `signals` and `outputs` are its lines."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names: list[tuple[str, int, bool]] = []  # with the bits, and whether they are counted down to 0
        self.signals: list[str] = []
        at = 0
        while at < BITS:
            width, name = min(self.rng.choice(WIDTHS), BITS - at), f"v{at}"
            sign, down = self.rng.choice(("", "signed ")), self.rng.random() < 0.7
            ends = f"{width - 1}:0" if down else f"0:{width - 1}"
            if rows := width > 4 and width % 4 == 0 and self.rng.random() < 0.3:
                ends, sign = f"{width // 4 - 1}:0][3:0", ""
            self.signals += [f"  logic {sign}[{ends}] {name};", f"  assign {name} = x[{at}+:{width}];"]
            self.names.append((name, width, not rows and down))
            at += width
        kinds = {
            "int": ("-3", "5", "1000"),
            "int unsigned": ("0", "3", "90"),
            "longint": ("-64'sd7", "3"),
            "logic [6:0]": ("7'd99", "7'd3"),
            "logic signed [39:0]": ("-40'sd9", "40'sh8000000000", "40'sd5"),
        }
        self.parameters = [f"P{k}" for k, _ in enumerate(kinds)]
        for name, (kind, values) in zip(self.parameters, kinds.items(), strict=True):
            self.signals.append(f"  localparam {kind} {name} = {self.rng.choice(values)};")
        self.outputs = [f"  assign y[{k}] = {OUT}'({self.expression(4)});" for k in range(LINES)]

    def literal(self, width: int) -> str:
        return f"{width}'{self.rng.choice(('', 's'))}h{self.rng.getrandbits(width):x}"

    def leaf(self) -> str:
        name, width, down = self.rng.choice(self.names)
        kind = self.rng.random()
        if kind < 0.2:
            return self.rng.choice((self.literal(self.rng.choice(WIDTHS)), *self.parameters, "0", "1", "'0", "'1"))
        if not down or width < 4 or kind < 0.7:
            return name
        low = self.rng.randrange(width // 2)
        return self.rng.choice((f"{name}[{low}]", f"{name}[{low}+:3]", f"{name}[{low + 1}:{low}]"))

    def condition(self, depth: int) -> str:
        width, sign = self.rng.choice(WIDTHS), self.rng.choice(("signed'", "unsigned'"))
        a, b = (f"{sign}({width}'({self.expression(depth - 1)}))" for _ in range(2))
        return f"({a} {self.rng.choice(('<', '<=', '>', '>=', '==', '!='))} {b})"

    def expression(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf()
        a, b, kind = self.expression(depth - 1), self.expression(depth - 1), self.rng.choice(OPERATORS)
        if kind == "compare":
            return self.condition(depth)
        if kind == "?":
            return f"({self.condition(depth)} ? {a} : {b})"
        if kind == "cast":
            return f"{self.rng.choice((*WIDTHS, OUT, 'longint'))}'({a})"
        if kind == "sign":
            return f"{self.rng.choice(('$signed', 'signed' + chr(39), 'unsigned' + chr(39)))}({a})"
        if kind in ("-x", "~", "!"):
            return f"(!{self.condition(depth)})" if kind == "!" else f"({kind[0]}{a})"
        if kind in ("{}", "{{}}"):
            return f"{{{a}, {b}}}" if kind == "{}" else f"{{{self.rng.choice((1, 2, 5))}{{{a}}}}}"
        if kind in ("<<", ">>", "<<<"):
            b = self.rng.choice((b, str(self.rng.randrange(9)), str(self.rng.randrange(9))))
        elif self.rng.random() < 0.7:
            a, b = (f"{self.rng.choice((8, 33, OUT))}'({each})" for each in (a, b))
        return f"({a} {kind} {b})"

    def text(self) -> str:
        head = "module dut #(\n  parameter bit CheckStreams = 1'b0\n) (\n  input logic clk,\n"
        head += f"  input logic [{BITS - 1}:0] x,\n"
        ports = ",\n".join(f"  output logic [{OUT - 1}:0] o{k}" for k in range(LINES))
        ends = "\n".join(f"  assign o{k} = y[{k}];" for k in range(LINES))
        checks = f"  if (CheckStreams) begin : gen_check\n    {CHECKER[:-3]} #(\n      .Width(1)\n    ) u_check (\n"
        checks += (
            "      .clk,\n      .rst(1'b0),\n      .data(x[0]),\n      .valid(1'b0),\n      .ready(1'b0)\n    );\n  end"
        )
        body = "\n".join([*self.signals, f"  logic [{OUT - 1}:0] y[{LINES}];", *self.outputs])
        return f"{head}{ports}\n);\n{body}\n{ends}\n{checks}\nendmodule\n"


def within_the_language(seed: int) -> tuple[str, int]:
    """A module with all lines that are in the language, and how many these are."""
    draw = Draw(seed)
    checker = (resources.rtl_templates() / "lib" / CHECKER).read_bytes()
    while True:
        text = draw.text()
        refused = refusals({"dut.sv": text.encode(), CHECKER: checker}, "dut")
        if not refused:
            return text, sum("= '0;" not in line for line in draw.outputs)
        lines = text.split("\n")
        for line, said in {found.line: found.text for _, found in refused}.items():
            assert lines[line - 1] in draw.outputs, f"{said}: {lines[line - 1]}"
            place = draw.outputs.index(lines[line - 1])
            draw.outputs[place] = f"  assign y[{place}] = '0;"


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(6))
def test_both_read_the_same(seed: int, tmp_path: Path) -> None:
    text, count = within_the_language(seed)
    assert count > 8
    (tmp_path / "dut.sv").write_text(text, encoding="utf-8")
    (tmp_path / CHECKER).write_bytes((resources.rtl_templates() / "lib" / CHECKER).read_bytes())
    files = [tmp_path / "dut.sv", tmp_path / CHECKER]
    netlist = elaborate(files, "dut", [])[""]
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (RUNS, BITS)).astype(np.uint8)
    x[::8], x[1::8] = rng.random((RUNS // 8, BITS)) < 0.05, rng.random((RUNS // 8, BITS)) < 0.95
    machine = PlainMachine(netlist, rng, RUNS)
    machine.put("clk", 0)
    columns = np.packbits(x, axis=0, bitorder="little")
    machine.put_wires("x", [int.from_bytes(columns[:, k].tobytes(), "little") for k in range(BITS)])
    machine.settle()
    watched = [Watched(f"o{k}", OUT) for k in range(LINES)]
    top = harness("around", "dut", "clk", [Driven("x", BITS)], watched)
    replay = Replay(build_replay(files, "around", top, tmp_path / "cache"))
    given = np.zeros((RUNS, 8 * words(BITS)), np.uint8)
    given[:, : BITS // 8] = np.packbits(x, axis=1, bitorder="little")
    seen = np.array([machine.numbers(netlist.ports[f"o{k}"]) for k in range(LINES)], np.uint64).T.copy()
    found = replay.run(given.view(np.uint64), seen, 0, 1, random=False)
    if found is not None:
        assert not isinstance(found, str), found
        wrong = np.flatnonzero(found.got != seen[found.cycle])
        lines = [line for k in wrong for line in text.split("\n") if line.startswith(f"  assign y[{k}] =")]
        raise AssertionError("\n".join(lines))
