"""Is the emitted hardware still what it was? RTL, cycles and cells of many networks, before and after a change.

    python bench/same_hardware.py write /tmp/before     # in the old checkout
    python bench/same_hardware.py write /tmp/after      # in the new one
    python bench/same_hardware.py compare /tmp/before /tmp/after

The networks are the examples, the labs' models in every implementation, and the first fuzzing cases. Two designs are
the same if their interval and latency are equal and their files are equal without comments. Where only the text
differs, Yosys synthesizes both and every count of cells must be equal.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "fuzz")]

MODELS = ("jsc-tiny", "jsc-toy", "jsc-s", "test-hhy", "jsc-d", "digits-mlp")
KINDS = (("unrolled", 1), ("serial", 8), ("folded", 16), ("auto", 4), ("auto", 64))

_COMMENT = re.compile(r"//[^\n]*")
_SYNTH = """
import json, sys
from collections import Counter
from pyosys import libyosys as ys
top, files = sys.argv[1], sys.argv[2:]
design = ys.Design()
ys.run_pass(f"read_slang --top {top} " + " ".join(files), design)
ys.run_pass(f"synth_xilinx -family xcup -top {top} -flatten -noiopad -nodsp", design)
ys.run_pass("write_json netlist.json", design)
"""


@click.group(help=__doc__)
def command() -> None:
    pass


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--cases", default=120, show_default=True, help="Fuzzing cases, from number 0.")
def write(folder: Path, cases: int) -> None:
    """Emit every network with this checkout's code; RTL and cycles go to FOLDER."""
    folder.mkdir(parents=True)
    count = 0
    for name, manifest, rtl in _networks(cases):
        place = folder / name
        place.mkdir()
        for file, text in rtl.items():
            (place / file).write_text(text, encoding="utf-8")
        (place / "cycles.json").write_text(json.dumps(manifest))
        count += 1
    click.echo(f"{count} networks")


def _networks(cases: int) -> Iterator[tuple[str, dict[str, object], dict[str, str]]]:
    yield from _examples()
    yield from _labs()
    from fuzzing.draw import draw_case
    from fuzzing.run import Result, emit_case

    for number in range(cases):
        with tempfile.TemporaryDirectory() as work:
            built = emit_case(draw_case(number), Path(work) / "case")
            if not isinstance(built, Result):
                yield f"fuzz{number}", *_of_build(Path(work) / "case" / "build")


def _examples() -> Iterator[tuple[str, dict[str, object], dict[str, str]]]:
    for name, args in {
        "digits": ["examples/digits/model.toml"],
        "jets": ["examples/jets/model.toml"],
        "qonnx": ["examples/qonnx/net.onnx"],
    }.items():
        with tempfile.TemporaryDirectory() as work:
            out = Path(work) / "build"
            code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mase_hw.cli import main; main()"
            subprocess.run(
                [sys.executable, "-c", code, "emit", *args, "--out", str(out)],
                cwd=ROOT,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            yield f"example-{name}", *_of_build(out)


def _labs() -> Iterator[tuple[str, dict[str, object], dict[str, str]]]:
    from support import eight_bit, randomized

    from mase_hw.emit import render
    from mase_hw.flow import compile_model
    from mase_hw.models import get_model

    for name in MODELS:
        for kind, interval in KINDS:
            hardware = {"by": "type", "linear": {"config": {"implementation": kind}}}
            shape = (64,) if name == "digits-mlp" else (16,)
            model = randomized(get_model(name))
            design = compile_model(model, shape, eight_bit(), hardware, target_interval=interval, top="dut").design
            cycles = {"top": "dut", "interval": str(design.schedule.interval), "latency": design.schedule.latency}
            yield f"lab-{name}-{kind}-{interval}", cycles, render(design)


def _of_build(build: Path) -> tuple[dict[str, object], dict[str, str]]:
    manifest = json.loads((build / "manifest.json").read_text())
    cycles = {"top": manifest["top"], "interval": str(manifest["interval"]), "latency": manifest["latency"]}
    return cycles, {Path(f["path"]).name: (build / f["path"]).read_text("utf-8") for f in manifest["files"]}


@command.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """Compare two folders that `write` made; exit code 1 where hardware differs."""
    verdicts: Counter[str] = Counter()
    for name in sorted({p.name for p in (*before.iterdir(), *after.iterdir())}):
        verdict = _verdict(before / name, after / name)
        verdicts[verdict.split(":")[0]] += 1
        if not verdict.startswith("same"):
            click.echo(f"{name}: {verdict}")
    click.echo(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    sys.exit(any(not verdict.startswith("same") for verdict in verdicts))


def _verdict(before: Path, after: Path) -> str:
    if not before.exists() or not after.exists():
        return "missing: " + ("before" if not before.exists() else "after")
    cycles = [json.loads((side / "cycles.json").read_text()) for side in (before, after)]
    if cycles[0] != cycles[1]:
        return f"other cycles: {cycles[0]} {cycles[1]}"
    texts = [{file.name: _bare(file) for file in side.iterdir() if file.suffix != ".json"} for side in (before, after)]
    if texts[0] == texts[1]:
        return "same text"
    counts = [_cells(side, cycles[0]["top"]) for side in (before, after)]
    return "same cells" if counts[0] == counts[1] else f"other cells: {counts[0]} {counts[1]}"


def _bare(file: Path) -> list[str]:
    lines = (_COMMENT.sub("", line).strip() for line in file.read_text("utf-8").splitlines())
    return [line for line in lines if line]


def _cells(folder: Path, top: str) -> dict[str, int]:
    files = [str(file.resolve()) for file in sorted(folder.iterdir()) if file.suffix in (".sv", ".v")]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, "-c", _SYNTH, top, *files], cwd=work, check=True, stdout=subprocess.DEVNULL)
        module = json.loads((Path(work) / "netlist.json").read_text())["modules"][top]
        shutil.rmtree(work, ignore_errors=True)
    return dict(sorted(Counter(cell["type"] for cell in module["cells"].values()).items()))


if __name__ == "__main__":
    command()
