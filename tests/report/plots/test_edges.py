"""Plans at the edges: guarantees that may fail outright, atoms, rare hits, no exact answer."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import dpacct as dp
from dpacct.report.plots.chart import Chart
from dpacct.report.plots.draw import draw
from dpacct.report.plots.kinds import gap, profile, rdp, steps, tradeoff, usual_end
from dpacct.report.plots.terminal import text_plot

PLANS = [
    dp.PureDP(epsilon=1),
    dp.ApproxDP(epsilon=1, delta="1e-3"),
    dp.ApproxDP(epsilon=1, delta="1e-7"),
    dp.ZCDP(rho="0.1") + dp.Gaussian(sigma=3),
    dp.RandomizedResponse(eps0=2, k=4),
    dp.Gaussian(sigma="0.05"),
    dp.Poisson("1e-5")(dp.Gaussian(sigma=1)),
]
MAKERS: dict[str, Callable[[dp.Node], Chart]] = {
    "profile": lambda plan: profile(plan, epsilons=np.linspace(0, usual_end(plan), 11)),
    "tradeoff": lambda plan: tradeoff(plan, alphas=np.linspace(0, 1, 6)),
    "rdp": lambda plan: rdp(plan, count=12),
    "steps": lambda plan: steps(plan, counts=[1, 10]),
    "gap": lambda plan: gap(plan, deltas=[1e-7, 1e-4]),
}


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("kind", MAKERS)
def test_a_picture_or_a_sentence(kind: str, plan: dp.Node) -> None:
    """Warnings are errors here, so nothing was divided by nothing on the way."""
    try:
        made = MAKERS[kind](plan)
    except dp.DpacctError as error:
        assert str(error)
        return
    assert made.infinite is None
    assert not any(word in made.title for word in ("nan", "inf ", "None"))
    assert any(math.isfinite(value) for line in made.lines for value in line.values)
    assert len(draw(made).axes) == 1
    assert "nan" not in text_plot(made)


def test_no_estimate_where_the_truth_is_infinite() -> None:
    """At delta below its own no epsilon holds: the central limit's number would be all one sees."""
    with pytest.raises(dp.Unreachable, match="no finite epsilon"):
        steps(dp.ApproxDP(epsilon=1, delta="1e-3"), counts=[1, 10], delta="1e-5")


def test_a_profile_of_what_may_fail_outright_ends_where_it_still_has_an_epsilon() -> None:
    made = profile(dp.ApproxDP(epsilon=1, delta="1e-3"))
    assert 0.9 < made.points[-1] < 1 and made.lines[0].values[-1] == pytest.approx(1e-2)
    assert made.title == "At delta 1e-5 no finite epsilon holds"


def test_no_exact_answer_means_no_claim_to_one() -> None:
    made = profile(dp.ZCDP(rho="0.1"))
    assert made.title.startswith("At delta 1e-5 the RDP epsilon is at most ")
    assert made.lines[0].label == "RDP"


def test_vast_gaps_do_not_hide_the_others() -> None:
    """Where one method is off by thousands of per cent, the axis is logarithmic on both sides of 0."""
    rare = dp.Poisson("0.0001")(dp.Gaussian(sigma="1.1")) * 100
    made = gap(rare, deltas=[1e-12, 1e-9, 1e-6])
    assert made.y.signed and max(made.lines[0].values) > 1000
    (axes,) = draw(made).axes
    assert axes.get_yscale() == "symlog"
    low, high = axes.get_ylim()
    for line in made.lines:
        assert all(low < value < high for value in line.values)
    usual = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 1000
    assert not gap(usual, deltas=[1e-6, 1e-5]).y.signed
