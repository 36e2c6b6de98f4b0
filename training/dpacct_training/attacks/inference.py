"""Inference attacks: membership in the training data, and an attribute of a person.

Membership is told from the released model. Some worlds are shadows, whose members the attacker knows;
some fix the thresholds; the rest are attacked, and no shadow or threshold has seen anything of them.

An attribute of a person is guessed from the others, the label and the model. Most of what such attacks
reach they reach without the model: so the same guess without it stands beside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import one_of, real, whole
from dpacct_training.algorithm import Array
from dpacct_training.attacks.worlds import (
    AttackedUnits,
    AttackResult,
    Presence,
    Table,
    Watch,
    coins,
    percent,
)
from dpacct_training.data import sources
from dpacct_training.keys import Keys

Scores = NDArray[np.float64]
"""(worlds, units): higher where the unit looks like a member."""
RATES = (0.001, 0.01, 0.1)
"""False positive rates at which attacks are compared, fixed before anything is seen."""
_LEAST = 1e-6  # spread of confidences that do not vary
_GRID = np.geomspace(1e-4, 1.0, 40)
"""False alarms at which a curve is drawn and told."""


def confidences(target: AttackedUnits, models: Array) -> Scores:
    """log p / (1 - p) of the right class, mean over a unit's samples."""
    setting, groups = target.prepared.setting, target.rows
    x, y = setting.samples(setting.federation.train)
    places = torch.from_numpy(np.concatenate(groups))
    x, y = x[places], y[places]
    sizes = np.array([len(group) for group in groups])
    begins = np.cumsum(sizes) - sizes
    signals = np.empty((len(models), len(groups)))
    for world, weights in enumerate(models.astype(np.float32)):
        with torch.no_grad():
            z = setting.model.scores(torch.from_numpy(weights), x).double()
        right = z.gather(1, y[:, None])[:, 0]
        others = z.scatter(1, y[:, None], -torch.inf).logsumexp(1)
        signals[world] = np.add.reduceat((right - others).numpy(), begins) / sizes
    return signals


@dataclass(frozen=True)
class Shadows:
    """Confidences of worlds whose members are known."""

    signals: Scores
    present: Presence

    def side(self, there: bool) -> tuple[Scores, Scores]:
        """(mean, variance) of each unit's confidence over the worlds where it is there, or is not."""
        held = np.ma.array(self.signals, mask=self.present != there)
        mean = held.mean(axis=0).filled(self.signals.mean())
        # one spread for all units: few shadows tell little of each (Carlini et al. 2022, Section V-C)
        return mean, np.full_like(mean, max(_LEAST, float((held - mean).var())))

    def loss(self, signals: Scores) -> Scores:
        """The confidence itself, one threshold for all (Yeom et al. 2018)."""
        return signals

    def lira_online(self, signals: Scores) -> Scores:
        """log of the likelihood among members over that among others (Carlini et al. 2022, Algorithm 1)."""
        (inside, wide), (outside, broad) = self.side(True), self.side(False)
        square = (signals - outside) ** 2 / broad - (signals - inside) ** 2 / wide
        return 0.5 * (square + np.log(broad / wide))

    def lira_offline(self, signals: Scores) -> Scores:
        """Score the deviation from the worlds without the unit (the same paper, Section V-D)."""
        outside, broad = self.side(False)
        return (signals - outside) / np.sqrt(broad)


KINDS: dict[str, Callable[[Shadows, Scores], Scores]] = {
    "loss": Shadows.loss,
    "lira-online": Shadows.lira_online,
    "lira-offline": Shadows.lira_offline,
}


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
class Membership(AttackResult):
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

    def table(self) -> Table:
        """A row for each false positive rate."""
        head = ("false alarms", "hits", "at least", "proven at most", "guessing", "AUC")
        return head, [
            (
                f"{percent(r.false_alarms)} (< {percent(r.most)})",
                *map(percent, (r.hits, r.least, r.bound, r.most)),
                f"{self.auc:.3f}",
            )
            for r in self.rates
        ]

    def values(self) -> dict[str, Any]:
        """Return JSON values; the curve at some places only."""
        plain = {key: value for key, value in vars(self).items() if key != "curve"}
        x, y = (np.interp(_GRID, self.roc[0], axis).tolist() for axis in self.roc)
        proven = None if self.proven is None else self.proven.to_dict()
        rates = [asdict(rate) for rate in self.rates]
        return {**plain, "rates": rates, "roc": [x, y], "alarm": self.alarm, "proven": proven}

    def pictures(self) -> tuple[tuple[str, str], ...]:
        """The attack's curve."""
        caption = "Members found by others taken for members; the shaded part is proved impossible."
        return ((self.chart().to_svg(), caption),)

    def chart(self) -> dp.plots.Chart:
        """The attack's curve, with what the plan forbids shaded."""
        plot = dp.plots
        reached = np.interp(_GRID, *self.roc).clip(_GRID[0])
        lines = [
            plot.Line("attack", f"attack {self.kind}", reached),
            plot.Line("guessing", "guessing", _GRID),
        ]
        bands: tuple[plot.Band, ...] = ()
        title = f"The attack's area under the curve is {self.auc:.3f}; guessing has 0.500"
        if self.curve is not None:
            bound = np.array([1.0 - self.curve.at(1.0 - a) for a in _GRID]).clip(_GRID[0], 1.0)
            lines.append(plot.Line("bound", "proved to be at most", bound, dp.Strength.BOUND))
            bands = (plot.Band(bound, np.ones(len(bound)), "proved impossible", "#D55E00"),)
        x = plot.Axis("false_positive_rate", "false positive rate", log=True)
        y = plot.Axis("true_positive_rate", "true positive rate", log=True)
        return plot.Chart("", x, y, _GRID, tuple(lines), title, bands=bands)


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
    signals = confidences(target, target.worlds(present, keys, watch))
    fit, end = worlds // 2, worlds - worlds // 4
    shadows = Shadows(signals[:fit], present[:fit])
    scores = attack(shadows, signals[fit:])
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


Features = NDArray[np.float64]
Seen = tuple[tuple[Features, Features], NDArray[np.int64]]
"""((other inputs and label, the same with what the model says), the attribute) of some people."""


@dataclass(frozen=True)
class Attribute(AttackResult):
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

    def table(self) -> Table:
        """One row of shares."""
        head = ("attribute", "majority", "imputed", "with the model", "of strangers", "±")
        shares = (self.majority, self.imputed, self.model, self.strangers, self.spread)
        return head, [(self.name, *map(percent, shares))]

    def values(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


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


def _guess(x: Features, truth: NDArray[np.int64], asked: Features) -> NDArray[np.int64]:
    """Ridge regression on each value, in closed form."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    a, b = (np.hstack([(v - mean) / scale, np.ones((len(v), 1))]) for v in (x, asked))
    weights = np.linalg.solve(a.T @ a + np.eye(a.shape[1]), a.T @ np.eye(truth.max() + 1)[truth])
    guesses: NDArray[np.int64] = (b @ weights).argmax(axis=1)
    return guesses
