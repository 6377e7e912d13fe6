"""Folders and documents that are not what `emit` wrote: other files, links, lies, limits, names that are commands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from victims import Attack, Change, arrays, both, edit, manifest, seal


def put(name: str, text: str | bytes) -> Change:
    """A file more in the build, or another one in its place."""

    def change(build: Path, outside: Path) -> None:
        path = build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, bytes) else text.replace("OUTSIDE", str(outside)).encode()
        path.write_bytes(content)

    return change


def refused(name: str, change: Change, says: str = "", victim: str = "pipes", *, alone: bool = False) -> Attack:
    return Attack(name, victim, change, "refused", says, alone)


def lie(name: str, edit: Callable[[dict[str, Any]], object], says: str = "", victim: str = "pipes") -> Attack:
    return refused(name, manifest(edit), says, victim)


def linked(name: str, to: str = "mine") -> Change:
    """A file or folder of the build is a link to somewhere else, with the same bytes where there were some."""

    def change(build: Path, outside: Path) -> None:
        path, target = build / name, outside / to
        if path.is_dir():
            shutil.copytree(path, target)
            shutil.rmtree(path)
        elif path.exists():
            target.write_bytes(path.read_bytes())
            path.unlink()
        path.symlink_to(target)

    return change


def good_and_bad(build: Path, _: Path) -> None:
    """Good copies in a folder that is named first, bad ones with the same names beside them."""
    good = build / "rtl" / "good"
    good.mkdir()
    for file in (build / "rtl").glob("*.sv"):
        shutil.copy(file, good / file.name)
    edit("net_fc1.sv", "{y1_q1, y0_q1};", "{y1_q1, ~y0_q1};")(build, build)

    def listed(found: dict[str, Any]) -> None:
        others = [dict(entry) for entry in found["files"]]
        for entry in found["files"]:
            entry["path"] = entry["path"].replace("rtl/", "rtl/good/")
        found["files"] += others

    manifest(listed)(build, build)
    seal(build)


def twice(build: Path, _: Path) -> None:
    """Two modules with one name, in two files; which one counts depends on who reads."""
    text = (build / "rtl" / "net_fc1.sv").read_text("utf-8")
    (build / "rtl" / "another.sv").write_text(text.replace("{y1_q1, y0_q1};", "{y1_q1, ~y0_q1};"), encoding="utf-8")
    with (build / "rtl" / "files.f").open("a") as listing:
        listing.write("another.sv\n")
    manifest(lambda found: found["files"].append({"path": "rtl/another.sv", "sha256": ""}))(build, build)
    seal(build)


def pipe(name: str) -> Change:
    def change(build: Path, _: Path) -> None:
        (build / name).unlink()
        os.mkfifo(build / name)

    return change


def device(name: str) -> Change:
    def change(build: Path, _: Path) -> None:
        (build / name).unlink()
        (build / name).symlink_to("/dev/zero")

    return change


def renamed_top(name: str) -> Change:
    """The manifest's top is a text that a shell, Yosys or a path would take for something else."""

    def change(build: Path, outside: Path) -> None:
        manifest(lambda found: found.update(top=name.replace("OUTSIDE", str(outside))))(build, build)

    return change


def renamed_file(name: str) -> Change:
    def change(build: Path, outside: Path) -> None:
        called = name.replace("OUTSIDE", str(outside))

        def edited(found: dict[str, Any]) -> None:
            found["files"][0]["path"] = called

        manifest(edited)(build, build)

    return change


def header(shape: str) -> Change:
    """An array whose header asks for more than there is."""

    def change(build: Path, _: Path) -> None:
        import io
        import zipfile

        head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}"
        head += " " * (64 - (10 + len(head) + 1) % 64) + "\n"
        body = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
        with np.load(build / "parameters.npz") as held:
            found = dict(held)
        file = io.BytesIO()
        np.savez(file, **found)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("more.npy", body)
        (build / "parameters.npz").write_bytes(file.getvalue())
        seal(build)

    return change


def _first(found: dict[str, Any], key: str) -> dict[str, Any]:
    entry: dict[str, Any] = found[key][0]
    return entry


_EVIL = "import pathlib\npathlib.Path('OUTSIDE/ran').touch()\n"
_COMMANDS = (
    "net; exec -- touch OUTSIDE/ran", "net\nexec -- touch OUTSIDE/ran", "net;!touch OUTSIDE/ran",
      "$(touch OUTSIDE/ran)",
    "`touch OUTSIDE/ran`", "../../net", "-o", "net -p script", "net\" ; touch OUTSIDE/ran ; \"", "",
)  # fmt: skip
_PATHS = (
    "/etc/passwd", "rtl/../../outside/mine", "rtl/-y.sv", "rtl/a b.sv", "rtl/a;exec touch OUTSIDE/ran.sv",
      "manifest.json",
    "rtl/\n.sv", "OUTSIDE/mine", ".", "rtl/" + "a" * 300 + ".sv",
)  # fmt: skip

FILES = (
    # Other bytes than those that are read later.
    refused("good copies are named first", good_and_bad),
    refused("two modules of one name", twice),
    refused("files.f names another file", put("rtl/files.f", "other.sv\n")),
    refused("files.f in another order", lambda build, outside: _turned(build)),
    refused("files.f with an option", put("rtl/files.f", "+define+WRONG\n-CFLAGS -DX\nnet.sv\n")),
    refused("a file that is listed twice", manifest(lambda found: found["files"].append(found["files"][0]))),
    refused("a file of RTL that is missing", lambda build, outside: (build / "rtl" / "net_fc1.sv").unlink()),
    refused("a linked file", linked("rtl/net_fc1.sv"), "link"),
    refused("a linked folder", linked("rtl", "theirs"), "link"),
    refused("linked parameters", linked("parameters.npz"), "link"),
    refused("a linked manifest", linked("manifest.json"), "link"),
    # Python and tools that find something of the build's.
    *(Attack(f"{name} in the build is not imported", "pipes", both(*(put(f"{folder}{name}", _EVIL) for folder in
             ("", "rtl/"))), "harmless", alone=True) for name in ("pyosys.py", "numpy.py")),
    # Names that are commands.
    *(refused(f"a top that is a command, {k}", renamed_top(text)) for k, text in enumerate(_COMMANDS)),
    *(refused(f"a file that is none, {k}", renamed_file(text)) for k, text in enumerate(_PATHS)),
    lie("a component that is a command", lambda found: _first(found, "components").update(name="x; exec touch y")),
    lie("a stream that is a command", lambda found: _first(found, "streams").update(name="x[0]; exec touch y")),
    # Links to where results are written.
    Attack("the certificate is a link", "pipes", linked("certificate.json"), "harmless"),
    Attack("what is written aside is a link", "pipes", linked("certificate.new"), "harmless"),
    # Documents that lie.
    lie("another interval", lambda found: found.update(interval=7)),
    lie("another latency", lambda found: found.update(latency=1)),
    lie("another width of a port", lambda found: _first(found, "inputs").update(width=3)),
    lie("another sign of a port", lambda found: _first(found, "outputs").update(signed=False)),
    lie("another binary point of a port", lambda found: _first(found, "outputs").update(frac=1)),
    lie("another clock", lambda found: found.update(clock="clk2")),
    lie("no inputs", lambda found: found.update(inputs=[])),
    lie("a component less", lambda found: found["components"].pop()),
    lie("components in another order", lambda found: found["components"].reverse()),
    lie("a component of another kind", lambda found: _first(found, "components").update(kind="cast")),
    lie("a component of no kind", lambda found: _first(found, "components").update(kind="nothing")),
    lie("a rounding that is another", lambda found: _first(found, "components")["values"]["step"].update(rounding="x")),
    lie("an AXI4-Stream top that is not there", lambda found: found.update(axis={"top": "net_axis"})),
    lie("another AXI4-Stream top", lambda found: found["axis"].update(top="net"), victim="axis"),
    lie("an AXI4-Stream port with other bytes",
          lambda found: found["axis"]["inputs"][0].update(lane_bytes=2), victim="axis"),
    Attack("an AXI4-Stream top that is not listed", "axis", manifest(lambda found: found.pop("axis")), "refused"),
    Attack("weights of another network", "pipes", arrays(lambda found: _more(found, "fc1.matrix")), "not proved"),
    Attack("a range that is too narrow", "pipes", arrays(lambda found: _narrow(found, "stream.fc1_out")), "not proved"),
    Attack("an input of which less is asked", "pipes",
          arrays(lambda found: _narrow(found, "stream.data_in_0")), "not proved"),
    refused("a step that is not kept", arrays(lambda found: _stepped(found, "stream.fc1_out"))),
    # Documents that break a reader.
    refused("JSON that is nested", put("manifest.json", "[" * 200_000), alone=True),
    refused("JSON with a long number", put("manifest.json", '{"schema": ' + "9" * 5_000 + "}")),
    refused("JSON that is no table", put("manifest.json", "[1, 2]")),
    refused("JSON with a key twice", put("manifest.json", '{"schema": 2, "schema": 2}')),
    refused("JSON that is not a number", put("manifest.json", '{"schema": NaN}')),
    refused("a manifest with no file", manifest(lambda found: found.update(files=[]))),
    refused("a manifest with files of another kind", manifest(lambda found: found.update(files="rtl/net.sv"))),
    *(refused(f"a manifest without {key}", manifest(lambda found, key=key: found.pop(key)))  # type: ignore[misc]
      for key in ("top", "files", "parameters", "inputs", "outputs", "nodes", "streams", "components", "interval",
            "latency")),
    refused("an array of 2^40", header(f"({1 << 40},)")),
    refused("an array with a negative size", header("(-4,)")),
    refused("an array of objects", arrays(lambda found: found.update(more=np.array([{}, None], object)))),
    Attack("an array that nobody reads", "pipes", arrays(lambda found: found.update(more=np.array([1]))), "harmless"),
    refused("an array of other numbers", arrays(lambda found: found.update(more=np.array([1.5])))),
    refused("parameters that are no archive", both(put("parameters.npz",
          b"PK\x03\x04" + bytes(100)), lambda b, o: seal(b))),
    refused("a manifest that never ends", device("manifest.json"), alone=True),
    refused("a manifest that nobody writes", pipe("manifest.json"), alone=True),
    refused("parameters that nobody writes", pipe("parameters.npz"), alone=True),
    refused("RTL that nobody writes", pipe("rtl/net_fc1.sv"), alone=True),
    # A module that is not what its instance is.
    Attack("a component with another port", "pipes", both(
        edit("net_fc1.sv", "  input  logic enable,\n", "  input  logic enable,\n  input  logic more,\n")), "refused"),
    refused("a renamed instance", edit("net.sv", "net_fc1 u_fc1 (", "net_fc1 u_fcl (")),
    Attack("an instance of another module", "pipes", edit("net.sv", "net_fc2 u_fc2 (", "net_fc1 u_fc2 ("), "refused"),
)  # fmt: skip


def _turned(build: Path) -> None:
    path = build / "rtl" / "files.f"
    path.write_text("\n".join(reversed(path.read_text("utf-8").split())) + "\n", encoding="utf-8")


def _more(found: dict[str, Any], key: str) -> None:
    name = next(name for name in sorted(found) if key in name)
    found[name] = found[name] + 1


def _narrow(found: dict[str, Any], key: str) -> None:
    found[key] = np.stack([found[key][0] + 1, found[key][1] - 1, found[key][2]])


def _stepped(found: dict[str, Any], key: str) -> None:
    found[key] = np.stack([found[key][0], found[key][1], found[key][2] + 1])
