"""The table of assumptions, with the plan's declarations and the results of checks.

Whoever found an assumption violated is believed. Else a check that covers it makes it held; a word of
the plan stands as what it is, and what nobody spoke for is unknown.
"""

from __future__ import annotations

import re
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
    """One kind of assumption.

    Attributes:
        key: its name in a plan's [assumptions].
        text: what is assumed, where the accounting itself has no words for it.
        checks: what a ledger calls its checks of it (patterns).
        enough: whether it is held once all of these checks are.
        effect: what follows if it is false.
    """

    key: str
    text: str
    effect: str
    checks: tuple[str, ...] = ()
    enough: bool = False

    def checked_by(self, check: Assumption) -> bool:
        """Return whether a ledger's check is about this assumption."""
        return any(re.search(pattern, check.text) for pattern in self.checks)

    def held_by(self, checks: Sequence[Assumption]) -> bool:
        """Return whether these checks suffice to call the assumption held."""
        return self.enough and all(
            any(re.search(pattern, check.text) for check in checks) for pattern in self.checks
        )


PREMISES = {
    premise.key: premise
    for premise in (
        Premise(
            "sensitivity",
            "one unit moves what is released by at most the stated sensitivity",
            "a unit that contributes k times as much has the guarantee of k times less noise",
            checks=(r"no weight raised",),
        ),
        Premise(
            "sampling",
            "units are sampled as stated, afresh at each release",
            "there is no amplification by sampling",
            checks=(r"by its own coin|fresh subset", r"the sampling rate was"),
            enough=True,
        ),
        Premise(
            "local",
            "each unit's answer is randomised on its own",
            "the epsilon of one answer does not apply to the unit",
        ),
        Premise(
            "shuffler",
            "the shuffler hides who sent what",
            "there is no amplification by shuffling: a message has the epsilon of its own randomiser",
        ),
        Premise(
            "stated-guarantee",
            "the guarantees that were given for single releases hold",
            "the composition is of guarantees that do not exist: nothing is guaranteed",
        ),
        Premise(
            "noise",
            "every release has the stated noise, drawn afresh and added once",
            "a release without its noise has no guarantee, and one with less has a larger epsilon",
            checks=(r"the noise was at least", r"noise was drawn once"),
            enough=True,
        ),
        Premise(
            "steps",
            "nothing is released beyond what the plan lists",
            "every further release adds to epsilon",
            checks=(r"no more steps ran|the ledger counts no more",),
            enough=True,
        ),
        Premise(
            "secret-sample",
            "who was sampled in which release stays secret",
            "there is no amplification by sampling against whoever knows the sample",
        ),
        Premise(
            "randomness",
            "the noise comes from a generator that nobody can predict or replay",
            "whoever can replay the noise can subtract it: nothing is guaranteed",
        ),
        Premise(
            "arithmetic",
            "the noise behaves as if drawn from real numbers, not from floating-point ones",
            "the last bits of a release can tell neighbouring data sets apart (Mironov 2012)",
        ),
        Premise(
            "fixed-plan",
            "the plan was fixed before anything about the data was seen",
            "a plan chosen by the data costs privacy that is not counted here",
        ),
    )
}
"""Every kind by its name, which is an assumption's `id`."""
_KEYS = ("status", "evidence", "text", "effect")


def base_of(key: str) -> str:
    """The kind of a name: several assumptions of one kind are numbered, as in `sensitivity-2`.

    >>> base_of("sensitivity-2"), base_of("fixed-plan")
    ('sensitivity', 'fixed-plan')
    """
    return re.sub(r"-\d+$", "", key)


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
    return {str(key): _declared(str(key), value, place) for key, value in table.items()}


def _declared(key: str, value: object, place: str) -> Declared:
    if isinstance(value, Declared):
        return value
    name = f"{place}: {key}"
    table = value if isinstance(value, Mapping) else {"status": value}
    texts: dict[str, str] = {}
    for word, text in table.items():
        if word not in _KEYS:
            hint = did_you_mean(str(word), _KEYS)
            raise InvalidArgument(f"{name}: unknown key {shown(word)}{hint}", argument=key)
        if not isinstance(text, str):
            message = f"{name}: {word} must be a text, got {shown(text)}"
            raise InvalidArgument(message, argument=key)
        texts[word] = text.strip()
    if base_of(key) not in PREMISES and "text" not in texts:
        message = f"{place}: {shown(key)} is none of {', '.join(PREMISES)}; one of your own needs a"
        message += f" text{did_you_mean(base_of(key), PREMISES)}"
        raise InvalidArgument(message, argument=key)
    if "status" not in texts:
        raise InvalidArgument(f"{name} must give status", argument=key)
    status = AssumptionStatus.parse(texts.pop("status"), argument=name)
    return Declared(status, **texts)


_HELD, _DECLARED = AssumptionStatus.HELD, AssumptionStatus.DECLARED
_VIOLATED, _UNKNOWN = AssumptionStatus.VIOLATED, AssumptionStatus.UNKNOWN
# Noise from whole numbers, or on few answers, has no last bits to give anything away; of some mechanisms
# nothing is known but their guarantee.
_WITHOUT_LAST_BITS = (
    *("discrete-gaussian", "discrete-laplace", "randomized-response", "local-randomizer"),
    *("pure-dp", "approx-dp", "zcdp", "custom"),
)
_OWN = "nothing is known of what follows"
_SILENT = {
    _HELD: "the plan says it was checked, and not how",
    _DECLARED: "the plan's word",
    _VIOLATED: "the plan says so",
    _UNKNOWN: "the plan leaves it open",
}


@dataclass(frozen=True)
class AssumptionRow:
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
    checks: Iterable[Assumption] = (),
    effects: Mapping[str, str] | None = None,
) -> tuple[AssumptionRow, ...]:
    """Every assumption of a guarantee once, violated ones first.

    Args:
        plan: what the guarantee is about.
        accounted: what the accounting assumes.
        declared: what a plan's [assumptions] says.
        checks: what a ledger or a run has checked.
        effects: what follows if an assumption is false, by its name, where a number is known.
    """
    seen = tuple(checks)
    kinds = [(each, PREMISES.get(each.id)) for each in dict.fromkeys(accounted)]
    totals = Counter(premise.key for _, premise in kinds if premise is not None)
    counts: Counter[str] = Counter()
    unsaid: list[AssumptionRow] = []  # as they stand before plan and checks are heard
    for assumption, premise in kinds:
        key, effect = "", _OWN
        if premise is not None:
            key, effect = premise.key, premise.effect
            counts[key] += 1
            key = f"{key}-{counts[key]}" if totals[key] > 1 else key
        source = assumption.source or "the plan describes it so"
        unsaid.append(AssumptionRow(key, assumption.text, assumption.status, source, effect))
    keys = {row.key for row in unsaid}
    for premise in map(PREMISES.__getitem__, _general(plan, sampled="sampling" in totals)):
        if premise.key not in keys:
            nobody = "nobody has said"
            unsaid.append(
                AssumptionRow(premise.key, premise.text, _UNKNOWN, nobody, premise.effect)
            )
    keys = {name for row in unsaid for name in (row.key, base_of(row.key))}
    for key, declaration in declared.items():
        if key in keys:
            continue
        if key != base_of(key) and counts[base_of(key)]:
            message = f"[assumptions]: {key} names more than the plan's {counts[base_of(key)]}"
            message += f" assumptions called {base_of(key)}"
            raise InvalidArgument(message, argument=key)
        text, effect = key, _OWN
        if key in PREMISES:
            text, effect = PREMISES[key].text, PREMISES[key].effect
        unsaid.append(AssumptionRow(key, declaration.text or text, declaration.status, "", effect))
    heard = [_heard(row, declared, seen, effects or {}) for row in unsaid]
    for check in seen:
        if not any(premise.checked_by(check) for premise in PREMISES.values()):
            heard.append(AssumptionRow("", check.text, check.status, check.source, _OWN))
    return tuple(sorted(heard, key=lambda row: row.status is not _VIOLATED))


def _general(plan: Node, *, sampled: bool) -> list[str]:
    """The assumptions of every deployment, whether or not the accounting mentions them."""
    releases = [leaf for leaf, _ in plan.releases()]
    kinds = {getattr(leaf, "node", leaf).kind for leaf in releases}  # of what is sampled
    general = ["noise", "steps", "fixed-plan", "randomness"]
    if not all(kind.startswith(_WITHOUT_LAST_BITS) for kind in kinds):
        general.append("arithmetic")
    return [*general, "secret-sample"] if sampled else general


def _heard(
    row: AssumptionRow,
    declared: Mapping[str, Declared],
    checks: tuple[Assumption, ...],
    effects: Mapping[str, str],
) -> AssumptionRow:
    """The row updated by the plan's declaration and by checks."""
    kind = base_of(row.key)
    if not kind:
        return row
    premise, declaration = PREMISES.get(kind), declared.get(row.key) or declared.get(kind)
    status, evidence, effect = row.status, row.evidence, effects.get(kind, row.effect)
    if declaration is not None:
        status = declaration.status
        evidence = declaration.evidence or _SILENT[status]
        effect = declaration.effect or effect
    about = [c for c in checks if premise is not None and premise.checked_by(c)]
    decided = [check for check in about if check.status is not _UNKNOWN]
    wrong = [f"{c.text}: {c.source}" for c in decided if c.status is _VIOLATED]
    if wrong:
        status, evidence = _VIOLATED, f"not so: {'; '.join(wrong)}"
    elif decided and status is not _VIOLATED:
        checked = "; ".join(check.source for check in decided)
        evidence = checked if declaration is None else f"{evidence}; {checked}"
        if premise is not None and premise.held_by(decided):
            status = _HELD
    return replace(row, status=status, evidence=evidence, effect=effect)
