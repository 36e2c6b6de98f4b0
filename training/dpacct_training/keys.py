"""Random numbers keyed by (run, purpose, round, client), never by the order of calls.

Each key drives AES-256 in counter mode, a cryptographic generator: with a key from the operating
system nobody can predict the noise, and with a key from a seed the run replays, bit for bit. What a
client is sent is a child of the run's key, of which neither the key nor another child can be told.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpacct_training.accept import whole
from dpacct_training.extras import required, torch

SECURE = "operating system"
SEEDED = "seed"
ELSEWHERE = "of its machine"


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
        stop at 5.8. Torch's loops take half the time of numpy's.
        """
        library = torch()
        half = (count + 1) // 2
        words = self.words(2 * half)
        radius = library.from_numpy(words[:half].astype(np.float64))
        radius.add_(1.0).mul_(2.0**-64).log_().mul_(-2.0).sqrt_()
        angle = library.from_numpy((words[half:] >> np.uint64(11)).astype(np.float64))
        angle.mul_(2.0 * np.pi * 2.0**-53)
        numbers = library.empty(2 * half, dtype=library.float64)
        library.mul(radius, library.cos(angle), out=numbers[:half])
        library.mul(radius, library.sin(angle), out=numbers[half:])
        normals: NDArray[np.float64] = numbers[:count].numpy()
        return normals

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """The next `count` uniform numbers in (0, 1], all 53 bits of a double."""
        return ((self.words(count) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53

    def signs(self, count: int) -> NDArray[np.float64]:
        """The next `count` fair signs, +1 or -1."""
        return 1.0 - 2.0 * (self.words(count) >> np.uint64(63)).astype(np.float64)


@dataclass(frozen=True)
class Child:
    """The keys of one client for one round."""

    key: bytes = field(repr=False)

    def stream(self, purpose: str) -> Stream:
        """The client's own stream for a purpose."""
        digest = hashlib.blake2b(purpose.encode(), key=self.key, digest_size=32).digest()
        return Stream(digest)

    def generator(self, purpose: str) -> np.random.Generator:
        """A numpy generator, keyed alike, for what privacy does not rest on: the batch order."""
        return _philox(purpose.encode(), self.key)


@dataclass(frozen=True)
class Keys:
    """The secret of a run; `source` says where it came from, and every report repeats it."""

    secret: bytes = field(repr=False)
    source: str

    @classmethod
    def from_seed(cls, seed: int) -> Keys:
        """Keys from a seed, for replay: whoever knows the seed knows the noise."""
        text = f"dpacct-train {whole('seed', seed, 0, 2**63)}".encode()
        return cls(hashlib.sha256(text).digest(), SEEDED)

    @classmethod
    def fresh(cls, source: str = SECURE) -> Keys:
        """256 bits from the operating system."""
        return cls(os.urandom(32), source)

    def stream(self, purpose: str, *, round: int = 0, client: int = -1) -> Stream:
        """The stream of this purpose, round and client."""
        return Stream(self._digest(purpose, round, client))

    def child(self, round: int, client: int) -> Child:
        """The key of one client in one round."""
        return Child(self._digest("client", round, client))

    def generator(self, purpose: str, *, round: int = 0, client: int = -1) -> np.random.Generator:
        """A numpy generator, keyed alike, for what privacy does not rest on: the start."""
        return _philox(f"{purpose}|{round}|{client}".encode(), self.secret)

    @property
    def name(self) -> str:
        """A public name of the run that has this key, by which its hosts know it again."""
        return hashlib.blake2b(b"name", key=self.secret, digest_size=16).hexdigest()

    def derived(self, text: str) -> Keys:
        """Keys derived for a text; the secret cannot be recovered from them."""
        digest = hashlib.blake2b(text.encode(), key=self.secret, digest_size=32).digest()
        return Keys(digest, self.source)

    def _digest(self, purpose: str, round: int, client: int) -> bytes:
        text = f"{purpose}|{round}|{client}".encode()
        return hashlib.blake2b(text, key=self.secret, digest_size=32).digest()


def _philox(text: bytes, key: bytes) -> np.random.Generator:
    digest = hashlib.blake2b(text, key=key, digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
