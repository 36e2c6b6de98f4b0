"""Zheng, Chen, Long, Su. Federated f-Differential Privacy. AISTATS 2021."""

from dpacct.theorems.entry import Paper

PAPER = Paper(
    "federated_fdp",
    "Federated f-Differential Privacy",
    "Zheng, Chen, Long, Su",
    2021,
    "AISTATS, arXiv:2102.11158",
)
