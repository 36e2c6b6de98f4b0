"""Wang, Balle, Kasiviswanathan. Subsampled Renyi Differential Privacy and Analytical Moments Accountant."""

from __future__ import annotations

import dpacct as dp
from dpacct.papers.oracle import oracle
from dpacct.plan import sampled_renyi


# Theorem 9 and Appendix B.5
def theorem9(alpha: int, tau: float, sigma: float) -> float:
    """Renyi divergence of whole order `alpha`, at most; `sigma` = std / replace-one sensitivity."""
    return sampled_renyi.theorem9(alpha, tau, sigma)


@oracle("theorem9", draws=250, within=1e-7)
def without_replacement(alpha: int, tau: float, sigma: float) -> float | None:
    """The dominating pair C_tau of the Gaussian under replace-one, by the exact engine."""
    if sigma < 0.05:
        return None
    return float(dp.WithoutReplacement(tau)(dp.Gaussian(sigma=sigma)).rdp(alpha))
