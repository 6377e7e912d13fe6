"""The command line: `mase-hw COMMAND`. One file per command; a command's module is loaded when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys

import click
from click.shell_completion import CompletionItem

from mase_hw import __version__
from mase_hw.cli.console import with_output_options
from mase_hw.diagnostics import Problem, ProblemsError

COMMANDS = {
    "new": "Write a commented TOML for a model, and a model to start from.",
    "train": "Train a model, through its quantizers where the TOML quantizes.",
    "test": "Score a model on its test split.",
    "transform": "Apply a TOML's passes, score the result, save it.",
    "search": "Search widths and channels for the best trade-off.",
    "explore": "Show every design that pays, size against interval.",
    "emit": "Quantize a model, choose its hardware, write RTL.",
    "sim": "Simulate a build and compare every stream with the software.",
    "export": "Write a build for another tool or a host program.",
    "synth": "Count a build's cells per component with Yosys.",
    "prove": "Prove that a build's RTL equals the software for every input.",
    "verify": "Check a build against its certificate.",
    "report": "Show all that is known of a build on one page.",
    "mutate": "Break a build's RTL on purpose, and count who notices.",
    "show": "Explain an operator: equation, ports, cycles, an example of its RTL.",
    "completion": "Print the script that completes commands in bash, zsh or fish.",
    "doctor": "Say which tools are there, and how to get the others.",
}


class Commands(click.Group):
    """Imports a command's module only when it is called, so that `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"mase_hw.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return with_output_options(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command that is not there gets the one most like it as a hint."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {close[0]!r}?" if close else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the list above: to complete a name, no command has to be loaded."""
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mase-hw")
def cli() -> None:
    """From a quantized PyTorch model to a SystemVerilog accelerator that is bit-exact.

    \b
    mase-hw train jsc-tiny jsc     # writes mase_output/<project>
    mase-hw emit model.toml        # writes build/<project>
    mase-hw sim build/<project>    # every output compared with the software

    \b
    Every command has --help with examples, --quiet and --verbose; those that print tables have --json.
    Completion in bash:  eval "$(mase-hw completion bash)"   (also zsh, fish; put it into ~/.bashrc)
    """


with_output_options(cli)


def main(arguments: list[str] | None = None) -> None:
    """Runs a command. A user's mistake, on the command line too, is printed and ends with 1; an interrupt with 130."""
    try:
        cli.main(args=arguments, prog_name="mase-hw", standalone_mode=False)
    except ProblemsError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that may not be written: not the user's text, yet not our bug
        subject = f"{error.filename}: " if error.filename else ""
        hint = "check that the disk has room and that you may write there"
        click.echo(str(Problem(f"{subject}{error.strerror or error}", hint=hint)), err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing half-written is left behind", err=True)
        sys.exit(130)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
