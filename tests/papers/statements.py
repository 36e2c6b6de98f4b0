"""Statements as they are, and with something changed, for tests that must see the change."""

from collections.abc import Callable

from dpacct.papers.page import Statement, parse
from dpacct.papers.registry import statements

ALL = statements()


def edited(statement: Statement, *changes: tuple[str, str], id: str = "") -> Statement:
    """The statement of a page on which each text is replaced by another."""
    text = statement.path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text, id or statement.id, statement.path)


def with_formula(statement: Statement, formula: Callable[..., float]) -> Statement:
    """The statement as if its file had this formula."""
    vars(statement)["formula"] = formula
    return statement
