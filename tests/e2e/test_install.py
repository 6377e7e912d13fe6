"""The wheel alone is enough: installed away from the checkout, it emits and simulates a user's model."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
RESOURCES = ("rtl_templates", "sim")
CACHED = ("__pycache__",)

MODEL = '''"""A model of a user's own."""
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 4)
        self.norm = nn.BatchNorm1d(4)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc2(self.act(self.norm(self.fc1(x))))
'''

# One layer of each implementation and a change of parallelism between them: every kind of template is used.
CONFIG = """model = "net.py:Net"
project = "own"

[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "integer"
data_in_width = 6
data_in_frac_width = 3
weight_width = 6
weight_frac_width = 4
bias_width = 6
bias_frac_width = 4

[passes.hardware]
by = "name"
[passes.hardware.fc1.config]
implementation = "folded"
data_in_parallelism = 3
data_out_parallelism = 2
[passes.hardware.fc2.config]
implementation = "unrolled"

[hardware]
top = "own"
"""

# Every Python of the environment, the simulator's too, notes what it opens or lists below the checkout.
AUDIT = """import os, sys

def _note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and arguments and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if path.startswith({checkout!r}) and not path.startswith({allowed!r}):
            os.write(_LOG, (path + "\\n").encode())

_LOG = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
sys.addaudithook(_note)
"""


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel and, by reference, the packages that it depends on."""

    python: Path
    site: Path
    audit: Path

    def run(self, *command: str, cwd: Path) -> str:
        done = subprocess.run(
            [str(self.python.parent / command[0]), *command[1:]],
            cwd=cwd,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _environment() -> Mapping[str, str]:
    """Nothing that would let a process find the checkout's package or virtual environment."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    place = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, cwd=folder)
    (site,) = place.glob("lib/python*/site-packages")
    # A folder that a .pth names is searched, but the .pth files inside it, an editable install's among them, are not.
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in sorted(paths)), encoding="utf-8")
    audit = folder / "opened.txt"
    text = AUDIT.format(checkout=f"{CHECKOUT}{os.sep}", allowed=f"{sys.prefix}{os.sep}", log=str(audit))
    (site / "sitecustomize.py").write_text(text, encoding="utf-8")
    return Installed(python, site, audit)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "own.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def _files(folder: Path) -> set[str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.parent.name not in CACHED)
    return {path.relative_to(CHECKOUT).as_posix() for path in paths}


def test_wheel_holds_package_templates_and_benches_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        resources = {f"mase_hw/_resources/{name}": name for part in RESOURCES for name in _files(CHECKOUT / part)}
        assert names == _files(CHECKOUT / "mase_hw") | set(resources)
        for inside, outside in resources.items():
            assert archive.read(inside) == (CHECKOUT / outside).read_bytes(), outside


def test_installed_package_stands_alone(installed: Installed, project: Path) -> None:
    question = (
        "import mase_hw, sys; from mase_hw import resources; print(mase_hw.__file__, resources.root(), *sys.path)"
    )
    package, resources, *paths = installed.run("python", "-c", question, cwd=project).split()
    assert Path(package) == installed.site / "mase_hw" / "__init__.py"
    assert Path(resources) == installed.site / "mase_hw" / "_resources"
    assert str(CHECKOUT) not in paths


def test_installed_command_emits_and_simulates(installed: Installed, project: Path) -> None:
    doctor = installed.run("mase-hw", "doctor", cwd=project).splitlines()
    assert {"verilator", "cocotb", "libpython", "C++"} <= {line.split()[0] for line in doctor if " found " in line}
    installed.audit.write_text("", encoding="utf-8")

    assert "written: build/own" in installed.run("mase-hw", "emit", "own.toml", cwd=project)
    said = installed.run("mase-hw", "sim", "build/own", "--vectors", "32", "--only", "design", cwd=project)
    assert "passed: every integer of every stream equals the software reference" in said

    assert installed.audit.read_text(encoding="utf-8") == "", "files of the checkout were opened"
    texts = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    # Dependencies may sit in the checkout's own .venv; apart from those nothing names it.
    own = {path: text.replace(sys.prefix.encode(), b"") for path, text in texts.items()}
    assert [path for path, text in own.items() if f"{CHECKOUT}/".encode() in text] == []


def test_audit_sees_a_file_of_the_checkout(installed: Installed, project: Path) -> None:
    """What the test above relies on."""
    path = str(CHECKOUT / "pyproject.toml")
    installed.run("python", "-c", f"open({path!r}).close()", cwd=project)
    assert path in installed.audit.read_text(encoding="utf-8").splitlines()
