"""opacus: its three accountants, each with the default settings. It has no delta query."""

from __future__ import annotations

from opacus.accountants import create_accountant
from opacus.accountants.utils import get_noise_multiplier

from bench.peers import Answerer
from bench.questions import NotOffered, Question


def answer(kind: str, question: Question) -> list[float]:
    """Ask opacus. The history is set at once, as its own calibration does: ``step`` counts one at
    a time.
    """
    parts = question.gaussians()
    if question.want == "sigma":
        part = question.single
        return [
            get_noise_multiplier(
                target_epsilon=question.epsilons[0],
                target_delta=question.target_delta,
                sample_rate=part.rate,
                steps=part.count,
                accountant=kind,
            )
        ]
    if question.want != "epsilon":
        raise NotOffered("no delta query")
    if kind == "gdp" and len(parts) > 1:
        raise NotOffered("one kind of step only")
    accountant = create_accountant(kind)
    accountant.history = [(part.parameter, part.rate, part.count) for part in parts]
    return [float(accountant.get_epsilon(delta=question.target_delta))]


def answerer(name: str) -> Answerer:
    """The answerer for prv, rdp or gdp."""
    kind = name.removeprefix("opacus_")
    return lambda question: answer(kind, question)
