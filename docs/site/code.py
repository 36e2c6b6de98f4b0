"""Blocks of code as a reader uses them: the copy button copies what was typed, and nothing else."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

# A fence of Python with prompts is a session: its lexer tells what was typed from what was printed.
SESSION = re.compile(r"^(\s*```)python(?=\n\s*>>> )", re.MULTILINE)
BLOCK = re.compile(r'<div class="language-(console|pycon) highlight">(<pre>.*?</pre>)', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
PROMPTS = {"console": ("$ ", "> "), "pycon": (">>> ", "... ")}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs with the Markdown of a page."""
    return SESSION.sub(r"\1pycon", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of a whole page: the theme's button copies `data-copy`."""

    def copied(block: re.Match[str]) -> str:
        language, code = block.groups()
        text = escape(typed(unescape(TAG.sub("", code)), language)).replace("\n", "&#10;")
        return f'<div class="language-{language} highlight" data-copy="{text}">{code}'

    return BLOCK.sub(copied, output)


def typed(session: str, language: str) -> str:
    r"""Return what was typed in a session, a line each.

    >>> typed("$ dpacct eps\n1.5\n", "console"), typed(">>> for i in x:\n...     i\n...\n2\n", "pycon")
    ('dpacct eps', 'for i in x:\n    i\n')
    """
    pattern = "|".join(map(re.escape, PROMPTS[language]))
    lines = (re.match(f"(?:{pattern})(.*)", f"{line} ") for line in session.split("\n"))
    return "\n".join(line[1].rstrip() for line in lines if line)
