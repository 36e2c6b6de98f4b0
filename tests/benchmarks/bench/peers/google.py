"""google's dp-accounting: the PLD accountant at two grids, and the RDP accountant, through the
DpEvent interface.
"""

from __future__ import annotations

from math import exp

from dp_accounting import dp_event, mechanism_calibration, privacy_accountant
from dp_accounting.pld import pld_privacy_accountant, privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant

from bench.peers import Answerer
from bench.questions import NotOffered, Part, Question

Accountant = privacy_accountant.PrivacyAccountant
Relation = privacy_accountant.NeighboringRelation


def event(part: Part) -> dp_event.DpEvent:
    """One part as a DpEvent. Pure DP is put as binary randomized response, its worst case."""
    if part.mechanism == "gaussian":
        inner = dp_event.GaussianDpEvent(part.parameter)
    elif part.mechanism == "laplace":
        inner = dp_event.LaplaceDpEvent(part.parameter)
    else:
        # noise_parameter is the chance of answering at random: e^eps0 = (1 - p/2) / (p/2) with two
        # buckets.
        inner = dp_event.RandomizedResponseDpEvent(2 / (1 + exp(part.parameter)), 2)
    if part.rate != 1:
        inner = dp_event.PoissonSampledDpEvent(part.rate, inner)
    return dp_event.SelfComposedDpEvent(inner, part.count)


def accountant(name: str, question: Question) -> Accountant:
    """A fresh accountant of the kind called ``name``."""
    pure = any(part.mechanism == "pure" for part in question.plan)
    relation = Relation.REPLACE_ONE if pure else Relation.ADD_OR_REMOVE_ONE
    if name == "dpa_rdp":
        return rdp_privacy_accountant.RdpAccountant(neighboring_relation=relation)
    grid = 1e-5 if name.endswith("@1e-5") else 1e-4
    return pld_privacy_accountant.PLDAccountant(relation, grid)


def profile(name: str, question: Question) -> list[float]:
    """Many epsilons at once: the loss distribution itself takes a sequence, the accountant does
    not.
    """
    part = question.single
    if part.mechanism != "gaussian":
        raise NotOffered("measured for the Gaussian only")
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        part.parameter,
        value_discretization_interval=1e-5 if name.endswith("@1e-5") else 1e-4,
        sampling_prob=part.rate,
    ).self_compose(part.count)
    return [float(delta) for delta in loss.get_delta_for_epsilon(question.epsilons)]


def answer(name: str, question: Question) -> list[float]:
    """Ask dp-accounting."""
    if question.want == "sigma":
        if name == "dpa_pld@1e-5":
            raise NotOffered("calibration is measured at the default grid")
        part = question.single
        return [
            mechanism_calibration.calibrate_dp_mechanism(
                lambda: accountant(name, question),
                lambda sigma: event(Part(part.mechanism, sigma, part.rate, part.count)),
                question.epsilons[0],
                question.target_delta,
            )
        ]
    if question.want == "profile" and name != "dpa_rdp":
        return profile(name, question)
    ledger = accountant(name, question)
    for part in question.plan:
        ledger.compose(event(part))
    if question.want == "epsilon":
        return [ledger.get_epsilon(question.target_delta)]
    return [ledger.get_delta(epsilon) for epsilon in question.epsilons]


def answerer(name: str) -> Answerer:
    """The answerer for one of the three settings."""
    return lambda question: answer(name, question)
