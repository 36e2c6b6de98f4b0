"""Rounds of shuffling against compositions enumerated, and Renyi divergences against exact sums."""

import math
from itertools import product

import numpy as np
import pytest

import dpacct as dp
from dpacct.papers.formulas import girgis2021
from dpacct.pld.binomial import LOG_CUT
from dpacct.shuffling import published
from dpacct.shuffling.bounds import girgis_epsilon
from dpacct.shuffling.letters import Letters, leftover, mixture
from dpacct.shuffling.pair import atoms, tabulated
from tests.shuffling.enumeration import histogram, response, worse_delta


def composed_delta(p: dict, q: dict, rounds: int, epsilon: float) -> float:  # type: ignore[type-arg]
    """Delta of independent rounds: all tuples of outcomes."""
    both: list[dict] = [{(): 1.0}, {(): 1.0}]  # type: ignore[type-arg]
    for _ in range(rounds):
        both = [
            {(*seen, h): mass * law[h] for (seen, mass), h in product(old.items(), law)}
            for old, law in zip(both, (p, q), strict=True)
        ]
    return worse_delta(*both, math.exp(epsilon))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("others", [0, 1])
def test_two_rounds_of_response_lie_below_the_bound(k: int, others: int) -> None:
    rows = response(k, 1.0)
    for clients in (2, 4):
        mates = [rows[-1 if others else 0]] * (clients - 1)
        p, q = (histogram([*mates, rows[i]], k) for i in (0, 1))
        for epsilon in (0.3, 0.8, 1.3):
            true = composed_delta(p, q, 2, epsilon)
            plan = dp.Shuffle(eps0=1, clients=clients, k=k) * 2
            answer = plan.delta(epsilon=epsilon)
            assert answer.upper is not None and true <= answer.upper * (1 + 1e-9)


def test_the_lower_end_of_rounds_is_realised() -> None:
    rows = response(3, 1.0)
    p, q = (histogram([rows[2], rows[2], rows[2], rows[i]], 3) for i in (0, 1))
    for epsilon in (0.2, 0.6):
        true = composed_delta(p, q, 2, epsilon)
        answer = (dp.Shuffle(eps0=1, clients=4, k=3) * 2).delta(epsilon=epsilon)
        assert answer.lower is not None and answer.upper is not None
        assert answer.lower <= true * (1 + 1e-9) <= answer.upper * (1 + 2e-9)


@pytest.mark.parametrize(
    "letters", [Letters(50, 1.0), Letters(4000, 2.0), Letters(300, 1.0, 5, 0.3)]
)
def test_tables_enclose_each_other(letters: Letters) -> None:
    """The upper table's profile lies above the lower's, and both near the counted delta."""
    from dpacct.shuffling import bounds

    for epsilon in (0.0, 0.04):
        ends = []
        for upper in (False, True):
            table = atoms(letters, upper=upper).of
            excess = np.exp(table.log_p) - math.exp(epsilon) * np.exp(table.log_q)
            ends.append(float(np.maximum(excess, 0.0).sum()))
        counted = math.exp(bounds.numeric(letters, upper=True).log_delta(epsilon))
        assert ends[0] <= ends[1] * (1 + 1e-9)
        assert ends[1] == pytest.approx(counted, rel=2e-2) and ends[0] > 0.9 * counted


def test_tables_sum_to_one() -> None:
    """But for what they are rounded by to their side."""
    for letters in (Letters(30, 1.0), Letters(10**6, 2.0), Letters(10**5, 3.0, 4, 0.5)):
        for upper in (False, True):
            mixed = mixture(letters, upper, 400)
            losses, log_p = tabulated(mixed, upper=upper)
            log_p = log_p - mixed.rounding * (1.0 if upper else -1.0)
            assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-9)
            assert np.exp(log_p - losses).sum() == pytest.approx(1.0, abs=1e-9)
            assert np.all(np.diff(losses) > 0.0)


def test_what_a_table_leaves_out_is_little_and_tells_at_most_eps0() -> None:
    letters = Letters(10**6, 2.0, rate=0.1)
    _, logs = leftover(letters)
    assert logs.size > 0 and np.all(logs <= LOG_CUT + 3.0)
    assert np.all(atoms(letters, upper=True).of.losses <= 2.0)


def renyi(p: np.ndarray, q: np.ndarray, alpha: float) -> float:  # type: ignore[type-arg]
    kept = (p > 1e-280) & (q > 1e-280)
    logs = alpha * np.log(p[kept]) + (1.0 - alpha) * np.log(q[kept])
    return float(np.logaddexp.reduce(logs)) / (alpha - 1.0)


@pytest.mark.parametrize(("clients", "eps0"), [(1, 1.0), (5, 2.0), (40, 0.5), (300, 1.5)])
@pytest.mark.parametrize("alpha", [1.3, 2, 7, 40])
def test_renyi_is_that_of_the_pair(clients: int, eps0: float, alpha: float) -> None:
    """Outcome by outcome, from the statement of the pair."""
    clone, honest = 2.0 / (math.exp(eps0) + 1.0), 1.0 / (1.0 + math.exp(-eps0))
    p, q = [], []
    for coins in range(clients):
        chance = math.exp(
            math.lgamma(clients)
            - math.lgamma(coins + 1)
            - math.lgamma(clients - coins)
            + (coins * math.log(clone) if coins else 0.0)
            + ((clients - 1 - coins) * math.log1p(-clone) if coins < clients - 1 else 0.0)
        )
        ones = np.array([math.comb(coins, a) / 2.0**coins for a in range(coins + 1)])
        p.append(chance * (honest * np.append(0.0, ones) + (1 - honest) * np.append(ones, 0.0)))
        q.append(chance * ((1 - honest) * np.append(0.0, ones) + honest * np.append(ones, 0.0)))
    exact = renyi(np.concatenate(p), np.concatenate(q), alpha)
    value = float(dp.Shuffle(eps0=eps0, clients=clients).rdp(alpha))
    assert exact * (1 - 1e-9) <= value <= exact * (1 + 1e-6) + 1e-12


def test_renyi_between_girgis_bounds() -> None:
    """Below the published upper bound, in its domain, and above the lower one."""
    for eps0, clients, alpha in ((0.5, 10**5, 2), (1.0, 10**6, 4), (0.2, 10**5, 5)):
        value = float(dp.Shuffle(eps0=eps0, clients=clients).rdp(alpha))
        assert clients > published.girgis_fewest(alpha, eps0)
        assert value <= published.girgis_divergence(alpha, eps0, clients)
        assert value >= girgis2021.lower(alpha, eps0, clients) * (1 - 1e-9)


@pytest.mark.parametrize(("highest", "eps0"), [(2, 0.1), (3, 0.1), (3, 1.0), (6, 0.4)])
def test_girgis_bound_is_asked_at_the_orders_it_is_proved_for(highest: int, eps0: float) -> None:
    """N > 9 alpha^4 e^{5 eps0}: one client fewer, and an order fewer, though a higher one would say less."""

    def stated(order: int, clients: int) -> float:
        pairs = order * (order - 1) / 2
        divergence = math.log1p(pairs * 4 * math.expm1(eps0) ** 2 / clients) / (order - 1)
        # Canonne, Kamath, Steinke 2020, Proposition 12
        rest = (math.log(1e-9) + math.log(order)) / (order - 1)
        return divergence + math.log1p(-1 / order) - rest

    enough = math.floor(9 * highest**4 * math.exp(5 * eps0)) + 1
    for clients, most in ((enough, highest), (enough - 1, highest - 1)):
        result = girgis_epsilon(eps0, clients, 1, math.log(1e-9))
        values = [stated(order, clients) for order in range(2, most + 1)]
        assert result == (pytest.approx(min(values), rel=1e-9) if values else None)
        assert stated(most + 1, clients) < min(values, default=math.inf)


@pytest.mark.parametrize(
    ("alpha", "clients", "eps0", "true", "claim"),
    [
        (8, 2, 1.0, 0.7757782336192, 0.7305759059952),
        (7, 10, 3.0, 1.4596647004280, 1.3377366855117),
        (31, 100, 1.0, 0.1400894384486, 0.1341285664157),
    ],
)
def test_the_printed_lemma_is_false_as_the_errata_say(
    alpha: int, clients: int, eps0: float, true: float, claim: float
) -> None:
    """UDP-FL Lemma 2 without its condition: the count of shuffled binary response leaks more."""
    from dpacct.shuffling.count import Count

    _, p, q = Count(clients, eps0).outcomes()
    assert renyi(p, q, alpha) == pytest.approx(true, rel=1e-11)
    assert published.girgis_divergence(alpha, eps0, clients) == pytest.approx(claim, rel=1e-12)
    assert true > claim
    # what is answered here lies above the truth, in either direction
    value = float(dp.Shuffle(eps0=eps0, clients=clients).rdp(alpha))
    assert value >= max(true, renyi(q, p, alpha)) * (1 - 1e-11)


def test_a_renyi_level_is_no_eps0() -> None:
    """Errata, second witness: gamma = 0.1 at order 2, N = 1000."""
    eps0 = math.acosh(0.5 * (1.0 + math.exp(0.1)))
    from dpacct.shuffling.count import Count

    _, p, q = Count(1000, eps0).outcomes()
    leaks = renyi(p, q, 2.0)
    assert leaks == pytest.approx(1.0516538800e-4, rel=1e-9)
    assert leaks > published.girgis_divergence(2, 0.1, 1000)


def test_a_law_has_the_moments_of_its_table() -> None:
    source = atoms(Letters(20, 1.0), upper=True)
    table = source.of
    direct = math.log(float(np.sum(np.exp(table.log_p + 3.0 * table.losses))))
    assert source.log_moments(np.array([3.0]))[0] == pytest.approx(direct, rel=1e-9)


def test_a_subset_of_the_clients() -> None:
    """A uniform tenth of the clients is shuffled: less than without sampling, more than its lower end."""
    inner = dp.Shuffle(eps0=2, clients=200)
    answer = dp.WithoutReplacement("0.1")(inner).epsilon(delta=1e-6)
    assert answer.lower is not None and 0.0 < answer.lower <= answer.value
    assert answer.value < inner.epsilon(delta=1e-6).value
