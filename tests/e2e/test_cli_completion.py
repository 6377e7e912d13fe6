"""Shell completion as a shell does it: the script is sourced, words are completed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mase_hw.cli import COMMANDS, main
from mase_hw.cli.completion import SHELLS
from mase_hw.cli.show import NAMES

BIN = Path(sys.executable).parent


def complete(*words: str) -> list[str]:
    """What bash offers for the last of the words, after it has sourced the script."""
    script = (
        'eval "$(mase-hw completion bash)"\n'
        f"COMP_WORDS=({' '.join(repr(word) for word in ('mase-hw', *words))})\n"
        f"COMP_CWORD={len(words)}\n"
        "_mase_hw_completion mase-hw\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
        "complete -p mase-hw >&2\n"
    )
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert "-F _mase_hw_completion mase-hw" in done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not (BIN / "mase-hw").exists() or shutil.which("bash") is None, reason="needs bash and an install")
@pytest.mark.slow
def test_bash() -> None:
    assert complete("") == list(COMMANDS)
    assert complete("e") == [name for name in COMMANDS if name.startswith("e")]
    assert complete("emit", "--") == ["--out", "--json", "--quiet", "--verbose", "--help"]
    assert complete("sim", "--stall", "") == ["none", "gaps", "pressure", "both", "all"]
    assert complete("show", "") == list(NAMES)
    assert complete("completion", "z") == ["zsh"]


@pytest.mark.parametrize("words", ["mase-hw ", "mase-hw --", "mase-hw emit --", "mase-hw train --", "mase-hw show "])
def test_loads_little(words: str) -> None:
    """No torch, and for the commands' names no command at all."""
    code = (
        "import sys\n"
        "from mase_hw.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    count = str(len(words.split(" ")) - 1)
    environment = {**os.environ, "_MASE_HW_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip()
    loaded = set(done.stderr.split())
    assert not {"torch", "sklearn", "da4ml", "optuna", "matplotlib"} & loaded
    if words.startswith(("mase-hw --", "mase-hw ")) and count == "1":
        assert "rich" not in loaded
        assert not {f"mase_hw.cli.{name}" for name in COMMANDS} & loaded


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    main(["completion", shell])
    script = capsys.readouterr().out
    assert f"_MASE_HW_COMPLETE={shell}_complete" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", script], check=True)
