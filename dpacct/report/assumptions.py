"""The table of assumptions, with the plan's declarations and the results of checks.

Whoever found an assumption violated is believed. Else a check that covers it makes it held; a word of
the plan stands as what it is, and what nobody spoke for is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpacct.declare.domain import did_you_mean
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Assumption, AssumptionStatus

if TYPE_CHECKING:
    from dpacct.plan.node import Node


@dataclass(frozen=True)
class Premise:
    """One kind of assumption, in words; what follows if it is false; ids of checks that make it held."""

    text: str
    effect: str
    checks: tuple[str, ...] = ()


PREMISES = {
    "sensitivity": Premise(
        "one unit moves what is released by at most the stated sensitivity",
        "a unit that contributes k times as much has the guarantee of k times less noise",
    ),
    "sampling": Premise(
        "units are sampled as stated, afresh at each release",
        "there is no amplification by sampling",
        ("sampling.draw", "sampling.rate"),
    ),
    "local": Premise(
        "each unit's answer is randomised on its own",
        "the epsilon of one answer does not apply to the unit",
    ),
    "shuffler": Premise(
        "the shuffler hides who sent what",
        "there is no amplification by shuffling: a message has the epsilon of its own randomiser",
    ),
    "stated-guarantee": Premise(
        "the guarantees that were given for single releases hold",
        "the composition is of guarantees that do not exist: nothing is guaranteed",
    ),
    "noise": Premise(
        "every release has the stated noise, drawn afresh and added once",
        "a release without its noise has no guarantee, and one with less has a larger epsilon",
        ("noise.size", "noise.draws"),
    ),
    "steps": Premise(
        "nothing is released beyond what the plan lists",
        "every further release adds to epsilon",
        ("steps",),
    ),
    "secret-sample": Premise(
        "who was sampled in which release stays secret",
        "there is no amplification by sampling against whoever knows the sample",
    ),
    "randomness": Premise(
        "the noise comes from a generator that nobody can predict or replay",
        "whoever can replay the noise can subtract it: nothing is guaranteed",
    ),
    "arithmetic": Premise(
        "the noise behaves as if drawn from real numbers, not from floating-point ones",
        "the last bits of a release can tell neighbouring data sets apart (Mironov 2012)",
    ),
    "fixed-plan": Premise(
        "the plan was fixed before anything about the data was seen",
        "a plan chosen by the data costs privacy that is not counted here",
    ),
}
"""Every kind by its name: an assumption's `id`, and what stands before the point in a check's."""
_KEYS = ("status", "evidence", "text", "effect")


def base_of(key: str) -> str:
    """The kind of a name: several assumptions of one kind are numbered, as in `sensitivity-2`.

    >>> base_of("sensitivity-2"), base_of("fixed-plan")
    ('sensitivity', 'fixed-plan')
    """
    kind, _, number = key.rpartition("-")
    return kind if number.isdecimal() else key


@dataclass(frozen=True)
class Declared:
    """A plan's declaration about one assumption: status, evidence, and `text` for one of its own."""

    status: AssumptionStatus
    evidence: str = ""
    text: str = ""
    effect: str = ""


def read_declared(table: Mapping[str, Any], place: str = "[assumptions]") -> dict[str, Declared]:
    """The declarations of an [assumptions] table, by the assumption's name.

    Each value is held, declared, violated or unknown, or a table of status, evidence, and (for an
    assumption with a name of its own) text and effect. Raises `InvalidArgument`.

    >>> read_declared({"sampling": {"status": "held", "evidence": "unit test"}})["sampling"].status
    <AssumptionStatus.HELD: 'held'>
    """
    return {
        str(key): value if isinstance(value, Declared) else _declared(str(key), value, place)
        for key, value in table.items()
    }


def _declared(key: str, value: object, place: str) -> Declared:
    name = f"{place}: {key}"
    texts: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"status": value}
    for word, text in texts.items():
        if word not in _KEYS:
            hint = did_you_mean(str(word), _KEYS)
            raise InvalidArgument(f"{name}: unknown key {shown(word)}{hint}", argument=key)
        if not isinstance(text, str):
            message = f"{name}: {word} must be a text, got {shown(text)}"
            raise InvalidArgument(message, argument=key)
    if base_of(key) not in PREMISES and "text" not in texts:
        message = f"{place}: {shown(key)} is none of {', '.join(PREMISES)}; one of your own needs a"
        message += f" text{did_you_mean(base_of(key), PREMISES)}"
        raise InvalidArgument(message, argument=key)
    if "status" not in texts:
        raise InvalidArgument(f"{name} must give status", argument=key)
    status = AssumptionStatus.parse(texts.pop("status"), argument=name)
    return Declared(status, **{word: text.strip() for word, text in texts.items()})


_HELD, _DECLARED = AssumptionStatus.HELD, AssumptionStatus.DECLARED
_VIOLATED, _UNKNOWN = AssumptionStatus.VIOLATED, AssumptionStatus.UNKNOWN
_OWN = "nothing is known of what follows"
_SILENT = {
    _HELD: "the plan says it was checked, and not how",
    _DECLARED: "the plan's word",
    _VIOLATED: "the plan says so",
    _UNKNOWN: "the plan leaves it open",
}


@dataclass(frozen=True)
class AssumptionRow:
    """One assumption: its name in a plan's [assumptions] ("" for a check that is of no kind), and its status.

    `evidence` is who said so, or what was seen; `effect` what follows if it is false.
    """

    key: str
    text: str
    status: AssumptionStatus
    evidence: str
    effect: str

    def to_dict(self) -> dict[str, str]:
        """Return JSON values."""
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
    checks: Sequence[Assumption] = (),
    effects: Mapping[str, str] | None = None,
) -> tuple[AssumptionRow, ...]:
    """Every assumption of a guarantee once, violated ones first.

    `accounted` is what the accounting assumes, `declared` what a plan's [assumptions] says, `checks` what
    a ledger or a run has checked; `effects` follow if an assumption is false, by its name, in numbers.
    """
    listed = list(dict.fromkeys(accounted))
    totals = Counter(each.id for each in listed if each.id in PREMISES)
    counts: Counter[str] = Counter()
    unsaid: list[AssumptionRow] = []  # as they stand before plan and checks are heard
    for each in listed:
        counts[each.id] += 1
        key = f"{each.id}-{counts[each.id]}" if totals[each.id] > 1 else each.id
        premise = PREMISES.get(each.id, Premise("", _OWN))
        source = each.source or "the plan describes it so"
        key = key if each.id in PREMISES else ""
        unsaid.append(AssumptionRow(key, each.text, each.status, source, premise.effect))
    for key in _general(plan, sampled="sampling" in totals):
        if key not in totals:
            premise = PREMISES[key]
            unsaid.append(
                AssumptionRow(key, premise.text, _UNKNOWN, "nobody has said", premise.effect)
            )
    keys = {name for row in unsaid for name in (row.key, base_of(row.key))}
    for key in declared.keys() - keys:
        if total := totals[base_of(key)]:
            message = f"[assumptions]: {key} names more than the plan's {total}"
            message += f" assumptions called {base_of(key)}"
            raise InvalidArgument(message, argument=key)
    for key in [key for key in declared if key not in keys]:
        premise = PREMISES.get(key, Premise(declared[key].text, _OWN))
        text = declared[key].text or premise.text
        unsaid.append(AssumptionRow(key, text, declared[key].status, "", premise.effect))
    heard = [_heard(row, declared, checks, effects or {}) for row in unsaid]
    others = (check for check in checks if check.id.partition(".")[0] not in PREMISES)
    heard += [AssumptionRow("", c.text, c.status, c.source, _OWN) for c in others]
    return tuple(sorted(heard, key=lambda row: row.status is not _VIOLATED))


def _general(plan: Node, *, sampled: bool) -> list[str]:
    """The assumptions of every deployment, whether or not the accounting mentions them."""
    general = ["noise", "steps", "fixed-plan", "randomness"]
    if any((leaf.inside or (leaf,))[0].from_reals for leaf, _ in plan.releases()):
        general.append("arithmetic")
    return [*general, "secret-sample"] if sampled else general


def _heard(
    row: AssumptionRow,
    declared: Mapping[str, Declared],
    checks: Sequence[Assumption],
    effects: Mapping[str, str],
) -> AssumptionRow:
    """The row updated by the plan's declaration and by checks."""
    kind = base_of(row.key)
    if not kind:
        return row
    said = declared.get(row.key) or declared.get(kind)
    status, evidence, effect = row.status, row.evidence, effects.get(kind, row.effect)
    if said is not None:
        status, effect = said.status, said.effect or effect
        evidence = said.evidence or _SILENT[status]
    decided = [c for c in checks if c.id.partition(".")[0] == kind and c.status is not _UNKNOWN]
    wrong = [f"{c.text}: {c.source}" for c in decided if c.status is _VIOLATED]
    if wrong:
        status, evidence = _VIOLATED, f"not so: {'; '.join(wrong)}"
    elif decided and status is not _VIOLATED:
        checked = "; ".join(check.source for check in decided)
        evidence = checked if said is None else f"{evidence}; {checked}"
        needed = PREMISES[kind].checks if kind in PREMISES else ()
        if needed and {check.id for check in decided}.issuperset(needed):
            status = _HELD
    return replace(row, status=status, evidence=evidence, effect=effect)
