"""Lines to paste into a training script: the computed noise, and a guard for the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.number import rounded, text
from dpacct.declare.record import Usage
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.words import Stated

_OPTION = "--paste"
_OPACUS = """\
from opacus import PrivacyEngine
from dpacct.interop import opacus as dpacct_opacus

dpacct_opacus.register()
engine = PrivacyEngine(accountant="dpacct")
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=loader,
    noise_multiplier={noise}, max_grad_norm={clip})
"""
_FLOWER = """\
from flwr.serverapp import NeighboringRelation, PrivacyConfig, SamplingMethod
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from dpacct.interop.flower import Accountant

clients, clients_in_a_round = 400, 20  # yours
config = PrivacyConfig(
    target_delta={delta}, max_epsilon={epsilon}, population_size=clients,
    neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    sampling_method=SamplingMethod.NO_AMPLIFICATION)
strategy = DifferentialPrivacyServerSideFixedClipping(
    FedAvg(), noise_multiplier={noise}, clipping_norm={clip},
    num_sampled_clients=clients_in_a_round, accountant=Accountant(config))
"""
_GUARD = """\
import dpacct as dp
from dpacct.interop.budget_guard import BudgetGuard

step = {step}
ledger = dp.Ledger("run.ledger", budget=("{epsilon}", "{delta}"), plan=step * {steps})
optimizer = BudgetGuard(ledger, step).attach(optimizer)  # stops the run at its planned end
"""
FRAMEWORKS = {"opacus": _OPACUS + "\n" + _GUARD, "flower": _FLOWER, "torch": _GUARD}
"""What is printed for each framework; `torch` is a loop of one's own, which adds the noise itself."""


def lines(
    framework: str, answer: Answer, stated: Stated, epsilon: Fraction, delta: Fraction
) -> Sequence[str]:
    """The lines, with the numbers of an answer.

    Raises `Usage` for noise, a sampling or an adjacency that the framework does not have.
    """
    share, sampling = stated.steps.share(stated.call), stated.steps.sampling
    if stated.kind.kind != "gaussian":
        raise Usage(f"{_OPTION} needs Gaussian noise, got {stated.kind.kind}", argument=_OPTION)
    if framework == "opacus" and (share is None or sampling == "uniform"):
        message = (
            "whose data loader samples by coin, needs --rate, or --batch-size and --dataset-size"
        )
        raise Usage(f"{_OPTION} opacus, {message}, without --sampling uniform", argument=_OPTION)
    if framework == "flower" and share is not None:
        message = "whose strategies earn no amplification, needs --rounds and no sampling rate"
        raise Usage(f"{_OPTION} flower, {message}", argument=_OPTION)
    if framework != "torch" and answer.adjacency is not Adjacency.ADD_REMOVE:
        message = f"{_OPTION} {framework} needs --adjacency add-remove, got {answer.adjacency}"
        raise Usage(message, argument=_OPTION)
    noise = rounded(answer.adjacency.clip_factor * float(answer), "up", 5)
    clip = "1.0" if stated.clip is None else text(stated.clip)
    step = f'dp.Gaussian(noise_multiplier="{noise}", clip="{clip}")'
    if share is not None:
        sampler = "WithoutReplacement" if sampling == "uniform" else "Poisson"
        step = f'dp.{sampler}("{text(share)}")({step})'
    filled = FRAMEWORKS[framework].format(
        noise=noise,
        clip=clip,
        step=step,
        steps=stated.steps.count(stated.call),
        epsilon=text(epsilon),
        delta=text(delta),
    )
    return filled.splitlines()
