"""The smallest noise that meets a target."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dpacct.cli.asking import ANSWERING, PROVING, answered, asked
from dpacct.cli.command import CommandLine, command, group, option, plan
from dpacct.cli.target import Goal, target
from dpacct.declare.domain import Domain, Real, Word
from dpacct.declare.number import rounded, text
from dpacct.declare.record import Exclusive, Usage
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan

CHANCE = Real(0, 1)


class Power(NamedTuple):
    """A bound on attacks: true positive rate `hits` at false positive rate `alarms`."""

    hits: Fraction
    alarms: Fraction


class PowerDomain(Domain[Power]):
    """`0.01@0.001`: a true positive rate at a false positive rate."""

    words = "a true positive rate at a false positive rate, such as 0.01@0.001"

    def check(self, name: str, value: object) -> Power:
        """The true and the false positive rate."""
        if isinstance(value, Power):
            return value
        hits, at, alarms = str(value).partition("@")
        if not at:
            raise self.refusal(name, value)
        return Power(CHANCE.check(name, hits), CHANCE.check(name, alarms))


def _in_other_words(
    answer: Answer, stated: StatedPlan
) -> tuple[dict[str, float], dict[str, float | Fraction]]:
    """The noise per clip and, if the clipping norm is known, in the data's units; and as a file states it.

    The sensitivity of a clipped sum is clip_factor * clip (twice the clip under replace-one). A file
    states the noise multiplier of Gaussian noise, and of any noise that comes with a clip.
    """
    kind, clip = stated.kind.kind, stated.clip
    per_clip = answer.adjacency.clip_factor * float(answer)
    more = {"noise_multiplier": per_clip} if kind == "gaussian" else {}
    saved: dict[str, float | Fraction] = {**more} or {stated.kind.sought: float(answer)}
    if clip is not None and kind in ("gaussian", "laplace"):
        # One float up: a product may be rounded down, and less noise is not what was asked for.
        size = math.nextafter(per_clip * float(clip), math.inf)
        more = {**more, "noise_scale" if kind == "laplace" else "noise_std": size}
        saved = {"noise_multiplier": per_clip}
    return more, saved


@command(
    "noise",
    plan(noise=False),
    target(),
    group(
        "Target",
        option(
            "--tpr T@F",
            "instead of epsilon and delta: no attack with false positive rate F has a true positive"
            " rate above T",
            PowerDomain(),
        ),
        option(
            "--advantage A",
            "instead of epsilon and delta: no attack's advantage (TPR - FPR) exceeds A",
            CHANCE,
        ),
        option(
            "--paste",
            "also print lines to paste into a training script of that framework; with --quiet"
            " nothing else",
            Word("opacus", "flower", "torch"),
        ),
    ),
    ANSWERING,
    PROVING,
    examples=(
        "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000",
        "noise --eps 8 --delta 1e-5 --batch-size 256 --dataset-size 50000 --epochs 20 --paste opacus",
        "noise --eps 7 --delta 1000^-1.1 --rate 0.01 --steps 1000 --clip 0.5",
        "noise --eps 2 --delta 1e-6 --batch-size 256 --dataset-size 60000 --epochs 60 --json",
        "noise --eps 4 --delta 1e-5 --sampling uniform --rate 0.05 --rounds 200 --unit client",
        "noise --eps 1 --delta 1e-6 --mechanism laplace --steps 10",
        "noise --eps 1 --delta 1e-5 --quiet",
        "noise --tpr 0.01@0.001 --rate 0.01 --steps 1000",
        "noise --advantage 0.1 --rate 0.01 --steps 1000",
    ),
)
def main(
    line: CommandLine,
    epsilon: Fraction | None,
    delta: Fraction | None,
    tpr: Power | None,
    advantage: Fraction | None,
    paste: str | None,
) -> Result:
    """Compute the smallest noise with which a plan is (epsilon, delta)-private.

    Gaussian noise is answered as the noise multiplier (standard deviation / clip) and, with --clip, as
    a standard deviation; Laplace noise as b (scale / sensitivity); --details and --json have sigma
    (standard deviation / sensitivity). All are rounded up.
    """
    from dpacct.cli import screens
    from dpacct.declare.number import short

    stated = line.stated(seeks_noise=True)
    if paste is not None and (epsilon is None or delta is None):
        raise Usage("--paste needs a target with --eps and --delta", argument="--paste")
    others = [each for each in (epsilon, delta) if each is not None]
    if tpr is not None:
        if others or advantage is not None:
            raise _twice("--tpr")
        answer, goal = _for_power(stated, tpr), None
        said = f"a true positive rate of {short(tpr.hits)} at a false positive rate of {short(tpr.alarms)}"
    else:
        goal = _guarantee(epsilon, delta, advantage)
        answer = asked(
            line, stated.least(*goal), stated.sized, beside=line.json or not line.values["quiet"]
        )
        said = screens.target(*goal)
    more, saved = _in_other_words(answer, stated)
    answer = replace(answer, extra={**answer.extra, **more})
    screen = replace(
        screens.of_noise(answer, said, stated),
        asked={} if goal is None else goal._asdict(),
        details=screens.alternatives(answer),
    )
    if paste is None or goal is None:
        return answered(line, screen, stated, None, **saved)
    pasted = _pasted(paste, answer, stated, *goal)
    # one number and one clip, in what is saved as in what is pasted
    saved = {"noise_multiplier": Fraction(_printed(answer)), "clip": stated.clip or Fraction(1)}
    result = answered(line, replace(screen, below=["", *pasted]), stated, None, **saved)
    body = result.body
    return result._replace(
        body=lambda: {**body(), "paste": "\n".join(pasted)}, quiet=lambda: pasted
    )


def _guarantee(
    epsilon: Fraction | None, delta: Fraction | None, advantage: Fraction | None
) -> Goal:
    """Epsilon and delta; an advantage is the delta at epsilon 0."""
    if advantage is not None:
        if epsilon is not None or delta is not None:
            raise _twice("--advantage")
        return Goal(Fraction(0), advantage)
    if epsilon is None or delta is None:
        missing = "--eps" if epsilon is None else "--delta"
        message = "give the target with --eps and --delta, or with --tpr or --advantage"
        raise Usage(f"{message}; {missing} is missing", argument=missing)
    return Goal(epsilon, delta)


def _for_power(stated: StatedPlan, power: Power) -> Answer:
    """The least noise that keeps every attack's true positive rate within the target."""
    from dpacct.risk import calibrate_risk

    started = time.perf_counter()
    answer = calibrate_risk(
        stated.sized,
        true_positive_rate=power.hits,
        false_positive_rate=power.alarms,
        bounds=stated.kind.between,
        name=stated.kind.sought,
    )
    return replace(answer, seconds=time.perf_counter() - started)


def _twice(name: str) -> Exclusive:
    message = f"{name} is a target by itself: leave out --eps, --delta and other targets"
    return Exclusive(message, argument=name)


# --- the lines to paste into a training program: the noise, and a guard for the whole run

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
guard = BudgetGuard(ledger, step)
optimizer = guard.attach(optimizer{loader})  # counts each step before its noise is drawn
# At the top of your loop over batches, also after a restart; guard.epsilon is what was spent so far:
#     if guard.exhausted:
#         break
"""
_OBSERVED = """\
# When the run has ended, what ran is compared with what was counted:
#     ledger.observe(dpacct_opacus.observed(optimizer, loader, steps=guard.taken))
"""
_OWN = (
    "# The ledger only counts: clip each example's gradient and add the noise in your own loop.\n"
)
FRAMEWORKS = {
    "opacus": _OPACUS + "\n" + _GUARD + _OBSERVED,
    "flower": _FLOWER,
    "torch": _OWN + _GUARD,
}
"""The code printed for each framework; `torch` is a loop of the user's own, which adds the noise itself."""


def _printed(answer: Answer) -> str:
    """The noise multiplier of a training script, rounded up."""
    return rounded(answer.adjacency.clip_factor * float(answer), "up", 5)


def _pasted(
    framework: str, answer: Answer, stated: StatedPlan, epsilon: Fraction, delta: Fraction
) -> Sequence[str]:
    """The lines, with the numbers of an answer.

    Raises `Usage` for noise, a sampling or an adjacency that the framework does not have.
    """
    share, sampling = stated.steps.share(stated.call), stated.steps.sampling
    if stated.kind.kind != "gaussian":
        raise Usage(f"--paste needs Gaussian noise, got {stated.kind.kind}", argument="--paste")
    if framework == "opacus" and (share is None or sampling == "uniform"):
        message = (
            "whose data loader samples by coin, needs --rate, or --batch-size and --dataset-size"
        )
        raise Usage(f"--paste opacus, {message}, without --sampling uniform", argument="--paste")
    if framework == "flower" and share is not None:
        message = "whose strategies earn no amplification, needs --rounds and no sampling rate"
        raise Usage(f"--paste flower, {message}", argument="--paste")
    if framework != "torch" and answer.adjacency is not Adjacency.ADD_REMOVE:
        message = f"--paste {framework} needs --adjacency add-remove, got {answer.adjacency}"
        raise Usage(message, argument="--paste")
    noise = _printed(answer)
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
        loader=", loader=loader" if framework == "opacus" else "",
    )
    return filled.splitlines()
