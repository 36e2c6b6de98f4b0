"""A proof lies inside what is computed, and that inside what a grid encloses: one number, three methods."""

from collections.abc import Iterator

import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer import Answer
from tests.laws.catalogue import PAIRED, Combination, deltas, ends, epsilons, law, over

EFFORT = 0.2
"""Seconds that a proof may take here, as estimated: dearer ones are tests/proof's."""
GRIDS = tuple(cell for cell in PAIRED if cell.kind.most_steps > 100)
"""Where a grid takes less than a second."""


@pytest.fixture(autouse=True, scope="module")
def without_proofs() -> Iterator[None]:
    """Not here: this is about proofs."""
    yield


def inside(narrow: Answer, wide: Answer) -> None:
    """But for what is open within the narrow one: the truth is in both."""
    lower, upper = ends(narrow)
    least, most = ends(wide)
    slack = min(upper - lower, upper) + 1e-300
    assert least - slack <= lower and upper <= most + slack, f"{narrow} is not inside {wide}"


@over(PAIRED)
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_a_proof_is_inside_what_is_computed(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    for ask, at in ((plan.node.epsilon, delta), (plan.node.delta, epsilon)):
        exact = ask(at, method="exact", adjacency=plan.adjacency)
        if ends(exact)[1] < 1e-300:  # its proof has a hundred thousand digits, and its ends are 0
            continue
        proved = ask(at, effort=EFFORT, adjacency=plan.adjacency)
        if proved.method == "certified":
            inside(proved, exact)


@over(GRIDS)
@law(data=st.data(), epsilon=epsilons)
def test_what_is_computed_is_inside_a_grid(
    cell: Combination, data: st.DataObject, epsilon: float
) -> None:
    plan = data.draw(cell.plans(common=True))
    plan = plan.hit(min(plan.steps, 1000))
    try:
        grid = plan.delta(epsilon, "bracket")
    except (dp.NotCertified, dp.Unsupported):
        assume(False)
    inside(plan.delta(epsilon), grid)
