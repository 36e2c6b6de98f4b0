"""Shi et al. Towards the Flatter Landscape and Better Generalization in FL under Client-level DP. 2023."""

from dpacct.theorems.entry import Paper

PAPER = Paper(
    "dp_fedsam",
    "Towards the Flatter Landscape and Better Generalization in Federated Learning under Client-level "
    "Differential Privacy",
    "Shi, Wei, Shen, Liu, Wang, Yuan, Tao",
    2023,
    "arXiv:2305.00873",
)
