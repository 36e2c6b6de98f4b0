"""Secure sum: the server learns only the sum of the parties' vectors.

The protocol of Bonawitz et al. 2017 (Practical Secure Aggregation): each two parties agree on a mask that
one adds and the other takes off, each adds one of its own besides, and both kinds can be told from
any `threshold` parties' shares: of who answered, its own mask; of who did not, its key to the pair
masks; never both of one party.

Nothing of a party's vector but what the sum tells is learned by a server that keeps to the protocol
together with fewer than `threshold` parties; by one that lies about who answered, where twice the
threshold is above the number of parties and those that are with it. Parties are believed to bound and
hide what they send; a server that hands out keys of its own in other parties' place is not noticed.

`SecureSum` is an engine around another that lets only sums through; `answered` is what its hosts answer to
it. A party is a task: a host's clients with equally many samples. Four questions make a sum: for keys, for
shares of them, for the masked sums of those who answered so far, and, of those, for what takes the masks
off. A host that is lost before it sent its sum is missing from the round; where fewer than two thirds are
left, nothing is learned of anyone, and the round has no answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.algorithm import Array, Arrays
from dpacct_training.engines import Engine, WrappedEngine
from dpacct_training.extras import required
from dpacct_training.keys import Keys, Stream
from dpacct_training.lattice import NoiseLattice
from dpacct_training.noise import Meters
from dpacct_training.plan import SHARES, Plan
from dpacct_training.site import OPEN_SUM, SHARE_KEYS, SHOW_KEYS, SUM, TRAIN, Host, Reply, Task

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
        """Seal for each party its share of this one's masking key, and of its own mask's seed."""
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


_SAID = "secure "  # before the names of what the protocol sends, beside what the algorithm does


def lattices(plan: Plan) -> dict[str, NoiseLattice]:
    """The plan's noises, in the order of a masked vector. Raises `InvalidArgument`."""
    noises = {
        n: noise for n, noise in sorted(plan.noise.items()) if isinstance(noise, NoiseLattice)
    }
    if plan.by != SHARES or len(noises) < len(plan.noise) or plan.records:
        message = 'a secure sum needs noise by = "shares" with [privacy] lattice = true'
        raise dp.InvalidArgument(f"{message}, got by = {plan.by!r}", argument="secure")
    return noises


def _bytes(rows: Sequence[bytes], size: int) -> Array:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), size)


# --- a host


def answered(host: Host, task: Task) -> Reply:
    """A host's answer to one of the four questions."""
    noises = lattices(host.plan)
    said = {n.removeprefix(_SAID): a for n, a in task.sent.items() if n.startswith(_SAID)}
    plain = {name: array for name, array in task.sent.items() if not name.startswith(_SAID)}
    question = replace(task, kind=TRAIN, sent=plain)
    party = Party(_keys(host, question))
    if task.kind == SHOW_KEYS:
        return Reply(task.clients, {"public": _bytes([party.public], PUBLIC)})
    publics = [bytes(row) for row in said["publics"]]
    me = publics.index(party.public)
    if task.kind == SHARE_KEYS:
        sealed = party.shares(me, publics, threshold(len(publics)))
        return Reply(task.clients, {"sealed": _bytes(sealed, SEALED)})
    taking = [int(other) for other in said["taking"]]
    if task.kind == SUM:
        reply = host.train(question)
        whole = [noise.whole(reply.rows[n].sum(axis=0)) for n, noise in noises.items()]
        masked = party.masked(me, publics, taking, np.concatenate(whole))
        return replace(reply, rows={"masked": masked[None]})
    sealed_for_me = {o: bytes(row) for o, row in zip(taking, said["sealed"], strict=True)}
    opened = party.opened(me, publics, sealed_for_me, [int(o) for o in said["answered"]])
    rows = [opened[other].to_bytes(OPENED, "little") for other in taking]
    return Reply(task.clients, {"opened": _bytes(rows, OPENED)})


def _keys(host: Host, question: Task) -> Keys:
    """Derive the keys for this question and these clients only."""
    about = f"secure {question.digest} {question.clients}"
    if host.keys is not None:
        return host.keys.derived(about)
    secrets = b"".join(question.keys[client].key for client in question.clients)
    return Keys(hashlib.blake2b(secrets, digest_size=32).digest(), "of its clients").derived(about)


# --- the server


class SecureSum(WrappedEngine):
    """An engine that passes on a single sum over all clients that answered a round."""

    def __init__(self, inner: Engine, plan: Plan) -> None:
        super().__init__(inner)
        self.noises = lattices(plan)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """One reply for all clients whose hosts saw it through, and a refusal for each other task."""
        if not tasks or tasks[0].kind != TRAIN:
            yield from self.inner.ask(tasks)
            return
        came = self._summed(tasks)
        if came is not None:
            yield came
        for task in tasks:
            if came is None or not set(task.clients) <= set(came.clients):
                yield Reply(task.clients, {}, refused="not in the secure sum")

    def _summed(self, tasks: Sequence[Task]) -> Reply | None:
        """The sum of all that saw it through; None where they are too few."""
        shown = self._answers(SHOW_KEYS, [(task, {}) for task in tasks], "public", (1, PUBLIC))
        members = [task for task in tasks if task.clients in shown]
        publics = [bytes(shown[task.clients].rows["public"][0]) for task in members]
        said: Arrays = {"publics": _bytes(publics, PUBLIC)}
        least, shape = max(2, threshold(len(members))), (len(members), SEALED)
        shared = self._answers(SHARE_KEYS, [(task, said) for task in members], "sealed", shape)
        taking = [place for place, task in enumerate(members) if task.clients in shared]
        if len(taking) < least:
            return None
        said = {**said, "taking": np.array(taking)}
        among, size = (
            [members[place] for place in taking],
            sum(n.size for n in self.noises.values()),
        )
        sums = self._answers(SUM, [(task, said) for task in among], "masked", (1, size), np.uint64)
        answered = [place for place in taking if members[place].clients in sums]
        if len(answered) < least:
            return None
        said = {**said, "answered": np.array(answered)}
        sealed = {
            me: [shared[task.clients].rows["sealed"][me] for task in among] for me in answered
        }
        asked = [(members[me], {**said, "sealed": np.stack(sealed[me])}) for me in answered]
        pieces = self._answers(OPEN_SUM, asked, "opened", (len(taking), OPENED))
        opened = {
            me: {
                other: int.from_bytes(bytes(row), "little")
                for other, row in zip(
                    taking, pieces[members[me].clients].rows["opened"], strict=True
                )
            }
            for me in answered
            if members[me].clients in pieces
        }
        if len(opened) < least:
            return None
        vectors = {me: sums[members[me].clients].rows["masked"][0] for me in answered}
        total = unmasked(vectors, publics, taking, opened, least)
        return self._reply([sums[members[me].clients] for me in answered], total)

    def _answers(
        self,
        kind: str,
        asked: Sequence[tuple[Task, Arrays]],
        name: str,
        shape: tuple[int, int],
        number: type[np.generic] = np.uint8,
    ) -> dict[tuple[int, ...], Reply]:
        """Return, by clients, the answers whose array has the required name, shape and type."""
        questions = [
            replace(task, kind=kind, sent={**task.sent, **{_SAID + n: a for n, a in said.items()}})
            for task, said in asked
        ]
        answers = {}
        for reply in self.inner.ask(questions):
            array = reply.rows.get(name)
            if array is not None and array.shape == shape and array.dtype == number:
                answers[reply.clients] = reply
        return answers

    def _reply(self, replies: Sequence[Reply], total: Array) -> Reply:
        rows, first, meters = {}, 0, Meters()
        for name, noise in self.noises.items():
            rows[name] = (total[first : first + noise.size] * noise.step)[None]
            first += noise.size
        memory: dict[int, Arrays] = {}
        for reply in replies:
            meters.add(reply.meters)
            memory |= reply.memory
        clients = tuple(sorted(client for reply in replies for client in reply.clients))
        return Reply(clients, rows, memory, meters, summed=True)
