"""Examining one entry: its vectors, its refusals, its witness, its proofs and a search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpacct.errors import OutsideDomain
from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status
from dpacct.verify.search import Found, Result, Search, search
from dpacct.verify.shrink import shrink
from dpacct.verify.truth import proofs, truths
from dpacct.vocabulary import Side

SEED = 0
"""The seed of `dpacct verify` unless another one is given."""


@dataclass(frozen=True)
class Report:
    """What came out: `problems` are sentences; `witness` is the smallest violation found."""

    entry: Entry
    result: Result | None = None
    witness: Found | None = None
    problems: tuple[str, ...] = field(default=())

    @property
    def surprising(self) -> bool:
        """Whether something stands against what the registry says of this entry."""
        unexpected = self.witness is not None and not expects_violation(self.entry)
        return bool(self.problems) or unexpected


def expects_violation(entry: Entry) -> bool:
    """Whether a violation is what the registry claims: a refuted statement must have one."""
    return entry.status is Status.REFUTED


def vectors(entry: Entry) -> list[str]:
    """What is wrong with the stored numbers: the formula's, and the judge's where it is stored."""
    wrong = []
    truth = truths().get(entry.id)
    for vector in entry.vectors:
        values = entry.checked(vector.inputs)
        if vector.value is not None:
            value = entry.evaluate(vector.inputs, as_printed=True)
            if not close(value, vector.value, vector.within):
                wrong.append(f"{shown(vector.inputs)} gives {value!r}, not {vector.value!r}")
        if vector.truth is not None and truth is not None:
            told = truth.compare(entry, values)
            if told is None:
                wrong.append(f"the truth at {shown(vector.inputs)} can't be told")
                continue
            room = max(vector.within, truth.within) * abs(vector.truth) + 1e-300
            if not told.lower - room <= vector.truth <= told.upper + room:
                wrong.append(
                    f"the truth at {shown(vector.inputs)} is {told.lower!r}, not {vector.truth!r}"
                )
    for point in entry.refuses:
        try:
            entry.checked(point)
        except OutsideDomain:
            continue
        wrong.append(f"{shown(point)} is accepted, and should lie outside the domain")
    return wrong


def witness(entry: Entry) -> list[str]:
    """What is wrong with the stored witness: it must lie in the domain and violate the claim."""
    if entry.witness is None:
        return []
    truth = truths().get(entry.id)
    if truth is None:
        return [f"{entry.id} has a witness and no truth to show it by"]
    case = Search(entry, truth)
    told = truth.compare(entry, entry.checked(entry.witness.inputs))
    if told is None or not told.excess(entry.side) > case.truth.within:
        return [f"the witness {shown(entry.witness.inputs)} violates nothing: {told}"]
    return []


def proven(entry: Entry) -> list[str]:
    """Which machine-checked proofs of the entry failed."""
    return [
        f"the proof {prover.__name__} of {entry.id} fails"
        for prover in proofs().get(entry.id, ())
        if not prover()
    ]


def examine(entry: Entry, *, draws: int | None = None, seed: int = SEED) -> Report:
    """Everything at once. `draws` None takes the default of the entry's judge; 0 searches nothing.

    A refuted entry that the search can't refute by itself is a problem only with the default draws.
    """
    problems = [*vectors(entry), *witness(entry), *proven(entry)]
    truth = truths().get(entry.id)
    nothing = entry.formula is None or entry.side is Side.NONE
    if truth is None or nothing or draws == 0:
        return Report(entry, problems=tuple(problems))
    case = Search(entry, truth)
    result = search(case, draws=truth.draws if draws is None else draws, seed=seed)
    found = None
    if result.violated and result.worst is not None:
        found = shrink(case, result.worst)
    elif expects_violation(entry) and draws is None:
        problems.append(f"{entry.id} is refuted, and the search found no violation by itself")
    if not result.judged:
        problems.append(f"{entry.id}: no point of its domain could be judged")
    return Report(entry, result, found, tuple(problems))


def close(value: float, wanted: float, within: float) -> bool:
    """Whether two numbers agree to a relative error; infinities only with themselves."""
    if math.isinf(value) or math.isinf(wanted):
        return value == wanted
    return abs(value - wanted) <= within * abs(wanted) + 1e-300


def shown(point: object) -> str:
    """A point as `name=value, ...`.

    >>> shown({"alpha": 2, "tau": "0.05"})
    'alpha=2, tau=0.05'
    """
    assert isinstance(point, dict) or hasattr(point, "items")
    return ", ".join(f"{name}={_number(value)}" for name, value in point.items())


def _number(value: object) -> str:
    return str(value) if isinstance(value, int | str) else f"{float(value):.12g}"  # type: ignore[arg-type]
