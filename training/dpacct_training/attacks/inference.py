"""Inference attacks: membership in the training data, an attribute of a person, the source of a record.

Membership is told from the released model. Some worlds are shadows, whose members the attacker knows;
some fix the thresholds; the rest are attacked, and no shadow or threshold has seen anything of them.

An attribute of a person is guessed from the others, the label and the model. Most of what such attacks
reach they reach without the model: so the same guess without it stands beside.

The source is the client that holds a record which is known to be somewhere (Hu et al. 2021). The attacker
sees each client's own messages, as the server does: only noise that clients draw hides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import one_of, real, whole
from dpacct_training.algorithm import Array
from dpacct_training.attacks.worlds import UPDATE, AttackedUnits, Presence, Watch, coins
from dpacct_training.data import sources
from dpacct_training.engines import WrappedEngine
from dpacct_training.keys import Keys
from dpacct_training.run import Run
from dpacct_training.site import Reply, Task

Scores = NDArray[np.float64]
"""(worlds, units): higher where the unit looks like a member."""
RATES = (0.001, 0.01, 0.1)
"""False positive rates at which attacks are compared, fixed before anything is seen."""
_GAMMA = 2.0  # RMIA: how much more likely than another sample
_LEAST = 1e-6  # spread of confidences that do not vary


def confidences(target: AttackedUnits, models: Array) -> tuple[Scores, Scores]:
    """log p / (1 - p) of the right class, mean over a unit's samples: of the units, and of strangers.

    Strangers are as many test samples as a unit has, which no world holds.
    """
    setting = target.prepared.setting
    train, test = setting.federation.train, setting.federation.test
    rows, most = target.rows, max(1, min(len(unit) for unit in target.rows))
    strangers = [np.arange(i, i + most) for i in range(0, len(test) - most + 1, most)]
    each = []
    for part, groups in ((train, rows), (test, strangers)):
        x, y = setting.samples(part)
        places = torch.from_numpy(np.concatenate([np.empty(0, np.int64), *groups]))
        x, y = x[places], y[places]
        ends = np.cumsum([0] + [len(group) for group in groups])
        signals = np.empty((len(models), len(groups)))
        for world, weights in enumerate(models.astype(np.float32)):
            with torch.no_grad():
                z = setting.model.scores(torch.from_numpy(weights), x).double()
            right = z.gather(1, y[:, None])[:, 0]
            others = z.scatter(1, y[:, None], -torch.inf).logsumexp(1)
            margins = np.append((right - others).numpy(), 0.0)
            signals[world] = np.add.reduceat(margins, ends[:-1]) / np.diff(ends)
        each.append(signals)
    return each[0], each[1]


@dataclass(frozen=True)
class Shadows:
    """Confidences of worlds whose members are known."""

    signals: Scores
    present: Presence
    strangers: Scores

    def side(self, there: bool) -> tuple[Scores, Scores]:
        """(mean, variance) of each unit's confidence over the worlds where it is there, or is not."""
        held = np.ma.array(self.signals, mask=self.present != there)
        mean = held.mean(axis=0).filled(self.signals.mean())
        # one spread for all units: few shadows tell little of each (Carlini et al. 2022, Section V-C)
        return mean, np.full_like(mean, max(_LEAST, float((held - mean).var())))

    def loss(self, signals: Scores, strangers: Scores) -> Scores:
        """The confidence itself, one threshold for all (Yeom et al. 2018)."""
        return signals

    def lira_online(self, signals: Scores, strangers: Scores) -> Scores:
        """log of the likelihood among members over that among others (Carlini et al. 2022, Algorithm 1)."""
        (inside, wide), (outside, broad) = self.side(True), self.side(False)
        square = (signals - outside) ** 2 / broad - (signals - inside) ** 2 / wide
        return 0.5 * (square + np.log(broad / wide))

    def lira_offline(self, signals: Scores, strangers: Scores) -> Scores:
        """Score the deviation from the worlds without the unit (the same paper, Section V-D)."""
        outside, broad = self.side(False)
        return (signals - outside) / np.sqrt(broad)

    def rmia(self, signals: Scores, strangers: Scores) -> Scores:
        """Share of strangers than which the unit gained more (Zarifzadeh et al. 2024, Equation 3)."""
        gain = _log_sigmoid(signals) - np.log(np.exp(_log_sigmoid(self.signals)).mean(axis=0))
        base = np.log(np.exp(_log_sigmoid(self.strangers)).mean(axis=0))
        other = np.sort(_log_sigmoid(strangers) - base, axis=1)
        above = [np.searchsorted(o, g - np.log(_GAMMA)) for o, g in zip(other, gain, strict=True)]
        # shares are few: ties are broken by the gain itself
        scores: Scores = np.array(above) / other.shape[1] + 1e-6 * np.tanh(gain)
        return scores


KINDS: dict[str, Callable[[Shadows, Scores, Scores], Scores]] = {
    "loss": Shadows.loss,
    "lira-online": Shadows.lira_online,
    "lira-offline": Shadows.lira_offline,
    "rmia": Shadows.rmia,
}


def _log_sigmoid(z: Scores) -> Scores:
    result: Scores = -np.logaddexp(0.0, -z)
    return result


@dataclass(frozen=True)
class Rate:
    """The attack at one false positive rate, by a threshold that was fixed on other worlds.

    `hits` and `false_alarms` are what was seen, `least` and `most` their ends at the confidence; `bound`:
    the largest true positive rate at `most` that the plan allows. Without information it is `most` too.
    """

    wanted: float
    hits: float
    least: float
    false_alarms: float
    most: float
    bound: float


@dataclass(frozen=True)
class Membership:
    """The result of a membership attack; `roc`: (false alarms, hits)."""

    kind: str
    unit: str
    pairs: int
    auc: float
    rates: tuple[Rate, ...]
    roc: tuple[Scores, Scores]
    curve: dp.auditing.Curve | None
    proven: dp.Answer | None
    confidence: float
    p_values: tuple[float, ...] = ()

    @property
    def alarm(self) -> bool:
        """Return whether the attack exceeds the plan's bound, so that something in the chain is wrong.

        By the chances of so many right guesses (`_chances`). Pairs of one world share its noise, so that
        Clopper and Pearson's ends are not exact for them; these are.
        """
        return any(p <= (1.0 - self.confidence) / len(self.p_values) for p in self.p_values)


def membership(
    target: AttackedUnits,
    kind: str,
    *,
    worlds: int = 96,
    keys: Keys,
    confidence: float = 0.999,
    watch: Watch | None = None,
) -> Membership:
    """Attack a quarter of `worlds` by the other three: two are shadows, one fixes the thresholds.

    Raises `InvalidArgument`.
    """
    attack = KINDS[one_of("kind", kind, KINDS)]
    whole("shadows", worlds, 8, 10**5)
    real("confidence", confidence, 0.5, 1.0 - 1e-12)
    units = len(target.rows)
    present = coins(worlds, units, keys)
    signals, strangers = confidences(target, target.worlds(present, keys, watch))
    fit, end = worlds // 2, worlds - worlds // 4
    shadows = Shadows(signals[:fit], present[:fit], strangers[:fit])
    scores = attack(shadows, signals[fit:], strangers[fit:])
    judge, truth = scores[: end - fit], present[fit:end]
    reached, members = scores[end - fit :].ravel(), present[end:].ravel()
    thresholds = [float(np.quantile(judge[~truth], 1.0 - rate, method="higher")) for rate in RATES]
    account = target.account
    curve = None if account is None else dp.auditing.Curve.of_plan(account.plan, points=97)
    level = 1.0 - (1.0 - confidence) / (2 * len(RATES))
    rates = [
        _rate(wanted, reached, at, members, curve, level)
        for wanted, at in zip(RATES, thresholds, strict=True)
    ]
    order = np.argsort(-reached, kind="stable")
    hits = np.cumsum(members[order]) / max(1, members.sum())
    alarms = np.cumsum(~members[order]) / max(1, (~members).sum())
    return Membership(
        kind=kind,
        unit=target.unit,
        pairs=len(members),
        auc=float(np.trapezoid(hits, alarms)),
        rates=tuple(rates),
        roc=(alarms, hits),
        proven=None if account is None else account.spent(account.times),
        curve=curve,
        confidence=confidence,
        p_values=() if curve is None else _chances(reached, members, curve),
    )


def _rate(
    wanted: float,
    scores: Scores,
    threshold: float,
    members: Presence,
    curve: dp.auditing.Curve | None,
    level: float,
) -> Rate:
    guessed = scores > threshold
    hits, missed = int((guessed & members).sum()), int((~guessed & members).sum())
    wrong, spared = int((guessed & ~members).sum()), int((~guessed & ~members).sum())
    most = dp.auditing.upper_rate(wrong, wrong + spared, level)
    bound = 1.0 if curve is None else 1.0 - curve.at(1.0 - most)
    return Rate(
        wanted=wanted,
        hits=hits / max(1, hits + missed),
        least=1.0 - dp.auditing.upper_rate(missed, hits + missed, level),
        false_alarms=wrong / max(1, wrong + spared),
        most=most,
        bound=bound,
    )


def _chances(scores: Scores, members: Presence, curve: dp.auditing.Curve) -> tuple[float, ...]:
    """The probability of this many right guesses under the plan's curve, for top scores and for all.

    How many are guessed is fixed beforehand. All worlds together are one run, in which the coin of a pair
    moves one world only, so that what holds for one run (Mahloujifar et al. 2025) holds for them.
    """
    ranked = members[np.argsort(-scores, kind="stable")]
    highest = [max(1, round(rate * len(ranked))) for rate in RATES]
    right = [int(ranked[:count].sum()) for count in highest]
    half = len(ranked) // 2
    both = int(ranked[:half].sum()) + int((~ranked[half:]).sum())
    looks = [*zip(highest, right, strict=True), (len(ranked), both)]
    test = dp.auditing.one_run_f_p_value
    return tuple(test(curve, len(ranked), guesses, right) for guesses, right in looks)


Table = NDArray[np.float64]
Seen = tuple[tuple[Table, Table], NDArray[np.int64]]
"""((other inputs and label, the same with what the model says), the attribute) of some people."""


@dataclass(frozen=True)
class Attribute:
    """Shares of right guesses, for people in the training data and for others.

    Of the `majority`'s value; from the other inputs (`imputed`); from these and the `model`; and the
    last for people whom the model has not seen (`strangers`). `spread`: standard error of a share. What
    the attack adds is model less imputed, and what training adds to that is model less strangers.
    """

    name: str
    people: int
    majority: float
    imputed: float
    model: float
    strangers: float
    spread: float


def attribute(
    target: AttackedUnits, name: str, *, people: int = 2000, keys: Keys, watch: Watch | None = None
) -> Attribute:
    """Guess the attribute from the last model of a run; the attacker learns from half of the test set.

    Raises `InvalidArgument` where the data have no such attribute.
    """
    setting = target.prepared.setting
    train, test = setting.federation.train, setting.federation.test
    catalogue = sources.by_name()
    places = catalogue[train.name].attributes if train.name in catalogue else {}
    if not places:
        message = f"data must be one with attributes (adult) for kind attribute, got {train.name}"
        raise dp.InvalidArgument(message, argument="kind")
    where = slice(*places[one_of("attribute", name, sorted(places))])
    half = whole("people", people, 10, len(test) // 2)
    everyone = np.ones((1, len(target.rows)), bool)
    flat = torch.from_numpy(target.worlds(everyone, keys, watch)[0].astype(np.float32))
    members = np.concatenate(target.rows)[:half]

    def seen(samples: Any, rows: NDArray[np.int64]) -> Seen:
        """The inputs without the attribute, with the model's output for each of its values."""
        x, y = samples[0][rows], samples[1][rows]
        truth = x[:, where].argmax(1).numpy()
        others = x.clone()
        others[:, where] = x.min()
        results = []
        for value in range(where.stop - where.start):
            guess = others.clone()
            guess[:, where.start + value] = x.max()
            with torch.no_grad():
                loss = torch.nn.functional.cross_entropy(
                    setting.model.scores(flat, guess), y, reduction="none"
                )
            results.append(loss.numpy())
        features = np.hstack([others.numpy(), np.eye(train.classes)[y.numpy()]])
        return (features, np.hstack([features, np.stack(results, axis=1)])), truth

    teach = seen(setting.samples(test), np.arange(half, 2 * half))
    inside = seen(setting.samples(train), members)
    outside = seen(setting.samples(test), np.arange(half))

    def right(column: int, asked: Seen) -> float:
        guesses = _guess(teach[0][column], teach[1], asked[0][column])
        return float((guesses == asked[1]).mean())

    model = right(1, inside)
    return Attribute(
        name=name,
        people=len(members),
        majority=float((inside[1] == np.bincount(teach[1]).argmax()).mean()),
        imputed=right(0, inside),
        model=model,
        strangers=right(1, outside),
        spread=(model * (1.0 - model) / len(members)) ** 0.5,
    )


def _guess(x: Table, truth: NDArray[np.int64], asked: Table) -> NDArray[np.int64]:
    """Ridge regression on each value, in closed form."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    a, b = (np.hstack([(v - mean) / scale, np.ones((len(v), 1))]) for v in (x, asked))
    weights = np.linalg.solve(a.T @ a + np.eye(a.shape[1]), a.T @ np.eye(truth.max() + 1)[truth])
    guesses: NDArray[np.int64] = (b @ weights).argmax(axis=1)
    return guesses


@dataclass(frozen=True)
class Origins:
    """`right`: share of records attributed to the right client, at least `least`; guessing gives `guess`."""

    records: int
    clients: int
    right: float
    least: float
    guess: float


@dataclass
class Overhearing(WrappedEngine):
    """`inner`, with the models that clients send kept as they come."""

    models: dict[int, NDArray[np.float32]]

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The inner engine's replies."""
        start = tasks[0].sent.get("weights", 0.0) if tasks else 0.0
        for reply in self.inner.ask(tasks):
            if reply.summed:  # a sum does not reveal its senders
                yield reply
                continue
            rows = reply.rows["model"] if "model" in reply.rows else start + reply.rows[UPDATE]
            self.models |= dict(zip(reply.clients, rows.astype(np.float32), strict=True))
            yield reply


def origins(
    target: AttackedUnits,
    records: int = 1000,
    *,
    keys: Keys,
    confidence: float = 0.999,
    watch: Watch | None = None,
) -> Origins:
    """Name the client whose model has the smallest loss, the mean over the rounds it took part in.

    Raises `InvalidArgument` where clients send no models.
    """
    prepared, setting = target.prepared, target.prepared.setting
    held = setting.federation.clients
    owner = np.concatenate([np.full(len(rows), client) for client, rows in enumerate(held)])
    whole("records", records, 10)
    level = real("confidence", confidence, 0.5, 1.0 - 1e-12)
    target.sends_models()
    some = keys.generator("records").permutation(len(owner))[:records]
    asked, truth = np.concatenate(held)[some], owner[some]
    x, y = (part[torch.from_numpy(asked)] for part in setting.samples(setting.federation.train))
    losses, rounds = np.zeros((len(held), len(asked))), np.zeros(len(held))
    run = Run(prepared.algorithm, prepared.plan, setting, keys)
    with closing(Overhearing(prepared.engine.start(prepared, None), {})) as engine:
        for round in range(1, prepared.cohort.rounds + 1):
            engine.models.clear()
            run.step(engine, round)
            heard = sorted(engine.models)
            with torch.no_grad():
                scores = [
                    setting.model.scores(torch.from_numpy(engine.models[c]), x) for c in heard
                ]
                each = [torch.nn.functional.cross_entropy(z, y, reduction="none") for z in scores]
            if heard:  # beside the others of the round: later models are better for every record
                losses[heard] += (result := torch.stack(each).double().numpy()) - result.mean(
                    axis=0
                )
                rounds[heard] += 1.0
            if watch is not None:
                watch(round, prepared.cohort.rounds)
    mean = np.where(rounds[:, None] > 0, losses / np.maximum(rounds, 1.0)[:, None], np.inf)
    right = int((mean.argmin(axis=0) == truth).sum())
    count = len(asked)
    return Origins(
        records=count,
        clients=len(held),
        right=right / count,
        least=1.0 - dp.auditing.upper_rate(count - right, count, level),
        guess=1.0 / len(held),
    )
