"""`dpacct completion`: the script that lets a shell complete dpacct's commands and options."""

from __future__ import annotations

import click

from dpacct.cli.command import ExampleCommand
from dpacct.cli.values import Choice


@click.command(
    "completion",
    cls=ExampleCommand,
    rank=900,
    short_help="Print the shell completion script.",
    examples=("completion bash", "completion zsh", "completion fish"),
)
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes dpacct's commands, options and choices in a shell.

    \b
    bash: dpacct completion bash >> ~/.bashrc
    zsh:  dpacct completion zsh >> ~/.zshrc
    fish: dpacct completion fish > ~/.config/fish/completions/dpacct.fish
    """  # noqa: D301 (\b tells click to leave the lines as they are)
    from click.shell_completion import ShellComplete, get_completion_class

    from dpacct.cli.root import COMPLETE_VARIABLE, root

    kind = get_completion_class(shell)
    assert kind is not None  # Choice admits only the three shells click knows
    # ShellComplete.source, not kind.source: bash's own first runs bash to look at its version.
    click.echo(ShellComplete.source(kind(root, {}, "dpacct", COMPLETE_VARIABLE)))
