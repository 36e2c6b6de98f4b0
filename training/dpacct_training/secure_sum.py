"""Secure sum: the server learns only the sum of the parties' vectors.

The protocol of Bonawitz et al. 2017 (Practical Secure Aggregation): each two parties agree on a mask that
one adds and the other takes off, each adds one of its own besides, and both kinds can be told from
any `threshold` parties' shares: of who answered, its own mask; of who did not, its key to the pair
masks; never both of one party.

Nothing of a party's vector but what the sum tells is learned by a server that keeps to the protocol
together with fewer than `threshold` parties; by one that lies about who answered, where twice the
threshold is above the number of parties and those that are with it. Parties are believed to bound and
hide what they send; a server that hands out keys of its own in other parties' place is not noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.extras import required
from dpacct_training.keys import Keys, Stream

FIELD = 2**61 - 1
"""A prime: sums are of vectors modulo it, and fit into 64 bits before they are reduced."""
_SECRETS = 2**521 - 1
"""A prime above every secret of 256 bits, for their shares."""
OPENED = 66
"""Bytes of a number below `_SECRETS`: of one share."""
PUBLIC, SEALED = 96, 2 * OPENED + 16
"""Bytes of what a party tells everyone, and of what it tells another one."""
Words = NDArray[np.uint64]


def threshold(parties: int) -> int:
    """Two thirds and one: enough against a server that lies, as long as fewer than a third are with it.

    >>> [threshold(n) for n in (2, 3, 10)]
    [2, 3, 7]
    """
    return 2 * parties // 3 + 1


# --- arithmetic


def plus(left: Words, right: Words, prime: int = FIELD) -> Words:
    """The sum modulo a prime of at most 62 bits."""
    total: Words = (left + right) % np.uint64(prime)
    return total


def minus(left: Words, right: Words, prime: int = FIELD) -> Words:
    """The difference."""
    return plus(left, (np.uint64(prime) - right) % np.uint64(prime), prime)


def lifted(vector: NDArray[np.int64], prime: int = FIELD) -> Words:
    """Whole numbers as residues."""
    return (vector % prime).astype(np.uint64)


def centred(words: Words, prime: int = FIELD) -> NDArray[np.int64]:
    """Residues as the whole numbers nearest to 0."""
    signed = words.astype(np.int64)
    return np.where(signed > prime // 2, signed - prime, signed)


def masked(
    vector: Words, self_mask: Words, pairs: Mapping[int, Words], me: int, prime: int
) -> Words:
    """A party's masked vector: its own mask, and pairwise masks that cancel in the sum."""
    total = plus(vector, self_mask, prime)
    for other, mask in pairs.items():
        total = plus(total, mask, prime) if me < other else minus(total, mask, prime)
    return total


def split(secret: int, count: int, least: int, random: Sequence[int], prime: int) -> list[int]:
    """Shares of a secret (Shamir 1979): any `least` tell it, and fewer tell nothing.

    `random`: least - 1 uniform numbers below the prime. The share of party i is at i + 1.

    >>> combined({0: 3, 2: 0}, 7)
    1
    >>> split(1, 3, 2, [2], 7)
    [3, 5, 0]
    """
    shares = []
    for place in range(1, count + 1):
        value = 0
        for coefficient in [*reversed(random[: least - 1]), secret]:
            value = (value * place + coefficient) % prime
        shares.append(value)
    return shares


def combined(shares: Mapping[int, int], prime: int) -> int:
    """The secret of these shares, by party."""
    secret = 0
    for i, share in shares.items():
        above, below = 1, 1
        for j in shares:
            if j != i:
                above, below = above * (j + 1) % prime, below * (j - i) % prime
        secret = (secret + share * above * pow(below, -1, prime)) % prime
    return secret


def mask(seed: bytes, size: int) -> Words:
    """Uniform residues of a seed."""
    stream = Stream(seed)
    words = stream.words(size) >> np.uint64(3)
    while (over := words == FIELD).any():  # one number in 2^61
        words[over] = stream.words(int(over.sum())) >> np.uint64(3)
    return words


# --- keys


def _agreed(private: bytes, public: bytes, about: str) -> bytes:
    x25519 = required("cryptography.hazmat.primitives.asymmetric.x25519")
    key = x25519.X25519PrivateKey.from_private_bytes(private)
    shared: bytes = key.exchange(x25519.X25519PublicKey.from_public_bytes(public))
    return hashlib.blake2b(about.encode(), key=shared, digest_size=32).digest()


def _public(private: bytes) -> bytes:
    x25519 = required("cryptography.hazmat.primitives.asymmetric.x25519")
    public: bytes = (
        x25519.X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    )
    return public


def _commitment(seed: bytes) -> bytes:
    return hashlib.blake2b(seed, person=b"own mask", digest_size=32).digest()


def _pair(private: bytes, public: bytes, party: int, other: int) -> bytes:
    return _agreed(private, public, f"pair {min(party, other)} {max(party, other)}")


@dataclass(frozen=True)
class Party:
    """One party of one sum; all of its secrets come from `keys`, which are of this sum only.

    So a party that is started again says the same again.
    """

    keys: Keys

    def _secret(self, purpose: str) -> bytes:
        return self.keys.stream(f"secure sum {purpose}").key

    @cached_property
    def public(self) -> bytes:
        """Two public keys, one to seal by and one to mask by, and a commitment to its own mask."""
        sealing, masking = _public(self._secret("sealing")), _public(self._secret("masking"))
        return sealing + masking + _commitment(self._secret("own"))

    def shares(self, me: int, publics: Sequence[bytes], least: int) -> list[bytes]:
        """For each party, sealed: its share of this one's masking key, and of its own mask's seed."""
        stream = self.keys.stream("secure sum shares")
        pieces = []
        for purpose in ("masking", "own"):
            random = [
                int.from_bytes(stream.words(9).tobytes(), "little") % _SECRETS
                for _ in range(least - 1)
            ]
            secret = int.from_bytes(self._secret(purpose), "little")
            pieces.append(split(secret, len(publics), least, random, _SECRETS))
        return [
            self._cipher(me, other, publics[other]).encrypt(
                bytes(12),
                b"".join(piece[other].to_bytes(OPENED, "little") for piece in pieces),
                None,
            )
            for other in range(len(publics))
        ]

    def _cipher(self, sender: int, receiver: int, public: bytes) -> Any:
        """Each key seals one message only, so its nonce may be 0."""
        aead = required("cryptography.hazmat.primitives.ciphers.aead")
        key = _agreed(self._secret("sealing"), public[:32], f"sealed {sender} {receiver}")
        return aead.ChaCha20Poly1305(key)

    def masked(
        self, me: int, publics: Sequence[bytes], taking: Iterable[int], vector: NDArray[np.int64]
    ) -> Words:
        """The vector as it leaves, among the parties that take part."""
        private, size = self._secret("masking"), len(vector)
        pairs = {
            other: mask(_pair(private, publics[other][32:64], me, other), size)
            for other in taking
            if other != me
        }
        return masked(lifted(vector), mask(self._secret("own"), size), pairs, me, FIELD)

    def opened(
        self,
        me: int,
        publics: Sequence[bytes],
        sealed: Mapping[int, bytes],
        answered: Iterable[int],
    ) -> dict[int, int]:
        """This party's share of each one's own mask where it answered, else of its masking key.

        Raises `AssumptionViolated` where a seal is broken.
        """
        came, opened = set(answered), {}
        exceptions = required("cryptography.exceptions")
        for other, text in sealed.items():
            try:
                plain = self._cipher(other, me, publics[other]).decrypt(bytes(12), text, None)
            except exceptions.InvalidTag:
                message = f"what party {other} sealed must arrive unchanged"
                raise dp.AssumptionViolated(message, argument="secure") from None
            piece = plain[OPENED:] if other in came else plain[:OPENED]
            opened[other] = int.from_bytes(piece, "little")
        return opened


# --- the server


def unmasked(
    vectors: Mapping[int, Words],
    publics: Sequence[bytes],
    taking: Iterable[int],
    opened: Mapping[int, Mapping[int, int]],
    least: int,
) -> NDArray[np.int64]:
    """The sum of the vectors that came; `opened`: by who opened, then by whose share it is.

    Raises `AssumptionViolated` where too few opened, or a share is not what was promised.
    """
    if len(opened) < least:
        message = f"{least} parties must open the sum, and {len(opened)} did"
        raise dp.AssumptionViolated(message, argument="secure")
    size = len(next(iter(vectors.values())))
    total = np.zeros(size, np.uint64)
    for vector in vectors.values():
        total = plus(total, vector)
    openers = sorted(opened)[:least]
    for party in taking:
        number = combined({opener: opened[opener][party] for opener in openers}, _SECRETS)
        secret = number.to_bytes(OPENED, "little")[:32]
        if party in vectors:
            if _commitment(secret) != publics[party][64:]:
                raise _broken(party)
            total = minus(total, mask(secret, size))
            continue
        if number >= 2**256 or _public(secret) != publics[party][32:64]:
            raise _broken(party)
        for other in vectors:  # what the others added or took off for it
            pair = mask(_pair(secret, publics[other][32:64], party, other), size)
            total = minus(total, pair) if other < party else plus(total, pair)
    return centred(total)


def _broken(party: int) -> dp.AssumptionViolated:
    message = f"the opened secret of party {party} must be the one that it promised"
    return dp.AssumptionViolated(message, argument="secure")
