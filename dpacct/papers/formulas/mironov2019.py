"""Mironov, Talwar, Zhang. Renyi Differential Privacy of the Sampled Gaussian Mechanism. 2019."""

from __future__ import annotations

from dpacct.papers.sampled_renyi import any_order as fractional
from dpacct.papers.sampled_renyi import whole_order as integer

__all__ = ["fractional", "integer"]
