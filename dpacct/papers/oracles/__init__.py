"""Oracles: the truth that statements are judged by, which shares no formula with them."""
