"""Balle, Bell, Gascon, Nissim. The Privacy Blanket of the Shuffle Model. CRYPTO 2019.

The four bounds are those of `dpacct shuffle`.
"""

from __future__ import annotations

from dpacct.shuffling.published import bennett, bennett_rr, hoeffding, hoeffding_rr

__all__ = ["bennett", "bennett_rr", "hoeffding", "hoeffding_rr"]
