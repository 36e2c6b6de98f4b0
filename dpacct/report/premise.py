"""Premises: the kinds of assumption a guarantee rests on, by the names a plan declares them with."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.vocabulary import Assumption, AssumptionStatus


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
