"""Every mechanism has its line in the catalogue, and what has no answer is refused."""

from __future__ import annotations

import inspect

import pytest

import dpacct as dp
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.vocabulary import Adjacency
from tests.laws.catalogue import CELLS, MECHANISMS, Combination, leaves


def test_every_public_mechanism_is_in_the_catalogue() -> None:
    public = {getattr(dp, name) for name in dp.__all__}
    kinds = {kind for kind in leaves(Mechanism) if not inspect.isabstract(kind)} & public
    missing = kinds - {kind.make for kind in MECHANISMS}
    assert not missing, f"add a line to MECHANISMS of tests/laws/catalogue.py for {missing}"


def test_every_required_parameter_is_drawn() -> None:
    for kind in MECHANISMS:
        optional = kind.make.__init__.__kwdefaults__ or {}
        assert set(kind.make.domains) - set(optional) <= set(kind.parameters)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if not cell.offered], ids=str)
def test_what_has_no_answer_is_refused(cell: Combination) -> None:
    values = {name: "0.5" for name in cell.kind.parameters}
    assert cell.sampler is not None
    plan = cell.sampler("0.1")(cell.kind.make(**values)) * 10
    with pytest.raises(dp.DpacctError) as refusal:
        plan.epsilon(delta=1e-5, adjacency=cell.adjacency)
    assert isinstance(refusal.value, dp.InvalidArgument | dp.Unsupported)


def test_the_adjacency_of_the_sampling_is_the_default() -> None:
    plan = dp.WithoutReplacement(0.1)(dp.Gaussian(sigma=1)) * 10
    assert plan.epsilon(delta=1e-5).adjacency is Adjacency.REPLACE_ONE
