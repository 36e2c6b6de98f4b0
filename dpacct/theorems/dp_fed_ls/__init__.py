"""Liang, Wang, Gu, Osher, Yao. Exploring Private Federated Learning with Laplacian Smoothing. 2020."""

from dpacct.theorems.entry import Paper

PAPER = Paper(
    "dp_fed_ls",
    "Exploring Private Federated Learning with Laplacian Smoothing",
    "Liang, Wang, Gu, Osher, Yao",
    2020,
    "arXiv:2005.00218",
)
