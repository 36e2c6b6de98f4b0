"""The search for a split into near and far draws, with a contour for each number of far draws: no proof."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpacct.errors import NotCertified
from dpacct.pld.stable import Floats, log_peak

from .effort import SEARCH, spend
from .far_draws import SharpWindow, Split
from .floats import FloatLaw, FloatLaws, totals
from .plan import Laws, Step
from .proofs import FAR
from .rule import rules_to_json
from .rules import Wanted
from .search import Aim, Evidence, Place, propose_rules, searching

_WIDTHS = (0.25, 0.15)
_SHARES = (1.0, 0.94, 0.88, 0.82, 0.76, 0.7, 0.64, 0.58, 0.52, 0.46, 0.4, 0.34, 0.28, 0.22)
_MOST_FAR = 60
_TILTS = 90
_MOST_TRIED = 3
_FAR_OFF = 8.0  # nats
_SPARE = 76  # bits beyond those that the accuracy takes
_BOUND_NATS = 14.0
_DOUBLED = 2.0 ** np.arange(1.0, 17.0)
_PROVEN = 0.4  # about the share of the near draws' decay that is proven
_EACH_LINE = 400.0  # nodes that cost as much as a line's rules
_ENTRY = 4e-8  # seconds for a node and a tilt


def _log_ways(count: int, far: int) -> float:
    if far == 0:
        return 0.0
    if count > 10**6:
        return far * math.log(count) - math.lgamma(far + 1.0)
    return math.lgamma(count + 1.0) - math.lgamma(far + 1.0) - math.lgamma(count - far + 1.0)


@dataclass(frozen=True)
class _Term:
    """One number of far draws: its best tilt, and the log of the moment bound there."""

    far: int
    c: float
    height: float


class _Terms:
    """A split, in floats, at one epsilon."""

    def __init__(self, split: Split, others: FloatLaws, aim: Aim) -> None:
        self.split, self._aim, self._others = split, aim, others
        (near, _), (far, _), *_ = split.pieces(None)
        self._near, self._far = FloatLaw(near), FloatLaw(far)

    def _logs(self, cs: Floats) -> tuple[Floats, Floats, Floats]:
        """The logs of the moments of N, of F, and of all other laws together."""
        laws = (self._near, self._far, *(law for law, _ in self._others))
        spend(_ENTRY * sum(law.node_count for law in laws) * cs.size)
        rest = log_peak(cs) - cs * self._aim.epsilon
        for law, count in self._others:
            rest = rest + count * law.log_moments(cs)
        return self._near.log_moments(cs), self._far.log_moments(cs), rest

    def _heights(self, far: int, logs: tuple[Floats, Floats, Floats]) -> Floats:
        """Log of the moment bound, eq. (10), of one term."""
        near, hit, rest = logs
        value = _log_ways(self.split.count, far) + (self.split.count - far) * near + rest
        value = value + far * hit if far else value
        return np.where(np.isnan(value), np.inf, value)

    @cached_property
    def _scanned(self) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
        scale = 1.0 / max(self._aim.epsilon, 1e-12)
        tilts = np.geomspace(1e-2 * scale, 3e4 * scale, _TILTS)
        return tilts, self._logs(tilts)

    @cached_property
    def listed(self) -> list[_Term]:
        """Each number of far draws that matters; none where far draws are nothing rare."""
        terms: list[_Term] = []
        for far in range(1 if self.split.lone else min(_MOST_FAR, self.split.count + 1)):
            terms.append(self._best(far))
            peak = max(term.height for term in terms)
            if far > 1 and terms[-1].height < peak - self._aim.nats - 12.0:
                break
        return terms if len(terms) < _MOST_FAR else []

    def _best(self, far: int) -> _Term:
        tilts, logs = self._scanned
        for _ in range(2):
            values = self._heights(far, logs)
            k = int(np.argmin(values))
            term = _Term(far, float(tilts[k]), float(values[k]))
            tilts = np.geomspace(tilts[max(k - 1, 0)], tilts[min(k + 1, len(tilts) - 1)], 9)
            logs = self._logs(tilts)
        return term

    def place(self, term: _Term) -> Place:
        """The tilt of the line of one term."""
        count, far = self.split.count - term.far, term.far
        floats = [(self._near, count), (self._far, far), *self._others]
        floats = [(law, times) for law, times in floats if times]
        return Place(self.split.pieces(far), floats, totals(floats, term.c))


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

    terms: _Terms
    lines: list[tuple[_Term, Place, Aim]]
    bounds: list[_Term]

    @classmethod
    def of(cls, terms: _Terms, aim: Aim) -> _Choice:
        """Each term above the aim gets a line."""
        listed = terms.listed
        least = aim.log_delta - aim.nats - 3.0 - math.log(1.0 + len(listed))
        high = [term for term in listed if not term.height < least]
        nats = aim.nats + math.log(1.0 + len(high))
        lines = []
        for term in high:
            log_delta = aim.log_delta - _log_ways(terms.split.count, term.far)
            lines.append((term, terms.place(term), Aim(aim.epsilon, log_delta, nats)))
        return cls(terms, lines, [term for term in listed if term.height < least])

    @property
    def far(self) -> tuple[int, ...]:
        """The numbers of far draws whose terms have a line."""
        return tuple(term.far for term, _, _ in self.lines)

    @cached_property
    def work(self) -> float:
        """An estimate of the number of nodes of all lines and the cost of their rules."""
        counts = [_EACH_LINE + _nodes(self.terms.split, *line) for line in self.lines]
        return sum(counts) if counts else math.inf

    def proposed(self) -> Evidence:
        """The evidence for these lines."""
        split = self.terms.split
        bits = 128

        def loose(term: _Term, far: int | None) -> dict[str, Any]:
            """A tilt and rules for a bound."""
            nonlocal bits
            total = _BOUND_NATS + math.log(split.count)
            wanted = Wanted(term.c, term.c, term.c, total, split.count, _BOUND_NATS)
            rules, needed = propose_rules(split.pieces(far), wanted, _SPARE)
            bits = max(bits, needed)
            return {"c": term.c, "rules": rules_to_json(rules)}

        bounds = [{"far": term.far, **loose(term, term.far)} for term in self.bounds]
        all_terms = [*self.bounds, *(term for term, _, _ in self.lines)]
        rest = loose(max(all_terms, key=lambda term: term.far), None)
        lines: list[dict[str, Any]] = []
        for term, place, aim in self.lines:
            line = place.fitted(aim, spare=_SPARE, less=False)
            bits = max(bits, line["bits"])
            lines.append({"far": term.far, "contour": line["contour"], "rules": line["rules"]})
        return {
            "form": FAR,
            "which": split.which,
            "window": dict(vars(split.window)),
            "lines": lines,
            "bounds": bounds,
            "rest": rest,
            "bits": bits,
        }


def _nodes(split: Split, term: _Term, place: Place, aim: Aim) -> float:
    """About how many nodes a line has: near draws decay as they do in floats, far ones as eq. (23) has it."""
    c, t = place.total.c, place.step(aim)[0] * _DOUBLED
    window, mu, rate = split.window, math.sqrt(split.step.mu_squared), float(split.step.rate)
    near, count = place.floats[0]
    decays = _PROVEN * count * near.decays(c, t)
    hit = rate * math.exp(min(mu * (window.near - window.width) - 0.5 * mu * mu, 600.0))
    turn, lift = mu * hit / (1.0 - rate + hit), 0.5 * (1.0 + window.width**-2)
    y = np.minimum(0.5 * t * turn / lift, 1.4 / mu)
    decays += term.far * np.maximum(0.0, t * turn * y - lift * y * y)
    needed = place.total.height(aim.epsilon) - aim.log_delta + aim.nats
    enough = np.flatnonzero(decays > needed - np.log(t / c))
    return float(_DOUBLED[enough[0]]) if enough.size else math.inf


@dataclass
class FarSeeker:
    """The best split of one law of a plan near one epsilon."""

    laws: Laws
    float_laws: FloatLaws
    which: int
    log_delta: float | None

    def propose(self, epsilon: float, log_delta: float | None, nats: float) -> Iterator[Evidence]:
        """Evidence for splits, in order of increasing work."""
        with searching():
            choices = self._choices(epsilon, log_delta, nats)
        for choice in choices:
            with suppress(NotCertified):
                yield choice.proposed()

    def _choices(self, epsilon: float, log_delta: float | None, nats: float) -> list[_Choice]:
        """The windows with the least work, the best for each choice of numbers of far draws first."""
        expected = -700.0 if log_delta is None else log_delta
        splits: list[_Terms] = []
        for _ in range(3):
            aim = Aim(epsilon, expected, nats)
            splits = list(self._splits(aim))
            # each is a bound of delta, so the least is the best
            peaks = [max((t.height for t in terms.listed), default=math.inf) for terms in splits]
            peak = min(peaks, default=math.inf) - 2.0
            # but a bound says nothing of how far below it the truth is
            if abs(peak - expected) < _FAR_OFF or (peak > expected and log_delta is not None):
                break
            expected = peak if math.isfinite(peak) else expected
        choices = [_Choice.of(terms, Aim(epsilon, expected, nats)) for terms in splits]
        ranked = sorted(
            (c for c in choices if c.work < math.inf),
            key=lambda choice: (choice.work, -max(choice.far)),
        )
        seen: Counter[tuple[int, ...]] = Counter()
        order = []
        for choice in ranked:  # where one has no proof, another with the same terms rarely has
            order.append(seen[choice.far])
            seen[choice.far] += 1
        return [ranked[k] for k in sorted(range(len(ranked)), key=order.__getitem__)[:_MOST_TRIED]]

    def _splits(self, aim: Aim) -> Iterator[_Terms]:
        """Windows of many kinds, each in floats."""
        law, count = self.laws[self.which]
        others = [
            law_and_count for k, law_and_count in enumerate(self.float_laws) if k != self.which
        ]
        for width in _WIDTHS:
            end = _end(law, count, width, aim.log_delta - aim.nats - 2.0)
            for share in _SHARES:
                window = SharpWindow(round(share * end, 3), round(end, 3), width)
                if share == 1.0:
                    if width != _WIDTHS[0]:
                        continue
                    sharp = round(_end(law, count, 0.0, aim.log_delta - aim.nats - 2.0), 3)
                    window = SharpWindow(sharp, sharp, width)
                if law.symmetric and share < 1.0:
                    gap = window.near - 0.5 * math.sqrt(law.mu_squared)
                    least = math.sqrt(2.0 * (aim.nats + math.log(count) - aim.log_delta))
                    if gap < 0.05 * least:
                        continue
                    window = SharpWindow(window.near, window.end, min(width, round(gap / least, 4)))
                spend(SEARCH / 3.0)
                yield _Terms(Split(self.laws, self.which, window), others, aim)
