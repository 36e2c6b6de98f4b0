"""Named members out of an archive's bytes; no code of the archive runs, nothing else is unpacked."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping

from dpacct import InvalidArgument
from dpacct_training.data import cache


def _absent(name: str) -> InvalidArgument:
    return InvalidArgument(f"the archive must hold {name!r}, which it does not", argument="archive")


def from_tar(content: bytes, names: list[str]) -> dict[str, bytes]:
    """Regular files of a tar, compressed or not."""
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        contents = {}
        for name in names:
            try:
                file = opened.extractfile(opened.getmember(name))
            except KeyError:
                raise _absent(name) from None
            if file is None:
                raise _absent(name)
            contents[name] = file.read()
    return contents


def from_zip(content: bytes, names: list[str] | None = None, suffix: str = "") -> dict[str, bytes]:
    """Files of a zip or wheel: those named, or all that end in `suffix`."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        packed = opened.namelist()
        wanted = [n for n in packed if n.endswith(suffix)] if names is None else names
        for name in wanted:
            if name not in packed:
                raise _absent(name)
        return {name: opened.read(name) for name in wanted}


def from_deb(content: bytes, names: list[str]) -> dict[str, bytes]:
    """Files of a Debian package: an `ar` archive whose member data.tar.xz holds them."""
    if not content.startswith(b"!<arch>\n"):
        raise InvalidArgument("the archive must be a Debian package", argument="archive")
    at = 8
    while at + 60 <= len(content):
        header = content[at : at + 60]
        name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
        at += 60
        if name == "data.tar.xz":
            return from_tar(lzma.decompress(content[at : at + size]), names)
        at += size + size % 2
    raise _absent("data.tar.xz")


def pinned(
    content: bytes,
    files: Mapping[str, tuple[str, str]],
    members: Callable[[bytes, list[str]], Mapping[str, bytes]],
) -> dict[str, bytes]:
    """Members of an archive by name, {name: (path, SHA-256)}, each checked."""
    held = members(content, [path for path, _ in files.values()])
    return {name: cache.check(path, held[path], sha) for name, (path, sha) in files.items()}
