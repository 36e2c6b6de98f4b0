"""Other bounds of a shuffle over rounds: what its composition is compared with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction

from dpacct.answer import Answer
from dpacct.declare.number import ln
from dpacct.mechanisms.randomized_response import LocalRandomizer
from dpacct.tree import Node
from dpacct.vocabulary import Adjacency, Side, Strength

from .bounds import girgis_epsilon
from .shuffle import Shuffle

_GIRGIS = "Girgis et al. 2021, simplified bound, composed; Canonne, Kamath, Steinke 2020"


def over_rounds(shuffle: Shuffle, rounds: int, question: Mapping[str, Fraction]) -> list[Answer]:
    """Without shuffling (one client's messages composed exactly), and Girgis et al. where they apply."""
    node, eps0 = shuffle * rounds, float(shuffle.eps0)
    alone = LocalRandomizer(eps0=eps0) * rounds
    delta, epsilon = question.get("delta"), question.get("epsilon")
    results = []
    if delta is not None:
        results.append(_renamed(alone.epsilon(delta=delta, adjacency="replace-one"), node))
        started = time.perf_counter()
        value = None
        if shuffle.rate == 1:
            value = girgis_epsilon(eps0, int(shuffle.clients), rounds, ln(delta))
        if value is not None:
            results.append(
                Answer(
                    quantity="epsilon",
                    value=value * (1.0 + 1e-12),
                    upper=value * (1.0 + 1e-12),
                    side=Side.UPPER,
                    strength=Strength.BOUND,
                    method="girgis2021.upper",
                    basis=(_GIRGIS,),
                    adjacency=Adjacency.REPLACE_ONE,
                    unit=node.unit,
                    tree=node,
                    seconds=time.perf_counter() - started,
                )
            )
    elif epsilon is not None:
        results.append(_renamed(alone.delta(epsilon=epsilon, adjacency="replace-one"), node))
    return results


def _renamed(answer: Answer, node: Node) -> Answer:
    """The answer about a client's messages alone, as an upper bound of the shuffle's."""
    return Answer(
        quantity=answer.quantity,
        value=float(answer),
        upper=float(answer),
        side=Side.UPPER,
        strength=Strength.weakest((answer.strength, Strength.BOUND)),
        method="local",
        basis=("no amplification: the messages of one client, composed", *answer.basis),
        assumptions=node.assumptions(Adjacency.REPLACE_ONE),
        adjacency=Adjacency.REPLACE_ONE,
        unit=node.unit,
        tree=node,
        seconds=answer.seconds,
    )
