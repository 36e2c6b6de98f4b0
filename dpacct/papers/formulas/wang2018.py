"""Wang, Balle, Kasiviswanathan. Subsampled Renyi Differential Privacy and Analytical Moments Accountant."""

from __future__ import annotations

from dpacct.papers import sampled_renyi


# Theorem 9 and Appendix B.5
def theorem9(alpha: int, tau: float, sigma: float) -> float:
    return sampled_renyi.theorem9(alpha, tau, sigma)
