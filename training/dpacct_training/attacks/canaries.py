"""Canaries: units made to be detectable, which measure a run's leakage from outside.

"gradient": a unit that moves every release it is in by its clip, along a direction of its own, which is
the worst that the bound allows; all releases are looked at. "input": samples of noise with a wrong label,
trained on like any other; only the last model is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import Settings, one_of, positive, real, setting, whole
from dpacct_training.algorithm import Arrays
from dpacct_training.attacks.inference import confidences
from dpacct_training.attacks.worlds import CLIENTS, UPDATE, AttackedUnits, Rigged, Watch, coins
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys
from dpacct_training.lattice import NoiseLattice
from dpacct_training.noise import Gaussian, Laplace, Noise, Vector
from dpacct_training.plan import Plan
from dpacct_training.run import Run

GRADIENT, INPUT = "gradient", "input"
ONE_RUN, TWO_WORLDS = "one-run", "two-worlds"
_LOUD = 1000.0  # canaries shout: the clip has to do its work
_SCALES = {Gaussian: "multiplier", NoiseLattice: "multiplier", Laplace: "b"}


@dataclass(frozen=True, kw_only=True)
class Auditing(Settings):
    """The settings of an audit.

    `design`: "one-run", with so many `canaries`, each there by a fair coin; or "two-worlds", half of
    `runs` with one canary and half without it, the attacker knowing everyone else. `weaken` divides the noise
    that is drawn, not the one that is accounted. Raises `InvalidArgument`.
    """

    canary: str = setting(GRADIENT, one_of, (GRADIENT, INPUT))
    design: str = setting(ONE_RUN, one_of, (ONE_RUN, TWO_WORLDS))
    canaries: int = 1000
    runs: int = setting(200, whole, 20, 10**6)  # a tenth of either half is one run or more
    client: int = 0
    confidence: float = setting(0.95, real, 0.5, 1.0 - 1e-12)
    weaken: float = setting(1.0, positive)


def audit(
    prepared: Prepared,
    how: Auditing,
    *,
    keys: Keys | None = None,
    watch: Watch | None = None,
) -> dp.Audit:
    """Audit a run by canaries. Raises `InvalidArgument` if there is nothing to audit."""
    target = AttackedUnits(prepared, how.client)
    account, plan = target.account, prepared.plan
    hides = not plan.noise or isinstance(plan.noise.get(UPDATE), Gaussian)
    if account is None or not hides:
        message = f"the algorithm of an audit must be a private one whose {UPDATE} hides in Gaussian noise"
        raise dp.InvalidArgument(f"{message}, got {prepared.algorithm.name}", argument="algorithm")
    target.sends_models()
    secret = prepared.keys() if keys is None else keys
    count = 1 if how.design == TWO_WORLDS else how.canaries
    if how.design == ONE_RUN:
        whole("canaries", count, 2, len(target.rows))
        present = np.ones((1, len(target.rows)), bool)
        present[:, :count] = coins(1, count, secret)
    else:
        # in the worst direction nobody else is needed; an input is one among the others
        present = np.full((how.runs, len(target.rows)), how.canary == INPUT)
        present[:, 0] = np.arange(how.runs) % 2 == 0
    rigged = _rigged(target, how, count, secret)
    weak = _weaker(plan, how.weaken, how.client)
    rigged = replace(rigged, prepared=replace(rigged.prepared, plan=weak))
    if how.canary == INPUT:
        scores = confidences(rigged, rigged.worlds(present, secret, watch))[:, :count]
    else:
        scores = _heard(rigged, plan, present, count, secret, watch)
    settings: dict[str, Any] = {
        "delta": float(account.delta),
        "confidence": how.confidence,
        "design": how.design,
        "against": account.plan,
    }
    there = present[:, :count]
    if how.design == ONE_RUN:
        return dp.audit(scores[0], included=there[0], **settings)
    return dp.audit(scores[there], scores[~there], **settings)


def _weaker(plan: Plan, factor: float, client: int) -> Plan:
    """The plan with `factor` times less noise, to test whether an audit notices."""

    def less(noise: Noise) -> Noise:
        scale = _SCALES.get(type(noise))
        if scale is None:
            message = "weaken must be 1 where the noise is neither Gaussian nor Laplace"
            raise dp.InvalidArgument(f"{message}, got {factor:g}", argument="weaken")
        return replace(noise, **{scale: vars(noise)[scale] / factor})

    if factor == 1.0:
        return plan
    if not plan.records:
        return replace(plan, noise={**plan.noise, UPDATE: less(plan.noise[UPDATE])})
    records = plan.records[client]
    weak = replace(
        records, noise=less(records.noise), epsilon=None
    )  # takes part as if it were not weak
    cohort = replace(plan.cohort, rounds=records.rounds(plan.cohort.rounds))
    return replace(plan, cohort=cohort, records={client: weak})


def _directions(count: int, size: int, keys: Keys) -> NDArray[np.float64]:
    """Random unit vectors, nearly orthogonal where there are many numbers."""
    rows = keys.stream("canary directions").normals(count * size).reshape(count, size)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def _rigged(target: AttackedUnits, how: Auditing, count: int, keys: Keys) -> AttackedUnits:
    """Put canaries in the places of the first units."""
    setting = target.prepared.setting
    model, federation = setting.model, setting.federation
    train = federation.train
    x, y, classes = train.x.copy(), train.y.copy(), train.classes
    units = target.rows[:count]
    if how.canary == INPUT:
        generator = keys.generator("canary inputs")
        most = int(x.max()) + 1
        for rows in units:
            x[rows] = generator.integers(0, most, x.shape[1:], x.dtype)
            y[rows] = generator.integers(classes)
        shouts = np.empty((0, 0))
    else:
        shouts = _directions(count, model.dimension, keys)
        if target.unit != CLIENTS:
            y[np.concatenate(units)] = classes + np.arange(count)
            classes += count
    changed = replace(
        setting,
        model=Rigged.of(model, directions=shouts),
        federation=replace(federation, train=replace(train, x=x, y=y, classes=classes), read={}),
    )
    return replace(target, prepared=replace(target.prepared, setting=changed))


def _heard(
    target: AttackedUnits,
    plan: Plan,
    present: NDArray[np.bool_],
    count: int,
    keys: Keys,
    watch: Watch | None,
) -> NDArray[np.float64]:
    """(worlds, canaries): the score of each canary from the releases."""
    model = target.prepared.setting.model
    assert isinstance(model, Rigged)
    directions, scores = model.directions, np.zeros((len(present), count))

    def of_client(world: int, run: Run, before: Arrays, released: Arrays) -> None:
        clip = run.algorithm.mechanisms(plan, before)[UPDATE].clip
        total = released[UPDATE] * float(plan.denominator) / clip
        planned = plan.noise[UPDATE].at(1.0).variance ** 0.5
        std = min(planned, float(total.std()))
        scores[world] += _evidence(directions @ total, float(plan.cohort.rate), std)

    def of_record(world: int, run: Run, before: Arrays, released: Arrays) -> None:
        if len(released["model"]):  # a step goes against the gradient
            scores[world] -= directions @ (released["model"][0] - before["weights"])

    if target.unit == CLIENTS:
        loud = dict(enumerate(directions * (_LOUD * plan.noise[UPDATE].clip)))
        target.worlds(present, keys, watch, of_client, loud)
    else:
        target.worlds(present, keys, watch, of_record)
    return scores


def _evidence(heard: Vector, rate: float, std: float) -> Vector:
    """Log-likelihood ratio of each canary's presence in this sum, of which it would be a unit.

    `std` is what was planned or, where it is less, what was measured: such a bug is made the most of.
    """
    likely = (heard - 0.5) / max(std, 1e-6) ** 2
    evidence: Vector = likely
    if rate < 1.0:
        evidence = np.logaddexp(np.log1p(-rate), np.log(rate) + likely)
    return evidence
