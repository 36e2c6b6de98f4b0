"""All entries, found by looking: every file of this room that names a `PAPER` brings its own."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType

import dpacct.theorems
from dpacct.errors import InvalidArgument
from dpacct.theorems.entry import ATTRIBUTE, Entry, Paper


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module of the room, imported."""
    found = pkgutil.walk_packages(dpacct.theorems.__path__, "dpacct.theorems.")
    return tuple(importlib.import_module(info.name) for info in found)


def of_module(module: ModuleType) -> list[Entry]:
    """The entries that a module defines, in the order in which they stand in it."""
    entries = []
    for thing in vars(module).values():
        entry = thing if isinstance(thing, Entry) else getattr(thing, ATTRIBUTE, None)
        elsewhere = inspect.isfunction(thing) and thing.__module__ != module.__name__
        if isinstance(entry, Entry) and not elsewhere:
            entries.append(entry)
    return entries


@cache
def papers() -> dict[str, Paper]:
    """Every paper by its key."""
    found = [module.PAPER for module in modules() if hasattr(module, "PAPER")]
    return {paper.key: paper for paper in sorted(found, key=lambda paper: paper.key)}


@cache
def entries() -> dict[str, Entry]:
    """Every entry by its id, paper by paper; raises `InvalidArgument` for an id that is taken.

    >>> "dp_fed_ls.lemma2" in entries()
    True
    """
    found: dict[str, Entry] = {}
    for module in modules():
        for entry in of_module(module):
            if entry.id in found:
                raise InvalidArgument(f"the theorem id {entry.id!r} is taken", argument="id")
            found[entry.id] = entry
    order = list(papers())
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].paper)))


def get(name: str) -> Entry:
    """The entry of that id; raises `InvalidArgument` with the nearest one."""
    known = entries()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    told = f"id must be that of a theorem (dpacct theorems list shows all), got {name[:60]!r}{hint}"
    raise InvalidArgument(told, argument="id")


def select(names: tuple[str, ...] = ()) -> list[Entry]:
    """The entries of these ids or papers; all, where none is named.

    >>> len(select(("mironov2017",))) < len(select())
    True
    """
    if not names:
        return list(entries().values())
    chosen: dict[str, Entry] = {}
    for name in names:
        if name in papers():
            chosen |= {e.id: e for e in entries().values() if e.paper == name}
        else:
            chosen[name] = get(name)
    return list(chosen.values())
