"""Short files that ask for much work: each is refused by what is counted, before a tool is given it."""

from __future__ import annotations

from pathlib import Path

from victims import Attack, Change, both, edit, manifest, seal, within

FC, OUT = "net_fc1.sv", "assign data_out_0 = {y1_q1, y0_q1};"


def bomb(name: str, change: Change, says: str, victim: str = "pipes") -> Attack:
    return Attack(name, victim, change, "refused", says)


def module(name: str, text: str) -> Change:
    """A file more, listed as the others are."""

    def change(build: Path, _: Path) -> None:
        (build / "rtl" / f"{name}.sv").write_text(f"// SPDX-License-Identifier: Apache-2.0\n{text}", encoding="utf-8")
        with (build / "rtl" / "files.f").open("a") as listing:
            listing.write(f"{name}.sv\n")
        manifest(lambda found: found["files"].append({"path": f"rtl/{name}.sv", "sha256": ""}))(build, build)
        seal(build)

    return change


def nested(count: int, levels: int) -> Change:
    """Modules that hold so many of the next, which hold as many of the next."""
    changes = []
    for level in range(levels):
        inside = "".join(f"  deep{level + 1} u_{k} (\n    .a,\n    .y(z[{k}])\n  );\n" for k in range(count))
        body = inside if level + 1 < levels else f"  assign z = {{{count}{{a}}}};\n"
        head = f"module deep{level} (\n  input  logic a,\n  output logic y\n);\n  logic [{count - 1}:0] z;\n"
        changes.append(module(f"deep{level}", f"{head}{body}  assign y = &z;\nendmodule\n"))
    return both(*changes, within(FC, "  logic last;\n  deep0 u_deep (\n    .a(enable),\n    .y(last)\n  );"))


def loop(count: int, body: str) -> Change:
    return within(FC, f"  for (genvar i = 0; i < {count}; i++) begin : gen_more\n    {body}\n  end")


def clocked(width: int, value: str) -> Change:
    """A register that the output depends on."""
    text = f"logic [{width - 1}:0] a_q;\n  always_ff @(posedge clk) begin\n    a_q <= {value};\n  end\n  "
    return edit(FC, OUT, text + OUT.replace("};", "} ^ {8{a_q[0]}};"))


SIZE = (
    bomb("a vector of a million bits", within(FC, "  logic [1048575:0] h;\n  assign h = {1048576{enable}};"), "65,536"),
    bomb("vectors of many bits in all", loop(100, "logic [65535:0] h;\n    assign h = {65536{enable}};"), "4,194,304"),
    bomb("a number of more than a million", loop(1_000_000_000, "logic a;\n    assign a = enable;"), "1000000000"),
    bomb("a loop of a million", loop(1_000_000, "logic a;\n    assign a = enable;"), "MaxGenerate"),
    bomb("a loop of a hundred thousand", loop(130_000, "logic a;\n    logic b;\n    assign a = enable;\n"
         "    assign b = a;"), "400,000 names"),
    bomb("modules by the ten thousand million", nested(100, 5), "more than"),
    bomb("modules by the thousand", nested(20, 4), "instances of modules"),
    bomb("a product of wide numbers", clocked(65536, "a_q * a_q"), "268,435,456"),
    bomb("a shift of wide numbers, often", both(clocked(65536, "(a_q << a_q[15:0])" + " | (a_q >> a_q[15:0])" * 40
         + " | (a_q << a_q[16:1])" * 40 + " | (a_q << a_q[17:2])" * 40 + " | (a_q << a_q[18:3])" * 40
         + " | (a_q << a_q[19:4])" * 40)), "nested|268,435,456|columns"),
    bomb("a wide constant", within(FC, "  localparam logic [99999:0] K = {100000{1'b1}} * {100000{1'b1}};"), "65,536"),
    bomb("a long repetition", within(FC, "".join(f"  logic r{k};\n  assign r{k} = ^{{1000000{{{{16{{enable}}}}}}}};\n"
         for k in range(40))), "268,435,456"),
    bomb("a memory of many bits", within(FC, "  logic [1023:0] big[65537];\n  always_ff @(posedge clk) begin\n"
         "    big[0] <= '0;\n  end"), "67,108,864"),
    bomb("a FIFO that is a million deep", edit("net.sv", ".Depth(3)", ".Depth(1000000)"), "67,108,864 gates",
         "streams"),
    bomb("half a million statements", within(FC, "  ;\n" * 500_000), "semicolons"),
)  # fmt: skip
