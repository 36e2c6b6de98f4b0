"""riskcal: its CTDAccountant (dp-accounting's PLD underneath) and its own calibration, with
default settings.
"""

from __future__ import annotations

from riskcal.accountants import CTDAccountant
from riskcal.calibration import find_noise_multiplier_for_epsilon_delta

from bench.peers import Answerer
from bench.questions import Question


def answer(question: Question) -> list[float]:
    """Ask riskcal. The history is set at once, because ``step`` counts one at a time."""
    parts = question.gaussians()
    if question.want == "sigma":
        part = question.single
        result = find_noise_multiplier_for_epsilon_delta(
            CTDAccountant,
            part.rate,
            part.count,
            question.epsilons[0],
            question.target_delta,
            mu_min=0.4,
            mu_max=20.0,
        )
        return [float(result)]
    accountant = CTDAccountant()
    accountant.history = [(part.parameter, part.rate, part.count) for part in parts]
    if question.want == "epsilon":
        return [float(accountant.get_epsilon(delta=question.target_delta))]
    loss = accountant.get_pld()
    return [float(delta) for delta in loss.get_delta_for_epsilon(question.epsilons)]


def answerer(name: str) -> Answerer:
    """There is one setting only."""
    return answer
