"""Zhu et al. Private federated learning by voting (AE-DPFL), its appendix."""

from dpacct.theorems.entry import Paper

PAPER = Paper(
    "ae_dpfl",
    "Voting-based Approaches for Differentially Private Federated Learning",
    "Zhu, Yu, Tsai, Pittaluga, Faraki, Chandraker, Wang",
    2021,
    "arXiv:2010.04851, appendix",
)
