"""The one script that the theme would fetch from the network is replaced by ours."""

from __future__ import annotations

import posixpath
from typing import Any

FETCHED = "https://unpkg.com/iframe-worker/shim"
OURS = "assets/frame-worker.js"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the HTML of a whole page."""
    return output.replace(FETCHED, posixpath.relpath(OURS, posixpath.dirname(page.file.dest_uri)))


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The page for addresses that are not there is a server's; from disk it can't be shown."""
    return "" if template_name == "404.html" else output_content
