"""dpacct itself, through its public Python names."""

from __future__ import annotations

import dpacct as dp
from bench.peers import Answerer
from bench.questions import Part, Question


def node(part: Part) -> dp.Node:
    """One part as a dpacct plan."""
    makers = {
        "gaussian": lambda: dp.Gaussian(sigma=part.parameter),
        "laplace": lambda: dp.Laplace(b=part.parameter),
        "pure": lambda: dp.PureDP(epsilon=part.parameter),
    }
    mechanism = makers[part.mechanism]()
    sampled = mechanism if part.rate == 1 else dp.Poisson(part.rate)(mechanism)
    return sampled * part.count


def plan(question: Question) -> dp.Node:
    """All parts, composed."""
    first, *rest = (node(part) for part in question.plan)
    for other in rest:
        first = first + other
    return first


def answer(question: Question) -> list[float]:
    """Ask dpacct."""
    if question.want == "sigma":
        part = question.single
        found = dp.noise_multiplier(
            epsilon=question.epsilons[0],
            delta=question.target_delta,
            sample_rate=part.rate,
            steps=part.count,
        )
        return [float(found)]
    run = plan(question)
    if question.want == "epsilon":
        return [run.epsilon(delta=question.target_delta, method="exact").value]
    if question.want == "delta":
        return [run.delta(epsilon=epsilon, method="exact").value for epsilon in question.epsilons]
    return [float(value) for value in run.profile(question.epsilons)]


def answerer(name: str) -> Answerer:
    """There is one setting only."""
    return answer
