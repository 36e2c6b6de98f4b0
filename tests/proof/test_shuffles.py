"""Theorem 18: shuffles proved, against every count of messages and ones by itself."""

import math
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import pytest
from flint import arb

import dpacct as dp
from dpacct.errors import Unsupported
from dpacct.plan import certified
from dpacct.pld.loss import Tabled
from dpacct.proof.balls import ball, precision
from dpacct.shuffling import proved
from dpacct.shuffling.proved import Hidden, ProofCount, Response

BITS = 192
CASES = [
    (n, eps0)
    for n in (1, 2, 7, 40)
    for eps0 in (Fraction(1), Fraction(3, 10), Fraction(4), Fraction(7, 2))
]
LEVELS = (-5.0, -4.0, -1.0, -0.31, 0.0, 0.02, 0.25, 0.9, 1.0, 2.5, 4.0, 4.5)
Outcomes = list[tuple[arb, arb]]


def of_clones(n: int, eps0: Fraction) -> Outcomes:
    """Feldman, McMillan, Talwar 2022: (A + D, C - A + 1 - D) against its mirror image, every outcome."""
    e = ball(eps0).exp()
    share, first = 2 / (e + 1), e / (e + 1)
    results = []
    for c in range(n):
        weight = comb(n - 1, c) * share**c * (1 - share) ** (n - 1 - c)
        for ones in range(c + 2):
            before = arb(comb(c, ones - 1) if ones else 0) / 2**c
            after = arb(comb(c, ones)) / 2**c
            p, q = first * before + (1 - first) * after, (1 - first) * before + first * after
            results.append((weight * p, weight * q))
    return results


def of_three_answers(n: int, eps0: Fraction) -> Outcomes:
    """Responses with three answers: the differing client holds 0, or 1, all others 2; counts of each."""
    e = ball(eps0).exp()
    true, lie = e / (e + 2), 1 / (e + 2)
    others: dict[tuple[int, int], arb] = {}
    for zeros in range(n):
        for ones in range(n - zeros):
            rest = n - 1 - zeros - ones
            ways = math.factorial(n - 1) // (
                math.factorial(zeros) * math.factorial(ones) * math.factorial(rest)
            )
            others[zeros, ones] = ways * lie ** (zeros + ones) * true**rest
    results = []
    for zeros in range(n + 1):
        for ones in range(n + 1 - zeros):
            a, b, c = (
                others.get(key, arb(0))
                for key in ((zeros - 1, ones), (zeros, ones - 1), (zeros, ones))
            )
            results.append((true * a + lie * (b + c), true * b + lie * (a + c)))
    return [(p, q) for p, q in results if p > 0]


def of_count(n: int, eps0: Fraction, back: bool) -> Outcomes:
    """The ones of n responses with two answers, one client holding a one or none."""
    e = ball(eps0).exp()
    true, lie = e / (e + 1), 1 / (e + 1)
    others = [comb(n - 1, k) * lie**k * true ** (n - 1 - k) for k in range(n)]
    results = []
    for ones in range(n + 1):
        before = others[ones - 1] if ones else arb(0)
        after = others[ones] if ones < n else arb(0)
        p, q = true * before + lie * after, lie * before + true * after
        results.append((q, p) if back else (p, q))
    return results


def laws(n: int, eps0: Fraction) -> list[tuple[Tabled, Outcomes]]:
    e = ball(eps0)
    return [
        (Hidden(n, e, realised=False), of_clones(n, eps0)),
        (Hidden(n, e, realised=True), of_three_answers(n, eps0)),
        (ProofCount(n, e, False), of_count(n, eps0, False)),
        (ProofCount(n, e, True), of_count(n, eps0, True)),
    ]


def delta(outcomes: Outcomes, epsilon: arb) -> arb:
    growth = epsilon.exp()
    return sum(((p - growth * q).max(arb(0)) for p, q in outcomes), arb(0))


@pytest.mark.parametrize(("n", "eps0"), CASES)
def test_masses_beyond_levels_and_one_step_are_those_of_all_outcomes(
    n: int, eps0: Fraction
) -> None:
    with precision(BITS):
        for tabled, outcomes in laws(n, eps0):
            levels = [arb(x) for x in LEVELS if abs(x) <= eps0]
            for level, (p, q) in zip(levels, tabled.beyond(levels), strict=True):
                truth = delta(outcomes, level)
                for value in (p - level.exp() * q, tabled.one_step(level)):
                    gap = value + tabled.left_out - truth
                    assert abs(gap) < 1e-30
                    assert (value + tabled.left_out).overlaps(truth)


@pytest.mark.parametrize("eps0", [Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("k", [None, 2])
def test_proofs_of_one_shuffle_hold_all_outcomes(eps0: Fraction, k: int | None) -> None:
    n, epsilon = 30, Fraction("0.2")
    answer = certified.delta(dp.Shuffle(eps0=eps0, clients=n, k=k), epsilon=epsilon)
    lower, upper = (Fraction(answer.certificate[name]) for name in ("lower", "upper"))
    with precision(BITS):
        dominating, *realised = (delta(law, ball(epsilon)) for _, law in laws(n, eps0))
        if k == 2:
            realised = realised[1:]
        slack = arb("1e-20")
        assert ball(upper) >= dominating * (1 - slack)
        assert ball(upper) <= dominating * arb("1.000000000001")
        most = max(realised, key=arb.mid)
        assert most * (1 - arb("1e-11")) <= ball(lower) <= most * (1 + slack)


def composed(outcomes: Outcomes, rounds: int, epsilon: arb) -> arb:
    """Every outcome of the rounds."""
    total: Outcomes = [(arb(1), arb(1))]
    for _ in range(rounds):
        total = [(a * p, b * q) for a, b in total for p, q in outcomes]
    return delta(total, epsilon)


# --- sabotage


def short(n: int, eps0: Fraction, which: int = 0) -> bool:
    """Whether what stands for a shuffle is below it at some level."""
    with precision(BITS):
        tabled, outcomes = laws(n, eps0)[which]
        levels = [arb(x) for x in (-0.5, 0.0, 0.01, 0.3)]
        sign = -1 if which else 1  # the lower end is wrong where it is above
        return any(
            sign * (p - u.exp() * q + tabled.left_out - delta(outcomes, u)) < -arb("1e-45")
            for u, (p, q) in zip(levels, tabled.beyond(levels), strict=True)
        )


def test_without_what_is_left_out_the_end_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proved, "_CUT", 0.05)
    assert not short(40, Fraction(1))
    monkeypatch.setattr(Hidden, "left_out", arb(0))
    assert short(40, Fraction(1))


@pytest.mark.parametrize("which", [0, 1])
def test_blocks_bound_and_the_other_end_of_a_block_does_not(
    which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proved, "_BLOCKS", 5)
    assert not short(40, Fraction(1), which)
    real = Hidden._response

    def other_end(self: Hidden, messages: int, odds: int) -> Response:
        moved = -8 if self._realised else 8
        return real(self, max(1, min(messages + moved, 40)), odds)

    monkeypatch.setattr(Hidden, "_response", other_end)
    assert short(40, Fraction(1), which)


def test_what_lies_beyond_a_tail_is_charged() -> None:
    """A sum that ends early, and what it would be without its charge."""
    with precision(BITS):
        response = Response(400, arb(0.5), arb(0.75))
        starts, missed = [150, 200, 230, 260], 0
        fine = response.tails(starts, arb(2) ** -190)
        for x, y in zip(fine, response.tails(starts, arb(2) ** -20), strict=True):
            for a, b in zip(x, y, strict=True):
                assert a.overlaps(b)
                missed += not a.overlaps(b.lower())
        assert missed


@pytest.mark.parametrize("messages", [2, 3, 50, 51])
def test_levels_on_ties_are_settled_exactly(messages: int) -> None:
    with precision(BITS):
        e = arb(2)
        response = Response(messages, arb(0.5), 1 / (1 + (-e).exp()), e)
        assert response.starts(e.exp(), e) == messages
        assert response.starts((-e).exp(), -e) == 0
        assert response.starts(arb(1), arb(0)) == -(-messages // 2)


def test_more_shuffles_are_refused_in_one_sentence() -> None:
    for shuffle in (dp.Shuffle(eps0=1, clients=9, k=3), dp.Shuffle(eps0=1, clients=9, rate="0.5")):
        with pytest.raises(Unsupported, match="shuffles"):
            certified.delta(shuffle, epsilon=1)


def test_the_sum_over_messages_grows_from_one_to_the_next() -> None:
    """Pascal's rule against tails by themselves, over a thousand numbers of messages."""
    with precision(BITS):
        hidden = Hidden(3000, arb(1), realised=True)
        first, weights, _ = hidden._weights
        swept: Sequence[tuple[Response, tuple[arb, arb]]] = [
            *hidden._swept(first, len(weights), arb(0.05))
        ]
        for response, tail in swept[:: len(swept) // 7]:
            t = response.starts(arb(0.05).exp(), arb(0.05))
            for value, truth in zip(tail, response.tails([t], arb(2) ** -190)[0], strict=True):
                assert abs(value - truth) < 1e-45
