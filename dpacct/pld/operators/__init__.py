"""Operators on a branch of a loss distribution, one file each."""

from .blended import Blended
from .exchanged import Exchanged, exchanged_coins
from .operator import Chain, Functions, Operator
from .reversed import Reversed
from .sampled import SampledLoss

__all__ = [
    "Blended",
    "Chain",
    "Exchanged",
    "Functions",
    "Operator",
    "Reversed",
    "SampledLoss",
    "exchanged_coins",
]
