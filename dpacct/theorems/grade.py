"""What is known about a printed statement: its verdict, and how well that is supported."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Whether a statement holds as it is printed.

    `holds`; `holds-with-condition`: with a hypothesis that the paper leaves out; `proof-gap`: true
    where it was tried, but what is printed is no proof; `false`: a witness violates it;
    `ill-posed`: a misprint, or several meanings; `asymptotic`: in a limit only, so never a bound;
    `unread`: the text at hand is illegible there.

    >>> Verdict.HOLDS.printed_ok, Verdict.FALSE.printed_ok
    (True, False)
    """

    HOLDS = "holds"
    CONDITIONAL = "holds-with-condition"
    GAP = "proof-gap"
    FALSE = "false"
    ILL_POSED = "ill-posed"
    ASYMPTOTIC = "asymptotic"
    UNREAD = "unread"

    @property
    def printed_ok(self) -> bool:
        """Whether the printed formula may be used as it stands, within the stored domain."""
        return self in (Verdict.HOLDS, Verdict.CONDITIONAL, Verdict.GAP)


class Status(StrEnum):
    """The evidence behind a verdict; each is tested (dpacct.verify.evidence).

    `transcribed`: typed in, no more; `reproduced`: the paper's own numbers come out; `searched`: no
    counter-example against an independent truth; `derived`: our derivation, and searched; `proved`:
    a machine-checked proof; `refuted`: a stored witness violates it; `corrected`: ours in place of
    a false statement, derived and searched; `asymptotic`: true in a limit.

    >>> Status("refuted").is_answer, Status("corrected").is_answer
    (False, True)
    """

    TRANSCRIBED = "transcribed"
    REPRODUCED = "reproduced"
    SEARCHED = "searched"
    DERIVED = "derived"
    PROVED = "proved"
    REFUTED = "refuted"
    CORRECTED = "corrected"
    ASYMPTOTIC = "asymptotic"

    @property
    def is_answer(self) -> bool:
        """Whether a calculator may hand the value out without being asked for it as printed."""
        return self is not Status.REFUTED
