"""Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018."""

from __future__ import annotations

from dpacct.pld.conversions import gaussian_delta as theorem8

__all__ = ["theorem8"]
