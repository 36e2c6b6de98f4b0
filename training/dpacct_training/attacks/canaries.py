"""Canaries: units made to be detectable, which measure a run's leakage from outside.

A canary moves every release that it is in by its clip, along a direction of its own, which is the worst
that the bound allows; all releases are looked at. Each is there by a fair coin (Steinke et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import Settings, positive, real, setting, whole
from dpacct_training.algorithm import Arrays
from dpacct_training.attacks.worlds import CLIENTS, UPDATE, AttackedUnits, Rigged, Watch, coins
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys
from dpacct_training.noise import Gaussian, Noise, Vector
from dpacct_training.plan import Plan
from dpacct_training.run import Run

_LOUD = 1000.0  # canaries shout: the clip has to do its work


@dataclass(frozen=True, kw_only=True)
class Auditing(Settings):
    """The settings of an audit: so many `canaries`, in one run.

    `client`: whose records they are, if records it is. `weaken` divides the noise that is drawn, not the
    one that is accounted. Raises `InvalidArgument`.
    """

    canaries: int = 1000
    client: int = 0
    confidence: float = setting(0.95, real, 0.5, 1.0 - 1e-12)
    weaken: float = setting(1.0, positive)


def audit(
    prepared: Prepared, how: Auditing, *, keys: Keys | None = None, watch: Watch | None = None
) -> dp.Audit:
    """Audit a run by canaries. Raises `InvalidArgument` if there is nothing to audit."""
    target = AttackedUnits(prepared, how.client)
    account, plan = target.account, prepared.plan
    hides = not plan.noise or isinstance(plan.noise.get(UPDATE), Gaussian)
    if account is None or not hides:
        message = f"the algorithm of an audit must be a private one whose {UPDATE} hides in Gaussian noise"
        raise dp.InvalidArgument(f"{message}, got {prepared.algorithm.name}", argument="algorithm")
    target.sends_models()
    secret, count = prepared.keys() if keys is None else keys, how.canaries
    whole("canaries", count, 2, len(target.rows))
    present = np.ones((1, len(target.rows)), bool)
    present[:, :count] = coins(1, count, secret)
    rigged, directions = _rigged(target, count, secret)
    weak = _weaker(plan, how.weaken, how.client)
    rigged = replace(rigged, prepared=replace(rigged.prepared, plan=weak))
    return dp.audit(
        _heard(rigged, plan, present, directions, secret, watch),
        included=present[0, :count],
        delta=float(account.delta),
        confidence=how.confidence,
        design="one-run",
        against=account.plan,
    )


def _weaker(plan: Plan, factor: float, client: int) -> Plan:
    """The plan with `factor` times less noise, to test whether an audit notices."""

    def less(noise: Noise) -> Noise:
        if not isinstance(noise, Gaussian):
            message = f"weaken must be 1 where the noise is not Gaussian, got {factor:g}"
            raise dp.InvalidArgument(message, argument="weaken")
        return replace(noise, multiplier=noise.multiplier / factor)

    if factor == 1.0:
        return plan
    if not plan.records:
        return replace(plan, noise={**plan.noise, UPDATE: less(plan.noise[UPDATE])})
    records = plan.records[client]
    weak = replace(records, noise=less(records.noise), epsilon=None)  # as if it were not weak
    cohort = replace(plan.cohort, rounds=records.rounds(plan.cohort.rounds))
    return replace(plan, cohort=cohort, records={client: weak})


def _rigged(
    target: AttackedUnits, count: int, keys: Keys
) -> tuple[AttackedUnits, NDArray[np.float64]]:
    """Put canaries in the places of the first units; their directions, random and nearly orthogonal."""
    setting = target.prepared.setting
    model, federation = setting.model, setting.federation
    size = model.dimension
    rows = keys.stream("canary directions").normals(count * size).reshape(count, size)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    train = federation.train
    if target.unit != CLIENTS:
        y = train.y.copy()
        y[np.concatenate(target.rows[:count])] = train.classes + np.arange(count)
        train = replace(train, y=y, classes=train.classes + count)
    changed = replace(
        setting,
        model=Rigged.of(model, directions=rows),
        federation=replace(federation, train=train, read={}),
    )
    return replace(target, prepared=replace(target.prepared, setting=changed)), rows


def _heard(
    target: AttackedUnits,
    plan: Plan,
    present: NDArray[np.bool_],
    directions: NDArray[np.float64],
    keys: Keys,
    watch: Watch | None,
) -> Vector:
    """The score of each canary from the releases."""
    scores = np.zeros(len(directions))

    def of_client(world: int, run: Run, before: Arrays, released: Arrays) -> None:
        clip = run.algorithm.mechanisms(plan, before)[UPDATE].clip
        total = released[UPDATE] * float(plan.denominator) / clip
        planned = plan.noise[UPDATE].at(1.0).variance ** 0.5
        std = min(planned, float(total.std()))
        scores[:] += _evidence(directions @ total, float(plan.cohort.rate), std)

    def of_record(world: int, run: Run, before: Arrays, released: Arrays) -> None:
        if len(released["model"]):  # a step goes against the gradient
            scores[:] -= directions @ (released["model"][0] - before["weights"])

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
