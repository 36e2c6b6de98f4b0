"""A web server on this machine that can hand out a file, a part of it, or something else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(content: bytes, *, announced: int | None = None, status: int = 200) -> Iterator[str]:
    """The address of a server that says it sends `announced` bytes and sends `content`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header(
                "Content-Length", str(len(content) if announced is None else announced)
            )
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/package.tgz"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
