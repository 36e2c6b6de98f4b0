"""The table of assumptions: what the accounting takes on trust, what the plan says, what was checked.

Whoever found an assumption violated is believed. Else a check that covers it makes it held; a word of
the plan stands as what it is, and what nobody spoke for is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpacct.errors import InvalidArgument
from dpacct.report.premise import (
    ARITHMETIC,
    FIXED,
    NOISE,
    PREMISES,
    RANDOMNESS,
    SAMPLING,
    SECRET_SAMPLE,
    STEPS,
    Declared,
    Premise,
    base_of,
)
from dpacct.vocabulary import Assumption, AssumptionStatus

if TYPE_CHECKING:
    from dpacct.tree import Node

_HELD, _DECLARED = AssumptionStatus.HELD, AssumptionStatus.DECLARED
_VIOLATED, _UNKNOWN = AssumptionStatus.VIOLATED, AssumptionStatus.UNKNOWN
# Noise from whole numbers, or on few answers, has no last bits to give anything away.
_EXACT = ("discrete-gaussian", "discrete-laplace", "randomized-response", "local-randomizer")
_OPAQUE = ("pure-dp", "approx-dp", "zcdp", "custom")
_OWN = "nothing is known of what follows"
_SILENT = {
    _HELD: "the plan says it was checked, and not how",
    _DECLARED: "the plan's word",
    _VIOLATED: "the plan says so",
    _UNKNOWN: "the plan leaves it open",
}


@dataclass(frozen=True)
class Row:
    """One assumption with its status.

    Attributes:
        key: its name in a plan's [assumptions]; "" for a check that is of no kind.
        text: what is assumed.
        status: held, declared, violated or unknown.
        evidence: who said so, or what was seen.
        effect: what follows if it is false.
    """

    key: str
    text: str
    status: AssumptionStatus
    evidence: str
    effect: str

    def to_dict(self) -> dict[str, str]:
        """As JSON values."""
        return {
            "name": self.key,
            "text": self.text,
            "status": str(self.status),
            "evidence": self.evidence,
            "effect_if_false": self.effect,
        }


def rows(
    plan: Node,
    accounted: Iterable[Assumption],
    *,
    declared: Mapping[str, Declared],
    checks: Iterable[Assumption] = (),
    effects: Mapping[str, str] | None = None,
) -> tuple[Row, ...]:
    """Every assumption of a guarantee, once, the violated ones first.

    Args:
        plan: what the guarantee is about.
        accounted: what the accounting assumes.
        declared: what a plan's [assumptions] says.
        checks: what a ledger or a run has checked.
        effects: what follows if an assumption is false, by its name, where a number is known.
    """
    seen = tuple(checks)
    merged_rows: list[Row] = []
    kinds = [(assumption, _kind(assumption)) for assumption in dict.fromkeys(accounted)]
    counts: Counter[str] = Counter()
    for assumption, premise in kinds:
        several = [kind for _, kind in kinds].count(premise) > 1 and premise is not None
        key = "" if premise is None else premise.key
        counts[key] += 1
        base = _base(premise, assumption, f"{key}-{counts[key]}" if several else key)
        merged_rows.append(_merged(base, premise, declared, seen))
    for premise in _general(plan):
        if not any(row.key == premise.key for row in merged_rows):
            unsaid = Row(premise.key, premise.text, _UNKNOWN, "nobody has said", premise.effect)
            merged_rows.append(_merged(unsaid, premise, declared, seen))
    for key, declaration in declared.items():
        base_key = base_of(key)
        if any(key == row.key or base_of(row.key) == key for row in merged_rows):
            continue
        if base_key != key and counts[base_key]:
            raise InvalidArgument(
                f"[assumptions]: {key} names more than the plan's {counts[base_key]} assumptions"
                f" called {base_key}",
                argument=key,
            )
        merged_rows.append(_own(key, declaration, seen))
    for check in seen:
        if not any(premise.checked_by(check) for premise in PREMISES.values()):
            merged_rows.append(Row("", check.text, check.status, check.source, _OWN))
    better = effects or {}
    told_effects = [
        row
        if _has_own_effect(row, declared)
        else replace(row, effect=better.get(base_of(row.key), row.effect))
        for row in merged_rows
    ]
    return tuple(sorted(told_effects, key=lambda row: row.status is not _VIOLATED))


def _kind(assumption: Assumption) -> Premise | None:
    for premise in PREMISES.values():
        if premise.names(assumption):
            return premise
    return None


def _said(row: Row, declared: Mapping[str, Declared]) -> Declared | None:
    """What the plan says of a row: by its own name, or by that of its kind."""
    return declared.get(row.key) or declared.get(base_of(row.key))


def _has_own_effect(row: Row, declared: Mapping[str, Declared]) -> bool:
    declaration = _said(row, declared)
    return declaration is not None and bool(declaration.effect)


def _base(premise: Premise | None, assumption: Assumption, key: str) -> Row:
    source = assumption.source or "the plan describes it so"
    if premise is None:
        return Row("", assumption.text, assumption.status, source, _OWN)
    return Row(key, assumption.text, assumption.status, source, premise.effect)


def _general(plan: Node) -> list[Premise]:
    """What every deployment rests on, whether or not the accounting mentions it."""
    kinds = set(_kinds(plan))
    general = [NOISE, STEPS, FIXED, RANDOMNESS]
    if not kinds <= {*_EXACT, *_OPAQUE}:
        general.append(ARITHMETIC)
    if SAMPLING.key in {p.key for a in _assumed(plan) if (p := _kind(a))}:
        general.append(SECRET_SAMPLE)
    return general


def _assumed(plan: Node) -> tuple[Assumption, ...]:
    from dpacct.tree import resolve_adjacency

    return plan.assumptions(resolve_adjacency(plan))


def _kinds(plan: Node) -> list[str]:
    """The kinds of the releases; a sampled one is of the kind that it samples."""
    kinds = []
    for leaf, _ in plan.releases():
        inner = getattr(leaf, "node", leaf)
        kinds.append("custom" if inner.kind.startswith("custom") else inner.kind)
    return kinds


def _merged(
    row: Row,
    premise: Premise | None,
    declared: Mapping[str, Declared],
    checks: tuple[Assumption, ...],
) -> Row:
    """The row with what the plan and the checks say of it."""
    if premise is None:
        return row
    declaration = _said(row, declared)
    mine = [check for check in checks if premise.checked_by(check)]
    status, evidence = row.status, row.evidence
    if declaration is not None:
        status = declaration.status
        evidence = declaration.evidence or _SILENT[status]
        row = replace(row, effect=declaration.effect or row.effect)
    decided = [check for check in mine if check.status is not _UNKNOWN]
    seen = "; ".join(check.source for check in decided)
    if any(check.status is _VIOLATED for check in decided):
        wrong = [check for check in decided if check.status is _VIOLATED]
        seen = "; ".join(f"{check.text}: {check.source}" for check in wrong)
        return replace(row, status=_VIOLATED, evidence=f"not so: {seen}")
    if status is _VIOLATED or not decided:
        return replace(row, status=status, evidence=evidence)
    covered = premise.enough and all(
        any(re.search(pattern, check.text) for check in decided) for pattern in premise.checks
    )
    if covered:
        status = _HELD
    said = f"{evidence}; " if declaration is not None else ""
    return replace(row, status=status, evidence=f"{said}{seen}")


def _own(key: str, declaration: Declared, checks: tuple[Assumption, ...]) -> Row:
    """An assumption that only the plan mentions."""
    premise = PREMISES.get(key)
    base = Row(
        key,
        declaration.text or (premise.text if premise else key),
        declaration.status,
        declaration.evidence or _SILENT[declaration.status],
        declaration.effect or (premise.effect if premise else _OWN),
    )
    return _merged(base, premise, {}, checks)
