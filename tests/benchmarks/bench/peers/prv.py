"""microsoft's prv-accountant: the upper end of its interval, delta_error = delta / 1000 as its
documentation advises.
"""

from __future__ import annotations

import prv_accountant as prv
from prv_accountant import dpsgd

from bench.peers import Answerer
from bench.questions import NotOffered, Part, Question


def variable(part: Part) -> prv.PrivacyRandomVariable:
    """One part as a privacy random variable."""
    if part.mechanism == "laplace":
        return prv.LaplaceMechanism(mu=1 / part.parameter)
    if part.mechanism == "pure":
        return prv.PureDPMechanism(part.parameter)
    if part.rate == 1:
        return prv.GaussianMechanism(part.parameter)
    return prv.PoissonSubsampledGaussianMechanism(
        noise_multiplier=part.parameter, sampling_probability=part.rate
    )


def answer(eps_error: float, question: Question) -> list[float]:
    """Ask prv-accountant."""
    if question.want == "sigma":
        part = question.single
        return [
            dpsgd.find_noise_multiplier(
                part.rate,
                part.count,
                question.epsilons[0],
                question.target_delta,
                eps_error=eps_error,
            )
        ]
    if question.want == "profile":
        raise NotOffered("one composition for every epsilon: 1000 of them would take minutes")
    counts = [part.count for part in question.plan]
    accountant = prv.PRVAccountant(
        prvs=[variable(part) for part in question.plan],
        max_self_compositions=counts,
        eps_error=eps_error,
        delta_error=1e-10 if question.delta is None else question.delta / 1000,
    )
    if question.want == "epsilon":
        return [accountant.compute_epsilon(question.target_delta, counts)[2]]
    return [accountant.compute_delta(epsilon, counts)[2] for epsilon in question.epsilons]


def answerer(name: str) -> Answerer:
    """The answerer at eps_error 0.01 or at 0.1."""
    eps_error = 0.1 if name.endswith("@0.1") else 0.01
    return lambda question: answer(eps_error, question)
