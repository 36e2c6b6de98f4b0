"""Feng et al. Universally Harmonizing Differential Privacy Mechanisms for Federated Learning. 2024."""

from dpacct.theorems.entry import Paper

PAPER = Paper(
    "udp_fl",
    "Universally Harmonizing Differential Privacy Mechanisms for Federated Learning (UDP-FL)",
    "Feng, Mohammady, Hong, Yan, Kundu, Wang, Hong",
    2024,
    "arXiv:2407.14710",
)
