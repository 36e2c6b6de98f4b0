"""The table of assumptions: what the accounting takes on trust, what the plan says, what was checked.

Whoever found an assumption violated is believed. Else a check that covers it makes it held; a word of
the plan stands as what it is, and what nobody spoke for is unknown.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Assumption, AssumptionStatus

if TYPE_CHECKING:
    from dpacct.tree import Node


@dataclass(frozen=True)
class Premise:
    """One kind of assumption.

    Attributes:
        key: its name in a plan's [assumptions].
        text: what is assumed, where the accounting itself has no words for it.
        told: a pattern that matches the accounting's own text of it.
        checks: what a ledger calls its checks of it (patterns).
        enough: whether it is held once all of these checks are.
        effect: what follows if it is false.
    """

    key: str
    text: str
    effect: str
    told: str = r"(?!)"
    checks: tuple[str, ...] = ()
    enough: bool = False

    def names(self, assumption: Assumption) -> bool:
        """Whether the accounting's assumption is of this kind."""
        return re.search(self.told, assumption.text) is not None

    def checked_by(self, check: Assumption) -> bool:
        """Whether a ledger's check is about this."""
        return any(re.search(pattern, check.text) for pattern in self.checks)


SENSITIVITY = Premise(
    "sensitivity",
    "one unit moves what is released by at most the stated sensitivity",
    "a unit that contributes k times as much has the guarantee of k times less noise",
    told=r"sensitivity|losses of each choice span",
    checks=(r"no weight raised",),
)
SAMPLING = Premise(
    "sampling",
    "units are sampled as stated, afresh at each release",
    "there is no amplification by sampling",
    told=r"is sampled|each sample is|whether the plan runs|its own coin",
    checks=(r"by its own coin|fresh subset", r"the sampling rate was"),
    enough=True,
)
LOCAL = Premise(
    "local",
    "each unit's answer is randomised on its own",
    "the epsilon of one answer does not apply to the unit",
    told=r"randomised on its own|sees one unit's value only|message is made by",
)
SHUFFLER = Premise(
    "shuffler",
    "the shuffler hides who sent what",
    "there is no amplification by shuffling: a message has the epsilon of its own randomiser",
    told=r"shuffler|shuffled",
)
OPAQUE = Premise(
    "stated-guarantee",
    "the guarantees that were given for single releases hold",
    "the composition is of guarantees that do not exist: nothing is guaranteed",
    told=r"holds under .*(each release)?$",
)
NOISE = Premise(
    "noise",
    "every release has the stated noise, drawn afresh and added once",
    "a release without its noise has no guarantee, and one with less has a larger epsilon",
    checks=(r"the noise was at least", r"noise was drawn once"),
    enough=True,
)
STEPS = Premise(
    "steps",
    "nothing is released beyond what the plan lists",
    "every further release adds to epsilon",
    checks=(r"no more steps ran|the ledger counts no more",),
    enough=True,
)
SECRET_SAMPLE = Premise(
    "secret-sample",
    "who was sampled in which release stays secret",
    "there is no amplification by sampling against whoever knows the sample",
)
RANDOMNESS = Premise(
    "randomness",
    "the noise comes from a generator that nobody can predict or replay",
    "whoever can replay the noise can subtract it: nothing is guaranteed",
)
ARITHMETIC = Premise(
    "arithmetic",
    "the noise behaves as if drawn from real numbers, not from floating-point ones",
    "the last bits of a release can tell neighbouring data sets apart (Mironov 2012)",
)
FIXED = Premise(
    "fixed-plan",
    "the plan was fixed before anything about the data was seen",
    "a plan chosen by the data costs privacy that is not counted here",
    told=r"was chosen after looking|fixed in advance",
)

PREMISES: dict[str, Premise] = {
    premise.key: premise
    for premise in (
        SENSITIVITY,
        SAMPLING,
        LOCAL,
        SHUFFLER,
        OPAQUE,
        NOISE,
        STEPS,
        SECRET_SAMPLE,
        RANDOMNESS,
        ARITHMETIC,
        FIXED,
    )
}
_KEYS = ("status", "evidence", "text", "effect")


def base_of(key: str) -> str:
    """The kind that a name is of: where a plan has several of one kind, they are numbered.

    >>> base_of("sensitivity-2"), base_of("fixed-plan")
    ('sensitivity', 'fixed-plan')
    """
    return re.sub(r"-\d+$", "", key)


@dataclass(frozen=True)
class Declared:
    """What a plan says of one assumption: its status and evidence; `text` for one of its own."""

    status: AssumptionStatus
    evidence: str = ""
    text: str = ""
    effect: str = ""


def read_declared(told: Mapping[str, Any], place: str = "[assumptions]") -> dict[str, Declared]:
    """What an [assumptions] table says, by the assumption's name.

    Each value is held, declared, violated or unknown, or a table of status, evidence, and (for an
    assumption with a name of its own) text and effect. Raises `InvalidArgument`.

    >>> found = read_declared({"sampling": {"status": "held", "evidence": "unit test"}})
    >>> found["sampling"].status
    <AssumptionStatus.HELD: 'held'>
    """
    return {str(key): _declared(str(key), value, place) for key, value in told.items()}


def _declared(key: str, value: object, place: str) -> Declared:
    if isinstance(value, Declared):
        return value
    name = f"{place}: {key}"
    table = value if isinstance(value, Mapping) else {"status": value}
    for word, text in table.items():
        if word not in _KEYS:
            close = difflib.get_close_matches(str(word), _KEYS, n=1, cutoff=0.6)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise _wrong(f"{name}: unknown key {shown(word)}{hint}", key)
        if not isinstance(text, str):
            raise _wrong(f"{name}: {word} must be a text, got {shown(text)}", key)
    if base_of(key) not in PREMISES and "text" not in table:
        close = difflib.get_close_matches(base_of(key), PREMISES, n=1, cutoff=0.6)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        listed = ", ".join(PREMISES)
        message = f"{place}: {shown(key)} is none of {listed}{hint}; one of your own needs a text"
        raise _wrong(message, key)
    if "status" not in table:
        raise _wrong(f"{name} must give status", key)
    status = AssumptionStatus.parse(table["status"], argument=name)
    said = {word: str(table.get(word, "")).strip() for word in _KEYS[1:]}
    return Declared(status, **said)


def _wrong(message: str, argument: str) -> InvalidArgument:
    return InvalidArgument(message, argument=argument)


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
