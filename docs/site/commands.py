"""The page of all commands: what each prints with --help, as it is today."""

from __future__ import annotations

from typing import Any

import click
from mkdocs.structure.files import File, Files

from dpacct.cli.main import Root

PAGE = "commands.md"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by MkDocs: one more page, which is written nowhere."""
    files.append(File.generated(config, PAGE, content=page()))
    return files


def page() -> str:
    """Markdown, a section for each command in the order of `dpacct --help`."""
    lines = [
        "# Commands",
        "",
        "What `dpacct COMMAND --help` prints. The examples are run as tests.",
        "",
    ]
    root = Root("dpacct")
    above = click.Context(root, info_name="dpacct", terminal_width=96, max_content_width=96)
    for name in root.list_commands(above):
        command = root.get_command(above, name)
        if command is not None:
            context = click.Context(
                command, above, info_name=name, terminal_width=96, max_content_width=96
            )
            lines += [f"## dpacct {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)
