"""Theorem 17: labels of voted queries proved, against quadrature and every neighbour by itself."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import pytest
from flint import acb, arb

import dpacct as dp
from dpacct.errors import NotCertified
from dpacct.plan import certified
from dpacct.proof.balls import ball, precision
from dpacct.proof.law import Law, read
from dpacct.voting import proved
from dpacct.voting.argmax import CountNoise, GaussianNoise, LaplaceNoise, Screening
from dpacct.voting.proved import Label, chances, dominating
from dpacct.voting.votes import Level

BITS = 192
TINY = 1e-20
Outcomes = list[tuple[arb, arb]]
NOISES = GaussianNoise(Fraction(3)), GaussianNoise(Fraction(2, 5)), LaplaceNoise(Fraction(5, 2))
COUNTS = (4, 1), (7, 7, 2), (5, 3, 3, 0)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """What a spoilt program computed is not kept."""
    proved.chances.cache_clear()
    proved._table.cache_clear()


@cache
def by_quadrature(noise: CountNoise, counts: tuple[int, ...]) -> list[arb]:
    """Chances of each class by FLINT's integrator, from the noise's density and distribution function."""
    normal = isinstance(noise, GaussianNoise)
    scale = ball(noise.sigma if isinstance(noise, GaussianNoise) else noise.b)  # type: ignore[attr-defined]
    ends = sorted(set(counts))
    reach = 16 if normal else 110
    edges = [arb(ends[0]) - reach * scale, *map(arb, ends), arb(ends[-1]) + reach * scale]

    def shifted(z: acb, low: bool) -> tuple[acb, acb]:
        """Density and distribution function; `low`: left of the count, where Laplace noise rises."""
        if normal:
            density = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
            return density, (-z / arb(2).sqrt()).erfc() / 2
        half = (z if low else -z).exp() / 2
        return half, half if low else 1 - half

    def integral(j: int) -> arb:
        total = acb(0)
        for start, end in pairwise(edges):

            def density(t: acb, analytic: bool, end: arb = end) -> acb:
                value = acb(1) / scale
                for i, n in enumerate(counts):
                    value *= shifted((t - n) / scale, bool(end <= n))[i != j]
                return value

            total += acb.integral(density, acb(start), acb(end), rel_tol=arb(2) ** -90)
        return total.real

    return [integral(j) for j in range(len(counts))]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_chances_hold_quadrature(noise: CountNoise, counts: tuple[int, ...]) -> None:
    with precision(BITS):
        balls = chances(noise, counts, BITS)
        for value, truth in zip(balls, by_quadrature(noise, counts), strict=True):
            assert truth.rel_accuracy_bits() > 60
            assert abs(value - truth) < arb("1e-24") * value + arb("1e-45")
            assert value.rel_accuracy_bits() > 80
        assert sum(balls, arb(0)).overlaps(arb(1))


def laws(label: Label) -> list[Law]:
    """Of every neighbour by itself."""
    stated = label._law(label.counts)
    pairs = [(stated, label._law(there)) for there in label.neighbours]
    if not label.votes_first:
        pairs = [(q, p) for p, q in pairs]
    return [read(proved._pair([*zip(p, q, strict=True)])) for p, q in pairs]


SCREENED = Screening(Fraction(5), Fraction(2))
LABELS = [
    Label(noise, screening, Level(level), counts, change, first)
    for noise, counts in zip(NOISES, COUNTS, strict=True)
    for screening in (None, SCREENED)
    for level, change in (("agent", "joins"), ("agent", "leaves"), ("instance", "moves"))
    for first in (True, False)
]
EPSILONS = (-1.0, -0.1, 0.0, 0.003, 0.05, 0.2, 0.7, 1.5)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: f"{label.noise.name} {label.change}")
def test_the_pair_of_a_label_is_the_largest_of_its_neighbours(label: Label) -> None:
    with precision(BITS):
        bound, each = read(label()), laws(label)
        for epsilon in map(arb, EPSILONS):
            most = max((law.one_step(epsilon) for law in each), key=arb.mid)
            value = bound.one_step(epsilon)
            assert not value < most
            assert value - most < arb("1e-20")


def test_without_a_neighbour_the_pair_bounds_nothing() -> None:
    label = LABELS[4]
    with precision(BITS):
        stated = label._law(label.counts)
        pairs = [(stated, label._law(there)) for there in label.neighbours]
        missed = 0
        for k in range(len(pairs)):
            bound = read(dominating(pairs[:k] + pairs[k + 1 :]))
            law = read(proved._pair([*zip(*pairs[k], strict=True)]))
            missed += any(bound.one_step(arb(e)) < law.one_step(arb(e)) for e in EPSILONS)
        assert missed


# --- sabotage


NOISE, THREE = GaussianNoise(Fraction(3)), (5, 3, 3, 0)


def spoilt(share: float, bits: int = BITS) -> bool:
    """Whether a rule of a wider step, or a shorter one, misses what the rule has at its best."""
    with precision(2 * BITS):
        truth = chances(NOISE, THREE, 2 * BITS)
    with pytest.MonkeyPatch.context() as patch, precision(bits):
        patch.setattr(proved, "_SHARE", share)
        proved._table.cache_clear()
        values = proved._of_normal(NOISE.sigma, THREE, bits)
    return not all(a.overlaps(b) for a, b in zip(truth, values, strict=True))


def test_without_the_error_of_its_step_the_rule_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not spoilt(0.05)
    real = proved._Table.__init__

    def exact(self: proved._Table, sigma: Fraction, classes: int, bits: int) -> None:
        real(self, sigma, classes, bits)
        self.error = arb(0)

    monkeypatch.setattr(proved._Table, "__init__", exact)
    monkeypatch.setattr(proved, "_SPARE", 60.0)
    assert spoilt(0.05)


def test_without_what_follows_the_last_node_the_rule_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proved, "_SPARE", -55.0)
    assert not spoilt(0.35)
    monkeypatch.setattr(proved, "_rest", lambda before, last: arb(0))
    assert spoilt(0.35)


def test_without_slack_corners_are_below_their_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line through midpoints alone is not shown to bound the points."""
    with precision(BITS):
        LABELS[0]()
        monkeypatch.setattr(proved, "_SHARE", 4.0)
        with pytest.raises(NotCertified):
            LABELS[0]()


# --- plans


PLANS = [
    dp.GNMax(sigma=2, level="agent").on([[6, 1, 1], [3, 4, 2]]),
    dp.GNMax(sigma=3).on([[6, 1, 1], [3, 4, 2], [6, 1, 1]]),
    dp.LNMax(b=3).on([[6, 1, 1], [3, 4, 2]]),
    dp.LNMax(b="2.5", level="agent").on([[5, 2], [2, 5], [4, 3]]),
    dp.GNMax(sigma=3, threshold=4, threshold_sigma=2).on([[6, 1, 1], [3, 4, 2]]),
]


def sequences(plan: dp.Node) -> list[list[list[Outcomes]]]:
    """For each order of the data sets, each query's neighbours as pairs."""
    parts = plan.stated_parts(dp.Adjacency.ADD_REMOVE)  # type: ignore[attr-defined]
    return [
        [outcomes(part.upper[way].formula) for part, count in parts for _ in range(count)]
        for way in range(len(parts[0][0].upper))
    ]


def outcomes(label: Label) -> list[Outcomes]:
    """(P, Q) of each outcome, for every neighbour."""

    def law(counts: tuple[int, ...]) -> list[arb]:
        values = by_quadrature(label.noise, counts)
        if label.screening is None:
            return values
        z = (max(counts) - ball(label.screening.threshold)) / ball(label.screening.sigma)
        no = (z / arb(2).sqrt()).erfc() / 2
        return [no, *((1 - no) * value for value in values)]

    stated = law(label.counts)
    pairs = [[*zip(stated, law(there), strict=True)] for there in label.neighbours]
    return pairs if label.votes_first else [[(q, p) for p, q in pair] for pair in pairs]


def delta(laws: Sequence[Outcomes], epsilon: arb) -> arb:
    """Of the product of these laws, outcome by outcome."""
    total, growth = arb(0), epsilon.exp()
    for joint in product(*laws):
        p, q = (math.prod(column, start=arb(1)) for column in zip(*joint, strict=True))
        total += (p - growth * q).max(arb(0))
    return total


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: repr(plan)[:40])
def test_proofs_hold_every_sequence_of_neighbours(plan: dp.Node) -> None:
    """The upper end is above what any sequence of neighbours gives, the lower end below the largest."""
    answer = certified.delta(plan, epsilon="0.1")
    lower, upper = (Fraction(answer.certificate[name]) for name in ("lower", "upper"))
    with precision(BITS):
        every = [delta(c, ball(Fraction("0.1"))) for q in sequences(plan) for c in product(*q)]
        most = max(every, key=arb.mid)
        assert ball(lower) <= most * (1 + TINY) and most * (1 - TINY) <= ball(upper)
        assert ball(upper) < most * arb("1.3")
    computed = plan.delta("0.1", method="exact")
    assert computed.lower is not None and computed.upper is not None
    assert lower <= Fraction(computed.upper) * (1 + Fraction(1, 10**6))
    assert Fraction(computed.lower) <= upper * (1 + Fraction(1, 10**6))


def test_one_query_is_proved_to_all_digits() -> None:
    """Where the worst neighbour is one and the same, both ends are its delta."""
    plan = dp.GNMax(sigma=2, level="agent").on([[6, 1]])
    answer = certified.delta(plan, epsilon="0.05")
    lower, upper = (Fraction(answer.certificate[name]) for name in ("lower", "upper"))
    with precision(BITS):
        every = [delta([law], ball(Fraction("0.05"))) for (q,) in sequences(plan) for law in q]
        most = max(every, key=arb.mid)
        assert ball(lower) <= most * (1 + TINY) and most * (1 - TINY) <= ball(upper)
    assert upper - lower < upper / 10**11


def test_by_default_few_queries_are_proved_and_stay_private() -> None:
    answer = PLANS[1].epsilon(1e-5)
    assert answer.method == "certified"
    assert answer.notes == PLANS[1].epsilon(1e-5, method="exact").notes
    many = dp.GNMax(sigma=3).on([[9 + k, k, 1] for k in range(13)]).epsilon(1e-5)
    assert many.method == "exact"


def test_certificates_are_checked_and_others_votes_refused() -> None:
    made = json.loads(json.dumps(certified.epsilon(PLANS[1], delta="1e-5").certificate))
    assert all(holds for _, holds in dp.Certificate(made).check())
    written = json.dumps(made)
    other = written.replace("[6, 1, 1]", "[5, 1, 1]")
    assert other != written
    assert not all(holds for _, holds in dp.Certificate(json.loads(other)).check())
