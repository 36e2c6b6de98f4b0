"""Print the shell completion script."""

from __future__ import annotations

from dpacct.cli.command import Command
from dpacct.cli.output import Result
from dpacct.declare.domain import Word
from dpacct.declare.record import Parameter


class Completion(Command):
    """Print the script that completes dpacct's commands, options and choices in a shell.

    \b
    bash: dpacct completion bash >> ~/.bashrc
    zsh:  dpacct completion zsh >> ~/.zshrc
    fish: dpacct completion fish > ~/.config/fish/completions/dpacct.fish
    """  # noqa: D301 (\b tells click to leave the lines as they are)

    without = frozenset(("json",))
    shell: Parameter[str] = Parameter(
        Word("bash", "zsh", "fish"), "which shell", "SHELL", kw_only=False
    )
    examples = (
        "completion bash",
        "completion zsh",
        "completion fish",
    )

    def answer(self) -> Result:
        """The completion script, from click."""
        from click.shell_completion import ShellComplete, get_completion_class

        from dpacct.cli.main import COMPLETE_VARIABLE, root

        kind = get_completion_class(self.shell)
        assert kind is not None  # Choice admits only the three shells click knows
        # ShellComplete.source, not kind.source: bash's own first runs bash to look at its version.
        script = ShellComplete.source(kind(root, {}, "dpacct", COMPLETE_VARIABLE))
        return Result(dict, lambda: [script])
