"""Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by Shuffling. SODA 2019."""

from __future__ import annotations

from dpacct.shuffling.published import erlingsson_epsilon as closed

__all__ = ["closed"]
