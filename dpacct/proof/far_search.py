"""Where to split a law into near and far draws, and a contour for each number of far draws: no proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.stable import Floats

from .balls import precision
from .effort import SEARCH, line_cost, rule_cost, spend
from .far_draws import FORM, FarDraws, Split
from .floats import FloatLaws, log_payoff_peak
from .line import Line
from .plan import Laws
from .rule import Rules, rules_to_json
from .rules import Wanted
from .search import Aim, Evidence, Vertical, fitted, period_for, propose_rules, searching
from .split_floats import SplitFloats
from .step import Step
from .window import Window

_WIDTHS = (0.25, 0.15)
_SHARES = (1.0, 0.94, 0.88, 0.82, 0.76, 0.7, 0.64, 0.58, 0.52, 0.46, 0.4, 0.34, 0.28, 0.22)
_SHIFTS = np.array([0.01, 0.03, 0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.95, 1.5, 2.5])
_MOST_FAR = 60
_TILTS = 90
_MOST_TRIED = 3
_FAR_OFF = 8.0  # nats
_SPARE = 76  # bits beyond those that the accuracy takes
_BOUND_NATS = 14.0


def _log_ways(count: int, far: int) -> float:
    if far == 0:
        return 0.0
    if count > 10**6:
        return far * math.log(count) - math.lgamma(far + 1.0)
    return math.lgamma(count + 1.0) - math.lgamma(far + 1.0) - math.lgamma(count - far + 1.0)


@dataclass(frozen=True)
class _Term:
    """One number of far draws: its best tilt, and how high it is there."""

    far: int
    c: float
    height: float  # log of the moment bound
    step: float
    up: float
    down: float
    work: float  # seconds, about


class Terms:
    """A split, in floats, at one epsilon."""

    def __init__(
        self, split: Split, floats: SplitFloats, others: FloatLaws, epsilon: float
    ) -> None:
        self.split, self.floats, self.epsilon = split, floats, epsilon
        self.count = split.count
        self._others = others
        self._found: list[tuple[int, float, float]] | None = None

    def logs(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """log N, log F, and of all other laws together."""
        near, far = self.floats.logs(cs)
        rest = np.zeros(cs.shape)
        if self._others:
            for law, count in self._others:
                rest += count * law.log_moments(cs)
        return near, far, rest

    def heights(self, far: int, cs: Floats, logs: tuple[Floats, Floats, Floats]) -> Floats:
        """Log of the moment bound, eq. (10), of one term."""
        near, hit, rest = logs
        value = _log_ways(self.count, far) + (self.count - far) * near + rest
        value = value + (far * hit if far else 0.0) - cs * self.epsilon + log_payoff_peak(cs)
        return np.where(np.isnan(value), np.inf, value)

    def _tops(self, nats: float) -> list[tuple[int, float, float]]:
        """Each number of far draws with its best tilt, and the bound there."""
        if self._found is None:
            scale = 1.0 / max(self.epsilon, 1e-12)
            tilts = np.geomspace(1e-2 * scale, 3e4 * scale, _TILTS)
            logs = self.logs(tilts)
            self._found = []
            peak = -math.inf
            for far in range(1 if self.split.lone else min(_MOST_FAR, self.count + 1)):
                values = self.heights(far, tilts, logs)
                k = int(np.argmin(values))
                c, height = self._refined(far, tilts, k, float(values[k]))
                self._found.append((far, c, height))
                peak = max(peak, height)
                if far > 1 and height < peak - nats - 12.0:
                    break
            else:
                if len(self._found) == _MOST_FAR:  # far draws are nothing rare here
                    self._found = []
        return self._found

    def peak(self, nats: float) -> float:
        """Log of the largest bound."""
        return max((height for _, _, height in self._tops(nats)), default=math.inf)

    def all(self, log_delta: float, nats: float) -> tuple[list[_Term], list[_Term]]:
        """Terms that need a line, and terms that a bound settles."""
        lines, bounds = [], []
        tops = self._tops(nats)
        for far, c, height in tops:
            if height < log_delta - nats - 3.0 - math.log(1.0 + len(tops)):
                bounds.append(_Term(far, c, height, 0.0, 0.0, 0.0, 0.0))
            else:
                lines.append(self._line(far, c, height, log_delta, nats))
        return lines, bounds

    def _refined(self, far: int, tilts: Floats, k: int, height: float) -> tuple[float, float]:
        ends = tilts[max(k - 1, 0)], tilts[min(k + 1, len(tilts) - 1)]
        cs = np.geomspace(*ends, 9)
        values = self.heights(far, cs, self.logs(cs))
        j = int(np.argmin(values))
        return (float(cs[j]), float(values[j])) if values[j] < height else (float(tilts[k]), height)

    def _line(self, far: int, c: float, height: float, log_delta: float, nats: float) -> _Term:
        """h and the shifts of eq. (2), and about how many nodes there will be."""

        def bounds(tilts: Floats) -> Floats:
            return self.heights(far, tilts, self.logs(tilts))

        aim = Aim(self.epsilon, log_delta, nats)
        period, up, down = period_for(bounds, c, c * _SHIFTS, c * _SHIFTS[:9], aim)
        step = 2.0 * math.pi / period
        needed = height - log_delta + nats
        count = self._nodes(far, c, needed, step)
        bits = 64.0 + 1.5 * needed
        inner = self._inner(c + up, count * step, needed)
        if math.sqrt(count) * inner > 1e6:
            return _Term(far, c, height, step, up, down, math.inf)
        work = rule_cost(3 * int(inner), int(bits)) + line_cost(
            int(inner), int(count), 2, int(bits)
        )
        return _Term(far, c, height, step, up, down, work)

    def _inner(self, c: float, frequency: float, nats: float) -> float:
        """About how many nodes the inner rules have."""
        floats, window = self.floats, self.split.window
        if not (window.lone or floats.symmetric):
            return 7.0 * (nats + 40.0)
        hit = floats.rate * math.exp(min(floats.mu * window.near, 600.0))
        pull = 2.0 * floats.mu * min(1.0, hit / (1.0 - floats.rate)) * (frequency + 0.2 * c) + 0.5
        return (window.end + 15.0) / min(1.2, 18.0 / pull) * (nats + 60.0) / 2.8

    def _nodes(self, far: int, c: float, needed: float, step: float) -> float:
        window = self.split.window
        t = step * 2.0 ** np.arange(1, 17)
        near, _ = self.floats.logs(np.array([c]))
        decays = 0.4 * (self.count - far) * self.floats.near_decay(c, float(near[0]), t)
        if far:
            loss = self.floats.mu * (window.near - window.width) - 0.5 * self.floats.mu**2
            hit = self.floats.rate * math.exp(min(loss, 600.0))
            turn = self.floats.mu * hit / (1.0 - self.floats.rate + hit)
            lift = 0.5 * (1.0 + window.width**-2)
            y = np.minimum(0.5 * t * turn / lift, 1.4 / self.floats.mu)
            decays = decays + far * np.maximum(0.0, t * turn * y - lift * y * y)
        ok = decays > needed - np.log(t / c)
        return float(t[int(np.argmax(ok))] / step) if bool(ok.any()) else 1e9


def _end(law: Step, count: int, width: float, log_least: float) -> float:
    """Draws beyond it have less than so much mass, all together."""
    from scipy.special import log_ndtr

    mu, rate = math.sqrt(law.mu_squared), float(law.rate)
    x = np.linspace(1.0, 80.0 + mu, 8000)
    spread = math.sqrt(1.0 + width * width)  # 1 for a sharp end
    plain, hit = log_ndtr(-x / spread), log_ndtr((mu - x) / spread)
    mass = np.logaddexp(math.log1p(-rate) + plain, math.log(rate) + hit) + math.log(count)
    ok = mass < log_least
    if not ok.any():
        raise NotCertified("draws of the noise are too far out: the value is withheld")
    return float(x[int(np.argmax(ok))])


@dataclass(frozen=True)
class _Choice:
    """A split: what needs a line, what a bound settles, and about log delta."""

    terms: Terms
    lines: list[_Term]
    bounds: list[_Term]
    log_delta: float


@dataclass
class FarSeeker:
    """The best split of one law of a plan near one epsilon."""

    laws: Laws
    float_laws: FloatLaws
    which: int
    log_delta: float | None

    def propose(
        self, epsilon: float, log_delta: float | None, nats: float
    ) -> tuple[Evidence, FarDraws]:
        """The evidence of a split, and what it proves."""
        aim = Aim(epsilon, 0.0, nats)
        with searching():
            choices = self.choose(aim, log_delta)
        failure = NotCertified("no split into near and far draws was found: the value is withheld")
        for choice in choices:
            try:
                return _proposed(choice, aim)
            except NotCertified as error:
                failure = error
        raise failure

    def choose(self, aim: Aim, log_delta: float | None) -> list[_Choice]:
        """The windows with the least work."""
        expected = -700.0 if log_delta is None else log_delta
        stated = log_delta is not None
        splits: list[Terms] = []
        for _ in range(3):
            splits = list(self._splits(aim, expected))
            # each is a bound of delta, so the least is the best
            peak = min((terms.peak(aim.nats) for terms in splits), default=math.inf) - 2.0
            # but a bound says nothing of how far below it the truth is
            if abs(peak - expected) < _FAR_OFF or (peak > expected and stated):
                break
            expected = peak if math.isfinite(peak) else expected
        choices: list[tuple[float, int, _Choice]] = []
        for k, terms in enumerate(splits):
            lines, bounds = terms.all(expected, aim.nats)
            work = sum(term.work for term in lines) if lines else math.inf
            if work < math.inf:
                choices.append((work, k, _Choice(terms, lines, bounds, expected)))
        return [choice for _, _, choice in sorted(choices)[:_MOST_TRIED]]

    def _splits(self, aim: Aim, target: float) -> Iterator[Terms]:
        """Windows of many kinds, each in floats."""
        law, count = self.laws[self.which]
        others = [
            law_and_count for k, law_and_count in enumerate(self.float_laws) if k != self.which
        ]
        for width in _WIDTHS:
            end = _end(law, count, width, target - aim.nats - 2.0)
            for share in _SHARES:
                window = Window(round(share * end, 3), round(end, 3), width)
                if share == 1.0:
                    if width != _WIDTHS[0]:
                        continue
                    sharp = round(_end(law, count, 0.0, target - aim.nats - 2.0), 3)
                    window = Window(sharp, sharp, width)
                if law.symmetric and share < 1.0:
                    gap = window.near - 0.5 * math.sqrt(law.mu_squared)
                    least = math.sqrt(2.0 * (aim.nats + math.log(count) - target))
                    if gap < 0.05 * least:
                        continue
                    window = Window(window.near, window.end, min(width, round(gap / least, 4)))
                spend(SEARCH / 3.0)
                floats = SplitFloats(law, window)
                yield Terms(Split(self.laws, self.which, window), floats, others, aim.epsilon)


def _wanted(terms: Terms, term: _Term, nats: float, log_delta: float) -> Wanted:
    cancelled = max(0.0, term.height - float(log_payoff_peak(np.array([term.c]))[0]) - log_delta)
    count = terms.count
    total = nats + cancelled + math.log(count) + 3.0
    return Wanted(
        term.c, max(term.c - term.down, 1e-3 * term.c), term.c + term.up, total, count, nats
    )


def _proposed(choice: _Choice, aim: Aim) -> tuple[Evidence, FarDraws]:
    terms, split = choice.terms, choice.terms.split
    aim = Aim(aim.epsilon, choice.log_delta, aim.nats + math.log(1.0 + len(choice.lines)))
    lines: list[dict[str, Any]] = []
    bits = 128

    def loose(term: _Term, far: int | None) -> tuple[float, Rules]:
        """A tilt and rules for a bound."""
        nonlocal bits
        total = _BOUND_NATS + math.log(terms.count)
        wanted = Wanted(term.c, term.c, term.c, total, terms.count, _BOUND_NATS)
        rules, needed = propose_rules(split.pieces(far), wanted, _SPARE)
        bits = max(bits, needed)
        return term.c, rules

    settled = {term.far: loose(term, term.far) for term in choice.bounds}
    rest = loose(max((*choice.lines, *choice.bounds), key=lambda term: term.far), None)
    built: dict[int, Line] = {}
    for term in choice.lines:
        height = term.height - float(log_payoff_peak(np.array([term.c]))[0])
        at = Vertical(term.c, term.step, term.up, term.down, height)
        wanted = _wanted(terms, term, aim.nats, aim.log_delta)
        pieces = split.pieces(term.far)
        fit = fitted(pieces, wanted, aim, at, spare=_SPARE, less=False)
        bits, built[term.far] = max(bits, fit.bits), fit.line
        lines.append({"far": term.far, **fit.to_json()})
    evidence = {
        "form": FORM,
        "which": split.which,
        "window": asdict(split.window),
        "lines": lines,
        "bounds": [{"far": far, **_told(bound)} for far, bound in settled.items()],
        "rest": _told(rest),
        "bits": bits,
    }
    with precision(bits):
        return evidence, FarDraws(split, built, settled, rest)


def _told(bound: tuple[float, Rules]) -> dict[str, Any]:
    return {"c": bound[0], "rules": rules_to_json(bound[1])}
