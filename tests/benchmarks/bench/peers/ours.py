"""dpacct itself, through its public Python names."""

from __future__ import annotations

from functools import partial

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


def answer(question: Question, method: str) -> list[float]:
    """Ask dpacct by a method: "exact", or "auto", its default, which also proves the answer."""
    if question.want == "sigma":
        part = question.single
        noise = dp.noise_multiplier(
            epsilon=question.epsilons[0],
            delta=question.target_delta,
            sample_rate=part.rate,
            steps=part.count,
            method=method,
        )
        return [float(noise)]
    run = plan(question)
    if question.want == "epsilon":
        return [run.epsilon(delta=question.target_delta, method=method).value]
    if question.want == "delta":
        return [run.delta(epsilon=epsilon, method=method).value for epsilon in question.epsilons]
    return [float(value) for value in run.profile(question.epsilons)]


def answerer(name: str) -> Answerer:
    """The method is what stands behind the @ of the name."""
    return partial(answer, method=name.partition("@")[2] or "exact")
