"""`mase-hw completion`: the script that makes a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MASE_HW_COMPLETE"  # what click looks for: the program's name in capitals


@click.command("completion", short_help="Print the script that completes commands in bash, zsh or fish.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that lets SHELL complete the commands of mase-hw, their options and their files.

    \b
    bash, in ~/.bashrc:       eval "$(mase-hw completion bash)"
    zsh, in ~/.zshrc:         eval "$(mase-hw completion zsh)"
    fish, once:               mase-hw completion fish > ~/.config/fish/completions/mase-hw.fish

    \b
    Examples:
      mase-hw completion bash
      mase-hw completion zsh >> ~/.zshrc
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root()
    script = kind(root.command, {}, "mase-hw", VARIABLE).source()
    if shell == "fish":  # click's script would end a description, or a file's name, at its first comma
        script = script.replace('string split ","', 'string split -m 1 ","')
    click.echo(script, nl=False)
