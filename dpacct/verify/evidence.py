"""Evidence: what an entry must bring for the status it claims. Checked without any search."""

from __future__ import annotations

from dpacct.theorems.entry import Entry
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.registry import entries
from dpacct.verify.truth import proofs, truths

_LEAST = 80  # characters of a derivation or a reason that says anything


def missing(entry: Entry) -> list[str]:
    """What is missing for the entry's status and verdict: sentences, none if all is there."""
    lacks = []

    def need(there: object, what: str) -> None:
        if not there:
            lacks.append(f"{entry.id} is {entry.status}, {entry.verdict}, and has no {what}")

    judged = entry.id in truths() and entry.formula is not None
    if entry.status is Status.REPRODUCED:
        need(any(v.printed for v in entry.vectors), "number that the paper prints")
    if entry.status in (Status.SEARCHED, Status.DERIVED, Status.CORRECTED):
        need(judged, "independent truth")
    if entry.status in (Status.DERIVED, Status.CORRECTED):
        need(len(entry.derivation) >= _LEAST, "derivation")
        need(entry.vectors, "vector")
    if entry.status is Status.PROVED:
        need(proofs().get(entry.id), "machine-checked proof")
    if entry.status is Status.REFUTED:
        need(entry.witness, "witness")
        need(judged, "independent truth")
        need(not entry.verdict.printed_ok, "verdict that says so")
    if entry.verdict is Verdict.FALSE:
        need(entry.status is Status.REFUTED, "refutation")
    if entry.status is Status.ASYMPTOTIC:
        need(entry.verdict is Verdict.ASYMPTOTIC, "verdict that says so")
    if not entry.verdict.printed_ok or entry.verdict is Verdict.CONDITIONAL:
        need(entry.reason, "reason")
    if entry.formula is None:
        need(len(entry.reason) >= _LEAST, "reason why nothing is evaluated")
    for other in (*entry.relies_on, *filter(None, [entry.corrected_by])):
        need(other in entries(), f"entry {other} to refer to")
    if entry.corrected_by in entries():
        need(entries()[entry.corrected_by].is_answer, "correction that may be used")
    return lacks
