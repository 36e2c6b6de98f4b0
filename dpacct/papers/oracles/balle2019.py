"""Truths for the statements of Balle, Bell, Gascon, Nissim (2019)."""

from __future__ import annotations

from dpacct.papers.oracles import truths
from dpacct.papers.oracles.oracle import oracle
from dpacct.papers.page import Ends


@oracle("hoeffding", "bennett", draws=400, within=1e-8)
def counted(eps0: float, epsilon: float, clients: int) -> Ends | None:
    """A lower bound of delta, from counts of shuffled randomised response on two and three answers."""
    few = clients <= truths.MOST_COUNTED
    return truths.exact_enough(truths.shuffled_delta(epsilon, eps0, clients)) if few else None


@oracle("hoeffding_rr", "bennett_rr", draws=400, within=1e-8)
def counted_answers(eps0: float, epsilon: float, clients: int, answers: int) -> Ends | None:
    """Enumerate how many of the k answers are 0 and 1; for k = 2, the count of ones."""
    if answers == 2 and clients <= truths.MOST_COUNTED:
        return truths.exact_enough(truths.two_answers(epsilon, eps0, clients))
    if answers == 2 or clients > 60:
        return None
    return truths.exact_enough(truths.more_answers(epsilon, eps0, clients, answers))
