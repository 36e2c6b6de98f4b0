"""The meaning of a bare noise multiplier, which Flower, dp_accounting and jax_privacy leave open.

One ambiguity is never settled silently. A Gaussian's noise multiplier is "s / C" for values of norm at most
C. Under replace-one the sensitivity is 2C, and half of the world divides by that instead, so there the
caller has to say which is meant (google/differential-privacy#378).
"""

from __future__ import annotations

from typing import NamedTuple

from dpacct import Adjacency, Gaussian, InvalidArgument, Node

AMBIGUOUS = (
    "noise_multiplier is ambiguous under replace-one: say noise_multiplier_of='clip' (std / norm "
    "bound, as the event's documentation has it) or 'sensitivity' (std / twice that)"
)


class EventMeaning(NamedTuple):
    """The meaning of an event's numbers: the adjacency, and the divisor of the noise."""

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    noise_multiplier_of: str | None = None

    def factor(self) -> int | None:
        """Sensitivity over what noise was divided by: 1, or 2; None where it is not known."""
        if self.adjacency.clip_factor == 1 or self.noise_multiplier_of == "sensitivity":
            return 1
        return self.adjacency.clip_factor if self.noise_multiplier_of == "clip" else None

    def gaussian(self, noise_multiplier: float) -> Node:
        """Noise of which an event says this; `factor` must be known."""
        if self.factor() == self.adjacency.clip_factor:
            return Gaussian(noise_multiplier=noise_multiplier, clip=1)
        return Gaussian(sigma=noise_multiplier)


def meaning(
    adjacency: Adjacency | str | None = None, noise_multiplier_of: str | None = None
) -> EventMeaning:
    """Return the checked meaning; raises `InvalidArgument`."""
    if noise_multiplier_of not in (None, "clip", "sensitivity"):
        message = "noise_multiplier_of must be 'clip', 'sensitivity' or None"
        raise InvalidArgument(
            f"{message}, got {noise_multiplier_of!r:.40}", argument="noise_multiplier_of"
        )
    word = Adjacency.ADD_REMOVE if adjacency is None else Adjacency.parse(adjacency)
    return EventMeaning(word, noise_multiplier_of)
