"""Many plans, targets and methods at once: a tidy table of answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpacct.answer.ask import ask, either, listed
from dpacct.declare.number import Direction, Number, number, rounded, text
from dpacct.declare.record import aligned
from dpacct.declare.words import EFFORT, hinting
from dpacct.errors import DpacctError
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.plan.node import Node

_ENDS: dict[str, Direction] = {"value": "nearest", "lower": "down", "upper": "up"}
"""The numbers of an answer, and how each is rounded where it is shown."""


class Table:
    """Columns of equal length; `pandas.DataFrame(table.columns)` makes a data frame of them.

    Iterating gives rows, as mappings; `table["value"]` is a column. A question that has no answer has
    None for its numbers, and says why in `error`.

    >>> import dpacct as dp
    >>> made = dp.table(dp.Gaussian(sigma=2), delta=[1e-5, 1e-6], method="clt")
    >>> made["delta"], [f"{value:.3f}" for value in made["value"]]
    (['0.00001', '1e-6'], ['1.993', '2.254'])
    """

    def __init__(self, columns: Mapping[str, list[Any]]) -> None:
        self.columns = dict(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV, also written to `path` if given; missing values are empty.

        Raises `OSError` where the file cannot be written.
        """
        made = io.StringIO()
        writer = csv.writer(made, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        if path is not None:
            Path(path).write_text(made.getvalue(), encoding="utf-8")
        return made.getvalue()

    def _shown(self) -> list[list[str]]:
        used = [
            name for name, cells in self.columns.items() if any(c not in ("", None) for c in cells)
        ]
        rows = [[_cell(name, row[name]) for name in used] for row in self]
        return [used, *rows]

    def __repr__(self) -> str:
        head, *rows = self._shown()
        return "\n".join(aligned(head, rows, indent=0))

    def _repr_html_(self) -> str:
        from html import escape

        head, *rows = ([escape(cell) for cell in row] for row in self._shown())
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        return f"<table><tr><th>{'</th><th>'.join(head)}</th></tr>{body}</table>"


def _cell(name: str, value: object) -> str:
    if isinstance(value, float) and name in _ENDS:
        return rounded(value, _ENDS[name], 10)
    return "" if value is None else str(value)


@hinting
def table(
    plans: Node | Iterable[Node] | Mapping[str, Node],
    *,
    delta: Any = None,
    epsilon: Any = None,
    method: str | Iterable[str] = "auto",
    effort: Number = EFFORT,
    adjacency: Adjacency | str | None = None,
) -> Table:
    """The epsilon of each plan at each delta (or the delta at each epsilon) by each method.

    `plans` may be one plan, several, or a mapping from names to plans; targets and methods one or
    several. Give `delta` or `epsilon`. Raises `InvalidArgument` for a bad target.

    >>> import dpacct as dp
    >>> print(table({"one": dp.Laplace(b=2)}, epsilon=[0, 0.1], method=["exact", "rdp"]))
    plan  epsilon  method  value         lower         upper         side       strength
    one   0        exact   0.2211992169  0.2211992169  0.221199217   two-sided  converged
    one   0        rdp     0.2547213866                0.2547213867  upper      bound
    one   0.1      exact   0.1812692469  0.1812692469  0.181269247   two-sided  converged
    one   0.1      rdp     0.2021715703                0.2021715704  upper      bound
    """
    from dpacct.plan.node import Node

    kind, targets = either("table", delta, epsilon)
    (asked,) = kind.parameters
    questions = [kind(value) for value in (listed(targets) or ([targets], ()))[0]]
    named = dict(plans) if isinstance(plans, Mapping) else {}
    if not isinstance(plans, Mapping):
        for plan in plans if isinstance(plans, Iterable) else [plans]:
            named[f"{plan} ({len(named) + 1})" if str(plan) in named else str(plan)] = plan
    methods = [method] if isinstance(method, str) else list(method)
    names = ("plan", asked, "method", *_ENDS, "side", "strength", "error")
    rows = []
    for plan in named.values():
        Node.checked(plan)
    for name, question, way in product(named, questions, methods):
        target = text(number(question.settings[asked]))
        row: dict[str, Any] = {"plan": name, asked: target, "method": way, "error": ""}
        try:
            result = ask(question, named[name], method=way, effort=effort, adjacency=adjacency)
        except DpacctError as error:
            row["error"] = str(error)
        else:
            row |= {end: getattr(result, end) for end in (*_ENDS, "method")}
            row |= {"side": str(result.side), "strength": str(result.strength)}
        rows.append(row)
    return Table({column: [row.get(column) for row in rows] for column in names})
