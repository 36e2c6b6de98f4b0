"""Bounds beside the truth: the random search, the errata's witnesses, published reference values."""

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct.papers.formulas.ae_dpfl import (
    lemma12_threshold,
    theorem11_knn,
    theorem11_knn_tight,
    theorem14,
)
from dpacct.papers.formulas.papernot2018 import theorem23
from dpacct.voting import published
from dpacct.voting.argmax import GaussianNoise
from dpacct.voting.published import publication
from dpacct.voting.votes import Level
from tests.voting.search import HISTOGRAMS, SEED, STORE, search


def test_no_bound_is_below_the_truth() -> None:
    """The first settings of the long search, again."""
    result = search(5000)
    assert {name: line["violated"] for name, line in result.items()} == dict.fromkeys(result, 0)
    assert all(line["largest_ratio"] <= 1.0 + 1e-9 for line in result.values())
    # and they are not judged against nothing
    assert min(line["judged"] for line in result.values()) > 500
    assert max(line["largest_ratio"] for line in result.values()) > 0.95


def test_the_long_search_is_on_record() -> None:
    stored = json.loads(STORE.read_text(encoding="utf-8"))
    assert (stored["seed"], stored["histograms"]) == (SEED, HISTOGRAMS)
    assert stored["bounds"]["data-independent"]["judged"] >= 100_000
    assert not any(line["violated"] for line in stored["bounds"].values())


@pytest.mark.parametrize(
    ("votes", "neighbour", "sigma", "order"),
    [((6, 0), (7, 0), 1.0, 6.0), ((22, 0), (23, 0), 1.5, 18.0), ((1, 1), (2, 1), 0.1, 2.0)],
)
def test_witnesses_against_theorem_14(
    votes: tuple[int, int], neighbour: tuple[int, int], sigma: float, order: float
) -> None:
    """The exact divergence is above the printed bound; the corrected one is above it."""
    costs = {
        (6, 0): (1.1101506841886, 0.8146877428250),
        (22, 0): (1.6881168154058, 1.5661001609523),
        (1, 1): (0.6931471805584, None),
    }[votes]
    gnmax = dp.GNMax(sigma=sigma, level="agent")
    exact = float(gnmax.renyi([votes], order)[0])
    printed = theorem14(votes, sigma, order)
    assert exact >= costs[0] - 1e-9
    if costs[1] is not None:
        assert printed == pytest.approx(costs[1], rel=1e-10) and exact > printed
    cost = gnmax.cost([votes, neighbour], 1e-5)
    assert cost.exact is not None and cost.exact.upper is not None
    assert cost.data_dependent.upper is not None
    assert cost.exact.upper <= cost.data_dependent.upper


def test_a_printed_margin_leaves_the_label_to_chance() -> None:
    """Lemma 12's threshold without sigma: C = 2, delta = 1e-3, sigma = 25."""
    margin = math.ceil(lemma12_threshold(2, 0.001, 25.0))
    assert dp.GNMax(sigma=25).wrong([[50 + margin, 50]])[0] > 0.4


def test_the_sensitivity_of_neighbours_votes() -> None:
    """Theorem 11, instance level, kNN: the factor is k^2, and the plan uses it."""
    knn = dp.GNMax(sigma=25, neighbours=10)
    plan = knn.plan(500)
    assert plan.rdp(8) == pytest.approx(theorem11_knn_tight(8.0, 500, 25.0, 10), rel=1e-12)
    assert plan.rdp(8) == pytest.approx(0.064) and theorem11_knn(8.0, 500, 25.0, 10) > 0.6
    assert dp.GNMax(sigma=25).plan(500).rdp(8) == pytest.approx(6.4)
    assert dp.GNMax(sigma=25, level="agent").plan(500).rdp(8) == pytest.approx(3.2)
    assert dp.GNMax(sigma=25, level="agent", neighbours=10).plan(500).rdp(8) == pytest.approx(3.2)


# --- tensorflow/privacy, research/pate_2018 (Apache 2.0): the numbers its tests print

# core_test.py: -log q from which on the data-dependent bound is below the plain one, by (sigma, order)
TURNS = {
    (1.5, 1.1): 2.8,
    (1.5, 2.5): 2.6,
    (1.5, 32): 427,
    (15, 1.1): 4.8,
    (15, 2.5): 4.0,
    (15, 32): 4.7,
    (15, 250): 275,
    (1500, 1.1): 9.6,
    (1500, 2.5): 8.8,
    (1500, 32): 6.0,
    (1500, 250): 4,
    (15000, 1.1): 12,
    (15000, 2.5): 11.2,
    (15000, 32): 8.6,
    (15000, 250): 6.4,
}


@pytest.mark.parametrize(("place", "turn"), TURNS.items())
def test_where_agreement_begins_to_pay(place: tuple[float, float], turn: float) -> None:
    sigma, order = place
    if place in ((1.5, 32), (15, 250)):
        # There it is taken at mu2 < order <= mu1; Theorem 6 is stated for order <= min(mu1, mu2), so this
        # begins a little later. The exact cost at their q is below their value all the same.
        from scipy.special import ndtri_exp

        margin = math.floor(-math.sqrt(2.0) * sigma * float(ndtri_exp(-turn)))
        exact = dp.GNMax(sigma=sigma).renyi([[margin, 0]], order)[0]
        assert exact < order / sigma**2
        turn = (order / sigma) ** 2
    below = [
        published.gaussian_votes(-turn - math.log(2**k), order, sigma, math.sqrt(2.0))
        for k in range(4)
    ]
    assert all(a > b for a, b in pairwise(below))
    above = [
        published.gaussian_votes(math.log(math.exp(-turn) + more), order, sigma, math.sqrt(2.0))
        for more in (0.1, 0.2, 0.3, 0.4)
    ]
    assert above == pytest.approx([order / sigma**2] * 4, rel=1e-14)
    assert below[1] < order / sigma**2


class _Published(GaussianNoise):
    """Papernot's own bound, of q at the votes alone: what the published numbers are of."""

    def tables(self, log_q: Any, orders: Any, level: Level) -> dict[str, Any]:
        table = published.gaussian_votes(log_q[:, None], orders, float(self.sigma), level.l2)
        return {"papernot2018.theorem6": table}


def test_the_published_cost_of_publishing_is_too_low() -> None:
    """theorem23, as evaluated there, at a typical order and beta: below the exact Gaussian divergence."""
    order, beta, sigma = 25.0, 0.016, 20.0
    less = math.exp(-beta)  # the neighbour's noise and distance, in units of the first one's
    x = np.linspace(-40 * sigma, 40 * sigma, 400_001)
    log_p = -0.5 * (x / sigma) ** 2 - math.log(sigma)
    log_q = -0.5 * ((x - less) / (sigma * less)) ** 2 - math.log(sigma * less)
    heights = order * log_p + (1.0 - order) * log_q
    whole = math.log(float(np.exp(heights).sum()) * (x[1] - x[0]) / math.sqrt(2.0 * math.pi))
    assert whole / (order - 1.0) > 1.3 * theorem23(order, beta, sigma)
    assert whole / (order - 1.0) == pytest.approx(publication(order, beta, sigma), rel=1e-6)
