"""The help option of every command, whoever asks for it first."""

from __future__ import annotations

import click

from dpacct.cli.root import root


def test_a_command_without_a_parent_has_the_short_help_too() -> None:
    """A sweep parses its command by itself, and click keeps the help option of the first parse."""
    for name in root.list_commands(click.Context(root)):
        command = root.get_command(click.Context(root), name)
        assert command is not None
        assert command.get_help_option_names(click.Context(command)) == ["--help", "-h"], name
