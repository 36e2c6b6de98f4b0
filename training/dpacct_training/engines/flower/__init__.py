"""Flower: the same tasks and the same hosts, with Flower's network between them.

Of Flower only messages, apps and the grid are used: coins, bounds, noise and accounts stay the plan's.
"""
