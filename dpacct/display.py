"""Objects at a prompt and in a notebook: a heading, and a few facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dpacct.errors import DpacctError

Facts = Mapping[str, object]


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]], indent: int = 2) -> list[str]:
    """The rows under their header, columns two spaces apart; no colours, no rules.

    >>> aligned(("method", "epsilon"), [("exact", "1.5"), ("rdp", "1.7117")], indent=0)
    ['method  epsilon', 'exact   1.5', 'rdp     1.7117']
    """
    listed = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in listed)
    return [f"{'':{indent}}{line}" for line in lines]


def card(heading: str, facts: Facts) -> str:
    """A heading over a table of two columns, as HTML.

    >>> card("a < b", {"size": 3})
    '<b>a &lt; b</b><table><tr><th>size</th><td>3</td></tr></table>'
    """
    from html import escape

    rows = (
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<b>{escape(heading)}</b><table>{''.join(rows)}</table>"


class Displayed:
    """An object with facts: `repr` puts them on one line, a notebook into a table.

    >>> class Box(Displayed):
    ...     def facts_shown(self):
    ...         return {"size": 3, "colour": "red"}
    >>> Box()
    <Box: size 3, colour red>
    """

    def facts_shown(self) -> Facts:
        """The most important facts; reading them changes nothing."""
        return {}

    def heading_shown(self) -> str:
        """A short heading."""
        return type(self).__name__

    def _facts(self) -> Facts:
        """The facts, or why there are none: a debugger shows also what was closed."""
        try:
            return self.facts_shown()
        except DpacctError as error:
            return {"unknown:": error}

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<{self.heading_shown()}{': ' if facts else ''}{facts}>"

    def _repr_html_(self) -> str:
        return card(self.heading_shown(), self._facts())
