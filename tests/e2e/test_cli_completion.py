"""Shell completion as a shell does it: the script is sourced, words are completed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mase_hw.cli import COMMANDS, main
from mase_hw.cli.completion import SHELLS
from mase_hw.cli.op_pages import pages

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


def installed(shell: str) -> pytest.MarkDecorator:
    absent = not (BIN / "mase-hw").exists() or shutil.which(shell) is None
    return pytest.mark.skipif(absent, reason=f"needs {shell} and an install")


@installed("bash")
@pytest.mark.slow
def test_bash() -> None:
    assert complete("") == list(COMMANDS)
    assert complete("e") == [name for name in COMMANDS if name.startswith("e")]
    assert complete("emit", "--") == ["--out", "--replace", "--json", "--quiet", "--verbose", "--help"]
    assert complete("sim", "--stall", "") == ["none", "gaps", "pressure", "both", "all"]
    assert complete("show", "") == list(pages())
    assert complete("completion", "z") == ["zsh"]


@installed("fish")
@pytest.mark.slow
def test_fish(tmp_path: Path) -> None:
    (tmp_path / "a,b.toml").touch()

    def offered(line: str) -> dict[str, str]:
        script = f"mase-hw completion fish | source; complete -C '{line}'"
        done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, env=_environment(tmp_path),
                              cwd=tmp_path, check=True)  # fmt: skip
        return dict(text.partition("\t")[::2] for text in done.stdout.splitlines())

    assert offered("mase-hw ex") == {name: COMMANDS[name] for name in ("explore", "export")}
    assert set(offered("mase-hw sim x --stall ")) == {"none", "gaps", "pressure", "both", "all"}
    assert "--max-interval" in offered("mase-hw explore x --")
    assert list(offered("mase-hw emit a")) == ["a,b.toml"]


@installed("zsh")
@pytest.mark.slow
def test_zsh(tmp_path: Path) -> None:
    """On a terminal, because zsh completes there alone: what it makes of a line when Tab is pressed, and Enter."""
    (tmp_path / "network.toml").touch()
    (tmp_path / ".zshrc").write_text(
        "PS1='> '; autoload -Uz compinit && compinit -u\n"
        'eval "$(mase-hw completion zsh)"\n'
        'mase-hw() { print -rl -- ran "$@" end; }\n'  # the completion calls the program by its path
        f"functions[_mase_hw_completion]=${{functions[_mase_hw_completion]//' mase-hw'/' {BIN}/mase-hw'}}\n"
        "print ready\n"
    )
    with Terminal(["zsh", "-i"], _environment(tmp_path), tmp_path) as zsh:
        zsh.until("ready")
        for typed, wanted in (
            ("expl\t", ["explore"]),
            ("sim x --stall pr\t", ["sim", "x", "--stall", "pressure"]),
            ("emit net\t", ["emit", "network.toml"]),
            ("show req\t", ["show", "requantize"]),
        ):
            zsh.write(f"mase-hw {typed}")
            zsh.until(wanted[-1])
            zsh.write("\n")
            said = zsh.until("\nend").splitlines()
            assert said[said.index("ran") + 1 : said.index("end")] == wanted


def _environment(home: Path) -> dict[str, str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "TERM": "dumb",
        "XDG_CONFIG_HOME": str(home),
    }


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self.fd, other = pty.openpty()
        self.child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment, cwd=folder,
                                      start_new_session=True)  # fmt: skip
        os.close(other)
        self.said = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.fd)

    def write(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, text: str) -> str:
        """What was said since, up to a text."""
        end = time.monotonic() + 30
        while text not in self.said:
            assert time.monotonic() < end, f"no {text!r} in {self.said!r}"
            if select.select([self.fd], [], [], 0.2)[0]:
                self.said += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
        before, found, self.said = self.said.partition(text)
        return before + found


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
    assert not {"torch", "sklearn", "da4ml", "numba", "optuna", "matplotlib"} & loaded
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
