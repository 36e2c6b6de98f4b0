"""Random numbers keyed by (run, round, client, purpose), never by the order of calls.

Each key drives AES-256 in counter mode, a cryptographic generator: with a key from the operating
system nobody can predict the noise, and with a key from a seed the run replays, bit for bit.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import whole
from dpacct_training.extras import required

SECURE = "operating system"
SEEDED = "seed"


class Stream:
    """The random words of one purpose; two streams of the same key give the same words."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        ciphers = required("cryptography.hazmat.primitives.ciphers")
        cipher = ciphers.Cipher(ciphers.algorithms.AES256(key), ciphers.modes.CTR(bytes(16)))
        self._encryptor: Any = cipher.encryptor()

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next `count` words of 64 bits."""
        return np.frombuffer(self._encryptor.update(bytes(8 * count)), dtype="<u8")

    def normals(self, count: int) -> NDArray[np.float64]:
        """The next `count` standard normal numbers, in double precision (Box and Muller 1958).

        The radius takes all 64 bits of its word: the largest value is 9.4, where 32-bit generators
        stop at 5.8.
        """
        half = (count + 1) // 2
        words = self.words(2 * half)
        radius = words[:half].astype(np.float64)
        radius += 1.0
        radius *= 2.0**-64
        np.log(radius, out=radius)
        radius *= -2.0
        np.sqrt(radius, out=radius)
        angle = (words[half:] >> np.uint64(11)).astype(np.float64)
        angle *= 2.0 * np.pi * 2.0**-53
        found = np.empty(2 * half)
        np.multiply(radius, np.cos(angle), out=found[:half])
        np.multiply(radius, np.sin(angle), out=found[half:])
        return found[:count]


@dataclass(frozen=True)
class Keys:
    """The secret of a run; `source` says where it came from, and every report repeats it.

    >>> keys = Keys.from_seed(1)
    >>> same = keys.stream("noise", round=3).normals(4) == keys.stream("noise", round=3).normals(4)
    >>> bool(same.all()), keys.source
    (True, 'seed')
    """

    secret: bytes = field(repr=False)
    source: str

    @classmethod
    def from_seed(cls, seed: int) -> Keys:
        """Replayable: whoever knows the seed knows the noise."""
        text = f"dpacct-train {whole('seed', seed, 0, 2**63)}".encode()
        return cls(hashlib.sha256(text).digest(), SEEDED)

    @classmethod
    def fresh(cls) -> Keys:
        """256 bits from the operating system."""
        return cls(os.urandom(32), SECURE)

    def stream(self, purpose: str, *, round: int = 0, client: int = -1) -> Stream:
        """The stream of this purpose, round and client."""
        told = f"{purpose}|{round}|{client}".encode()
        return Stream(hashlib.blake2b(told, key=self.secret, digest_size=32).digest())

    def generator(self, purpose: str, *, round: int = 0, client: int = -1) -> np.random.Generator:
        """A numpy generator, keyed alike, for what privacy does not rest on: batch order, start."""
        told = f"{purpose}|{round}|{client}".encode()
        digest = hashlib.blake2b(told, key=self.secret, digest_size=16).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
