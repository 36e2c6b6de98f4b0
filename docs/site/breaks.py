"""Allow line breaks at the dots and underscores of an id, and never in a short piece of code."""

from __future__ import annotations

import re
from typing import Any

ID = re.compile(r"(?<=>)[a-z0-9_]+\.[a-z0-9_]+(?=</a>)")
# Inline code stands alone between its tags; that of a block has a span in front.
SHORT = re.compile(r"<code>(?=[^<]{1,24}</code>)")


def on_post_page(output: str, **_: Any) -> str:
    """Called by MkDocs with the HTML of a whole page."""
    output = ID.sub(lambda block: re.sub(r"(?<=[._])", "<wbr>", block[0]), output)
    return SHORT.sub('<code class="short">', output)
