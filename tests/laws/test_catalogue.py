"""Every mechanism has its line in the catalogue, and what has no answer is refused."""

import inspect

import pytest
from hypothesis import strategies as st

import dpacct as dp
from dpacct.mechanisms import custom
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.plan.samplers.sampled import Sampler
from dpacct.vocabulary import Adjacency
from tests.laws.catalogue import (
    CELLS,
    LAWS_OF_THEIR_OWN,
    MECHANISMS,
    OFFERED,
    SAMPLERS,
    Brought,
    Combination,
    Drawn,
    deltas,
    epsilons,
    law,
    leaves,
    over,
    repeated,
)

# A shuffle has one adjacency and one place in a plan: tests/shuffling/test_laws.py has its laws. Custom is
# what its forms have in common, each of which is in the catalogue (the next test).
# A mixture has lists of parameters, and two adjacencies: it is among the composites.
LAWS_OF_ITS_OWN = {dp.Shuffle, dp.Custom, dp.GaussianMixture}


def test_every_public_mechanism_is_in_the_catalogue() -> None:
    public = {getattr(dp, name) for name in dp.__all__}
    kinds = {kind for kind in leaves(Mechanism) if not inspect.isabstract(kind)} & public
    missing = kinds - {kind.make for kind in MECHANISMS} - LAWS_OF_ITS_OWN
    assert not missing, f"add a line to MECHANISMS of tests/laws/catalogue.py for {missing}"


def test_every_form_of_custom_is_in_the_catalogue() -> None:
    forms = {cell.kind.make.form for cell in CELLS if isinstance(cell.kind.make, Brought)}
    assert forms == set(custom.Custom._forms)


def test_every_sampler_is_in_the_catalogue() -> None:
    kinds = {kind for kind in leaves(Sampler) if not inspect.isabstract(kind)}
    assert {kind.kind for kind in kinds - set(SAMPLERS)} == set(LAWS_OF_THEIR_OWN)


def test_every_required_parameter_is_drawn() -> None:
    for kind in MECHANISMS:
        if not isinstance(kind.make, Brought):
            needed = {name for name, each in kind.make.parameters.items() if each.required}
            assert needed <= set(kind.parameters)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if not cell.offered], ids=str)
def test_what_has_no_answer_is_refused(cell: Combination) -> None:
    values = {name: "0.5" for name in cell.kind.parameters}
    assert cell.sampler is not None
    plan = cell.sampler("0.1")(cell.kind(**values)) * 10
    with pytest.raises(dp.DpacctError) as refusal:
        plan.epsilon(delta=1e-5, adjacency=cell.adjacency)
    assert isinstance(refusal.value, dp.InvalidArgument | dp.Unsupported)


@over(tuple(cell for cell in OFFERED if repeated(cell)))
@law(data=st.data(), delta=deltas, epsilon=epsilons)
def test_what_other_laws_skip_repeats_another_cell(
    cell: Combination, data: st.DataObject, delta: float, epsilon: float
) -> None:
    other = repeated(cell)
    assert other is not None
    assert repeated(other) is None
    plan = data.draw(cell.plans(common=True))
    plan = plan.but(steps=min(plan.steps, 100))
    values = {
        theirs: plan.values[ours]
        for ours, theirs in zip(cell.kind.parameters, other.kind.parameters, strict=True)
    }
    twin = Drawn(other.kind, other.sampler, other.adjacency, values, plan.rate, plan.steps)
    for original, repeat in (
        (plan.epsilon(delta), twin.epsilon(delta)),
        (plan.delta(epsilon), twin.delta(epsilon)),
        (plan.epsilon(delta, "rdp"), twin.epsilon(delta, "rdp")),
    ):
        assert (original.value, original.lower, original.upper) == (
            repeat.value,
            repeat.lower,
            repeat.upper,
        )
        assert original.strength is repeat.strength
        assert original.adjacency is cell.adjacency


def test_the_adjacency_of_the_sampling_is_the_default() -> None:
    plan = dp.WithoutReplacement(0.1)(dp.Gaussian(sigma=1)) * 10
    assert plan.epsilon(delta=1e-5).adjacency is Adjacency.REPLACE_ONE
