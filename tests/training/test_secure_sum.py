"""Secure sums: right, blind to all but the sum (by enumeration), and over every engine."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import dpacct as dp
from dpacct_training.engines.flower.grid import Flower
from dpacct_training.engines.flower.node import (
    OTHER_TASK,
    Disk,
    HostNode,
    client_app,
    from_task,
    to_reply,
    to_task,
)
from dpacct_training.engines.secure import (
    Party,
    SecureSum,
    centred,
    combined,
    lattices,
    lifted,
    masked,
    split,
    threshold,
    unmasked,
)
from dpacct_training.keys import Keys
from dpacct_training.lattice import NoiseLattice, discrete_normals
from dpacct_training.noise import NoiseMeter
from dpacct_training.run import Run
from dpacct_training.site import OPEN_SUM, SHARE_KEYS, SHOW_KEYS, SUM, TRAIN, Reply, Task
from tests.training.laws import Spy, begun, close, hosts
from tests.training.loopback import Clock, LoopbackGrid
from tests.training.systems import system

pytestmark = pytest.mark.usefixtures("flower_identity")


# --- the noise


@pytest.mark.parametrize("variance", [1.0, 20.5, 4104.0])
def test_discrete_normals_have_the_law(variance: float) -> None:
    """Against masses of 50 digits by mpmath: chi square over all places that are met often."""
    count = 100_000
    drawn = discrete_normals(count, variance, Keys.from_seed(1).stream("x"))
    met = Counter(drawn.tolist())
    with mpmath.workdps(50):
        masses = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * variance)) for k in range(-900, 901)}
        whole = mpmath.fsum(masses.values())
    wanted = {k: float(m / whole) * count for k, m in masses.items()}
    often = [k for k, n in wanted.items() if n > 20]
    square = sum((met[k] - wanted[k]) ** 2 / wanted[k] for k in often)
    close(square, len(often), (2 * len(often)) ** 0.5)


def test_a_lattice_row_is_within_its_clip_and_on_its_steps() -> None:
    noise = NoiseLattice(50, 0.3, 1.5, shares=10)
    rows = (
        np.random.default_rng(0).normal(size=(200, 50))
        * 10.0 ** np.arange(-4, 4).repeat(25)[:, None]
    )
    bounded = noise.bound(rows)
    assert np.linalg.norm(bounded, axis=1).max() <= 0.3
    assert np.abs(bounded / noise.step - np.rint(bounded / noise.step)).max() < 1e-6
    assert np.linalg.norm(bounded[-1]) > 0.9 * 0.3
    close_to = np.abs(bounded - rows)[np.linalg.norm(rows, axis=1) < 0.25]
    assert close_to.max() <= 0.5 * noise.step * (1 + 1e-9)


def test_shares_of_lattice_noise_are_the_accounted_noise() -> None:
    """Of ten shares and of what the server tops up: whole steps, and the variance of the node."""
    noise = NoiseLattice(4000, 1.0, 2.0, shares=10)
    keys, meter = Keys.from_seed(3), NoiseMeter()
    for clients in (10, 4, 0):
        total = np.zeros(4000)
        for client in range(clients):
            stream = keys.stream("share", client=client, round=clients)
            total = total + noise.add(np.zeros(4000), stream, meter, 0.1)
        total = noise.add(total, keys.stream("server", round=clients), meter, 1 - clients / 10)
        close((total**2).mean() / 4.0, 1.0, (2 / 4000) ** 0.5)
        assert np.abs(total / noise.step - np.rint(total / noise.step)).max() < 1e-3
    assert noise.node == dp.Gaussian(noise_multiplier=2, clip=1)
    assert noise.variance > 4.0  # more than is accounted: the squared steps that are given away


def _rounded(v: Any, w: Any, z: int) -> Any:
    """P[Z = z] of Z around a normal Y of variance v: by the trapezoidal rule, to 50 digits."""
    parts = 16  # of a step: the integrand is analytic, so that the rule's error falls exponentially
    sums = [_mass(w, mpmath.mpf(k) / parts) for k in range(parts)]
    reach = range(-30 * parts, 30 * parts)
    density = (
        mpmath.exp(
            -((mpmath.mpf(k) / parts) ** 2) / (2 * v) - (z - mpmath.mpf(k) / parts) ** 2 / (2 * w)
        )
        / sums[k % parts]
        for k in reach
    )
    return mpmath.fsum(density) / parts / mpmath.sqrt(2 * mpmath.pi * v)


def _mass(v: Any, t: Any = 0) -> Any:
    """R(v, t) of `lattice.py`, summed as it is written."""
    return mpmath.fsum(mpmath.exp(-((z - t) ** 2) / (2 * v)) for z in range(-40, 41))


def _off(v: Any) -> Any:
    """e(v)."""
    return 2 * mpmath.fsum(mpmath.exp(-2 * mpmath.pi**2 * v * j * j) for j in range(1, 8))


@mpmath.workdps(50)
def test_what_lattice_noise_rests_on() -> None:
    """(1), (2) and (3) of `lattice.py` where what they leave open is large enough to be seen."""
    tenth, half, unit, five = (mpmath.mpf(n) / 10 for n in (1, 5, 10, 50))
    for v in (half, unit, mpmath.mpf("1.7")):
        sums = [
            _mass(v, mpmath.mpf(k) / 16) / mpmath.sqrt(2 * mpmath.pi * v) - 1 for k in range(16)
        ]
        assert 0.999 * _off(v) < max(map(abs, sums)) <= _off(v) * (1 + mpmath.mpf(10) ** -20)
    for v, w in ((tenth, half), (tenth, unit), (five, half)):
        bound = (1 + _off(v + w)) / (1 - _off(w)) - 1
        ratios = [
            _rounded(v, w, z) / (mpmath.exp(-z * z / (2 * (v + w))) / _mass(v + w)) - 1
            for z in range(4)
        ]
        assert (bound / 100 if v < w / 2 else 0) < max(map(abs, ratios)) <= bound
    for a, b in ((half, half), (half, unit), (unit, five)):
        c = a * b / (a + b)
        bound = (1 + _off(a + b)) * (1 + _off(c)) / ((1 - _off(a)) * (1 - _off(b))) - 1
        ratios = []
        for z in range(4):
            both = (mpmath.exp(-x * x / (2 * a) - (z - x) ** 2 / (2 * b)) for x in range(-40, 41))
            single = mpmath.exp(-z * z / (2 * (a + b))) / _mass(a + b)
            ratios.append(mpmath.fsum(both) / (_mass(a) * _mass(b)) / single - 1)
        assert bound / 1e4 < max(map(abs, ratios)) <= bound
    assert _off(8) < 6e-69 and mpmath.log10(_off(mpmath.mpf(2048))) < -17000


# --- the sum


def summed(
    vectors: Sequence[Any], taking: Sequence[int], came: Sequence[int], opening: Sequence[int]
) -> Any:
    """One run of the protocol, among parties that are lost at each step."""
    parties = [Party(Keys.from_seed(n)) for n in range(len(vectors))]
    publics = [party.public for party in parties]
    least = threshold(len(parties))
    sealed = {me: parties[me].shares(me, publics, least) for me in taking}
    sent = {me: parties[me].masked(me, publics, taking, vectors[me]) for me in came}
    opened = {
        me: parties[me].opened(me, publics, {other: sealed[other][me] for other in taking}, came)
        for me in opening
    }
    return unmasked(sent, publics, taking, opened, least), sent


def test_the_sum_is_the_sum_whoever_is_lost() -> None:
    vectors = [np.random.default_rng(n).integers(-(2**40), 2**40, 6) for n in range(5)]
    for came in itertools.chain(itertools.combinations(range(5), 4), [range(5)]):
        total, sent = summed(vectors, range(5), list(came), list(came)[:4])
        assert np.array_equal(total, sum(vectors[n] for n in came))
        for n in came:
            assert not np.array_equal(centred(sent[n]), vectors[n])
    total, _ = summed(vectors, [0, 2, 3, 4], [0, 2, 3, 4], [0, 2, 3, 4])  # lost before the shares
    assert np.array_equal(total, sum(vectors[n] for n in (0, 2, 3, 4)))


def test_too_few_learn_nothing_and_a_false_share_is_noticed() -> None:
    vectors = [np.arange(3)] * 4
    with pytest.raises(dp.AssumptionViolated, match="3 parties must open the sum, and 2 did"):
        summed(vectors, range(4), range(4), [0, 1])
    parties = [Party(Keys.from_seed(n)) for n in range(3)]
    publics = [party.public for party in parties]
    sealed = [party.shares(me, publics, 3) for me, party in enumerate(parties)]
    sent = {me: party.masked(me, publics, range(3), vectors[0]) for me, party in enumerate(parties)}
    opened = {
        me: party.opened(me, publics, {o: sealed[o][me] for o in range(3)}, range(3))
        for me, party in enumerate(parties)
    }
    opened[1][2] += 1
    with pytest.raises(dp.AssumptionViolated, match="secret of party 2 must be the one"):
        unmasked(sent, publics, range(3), opened, 3)
    broken = bytes([sealed[0][1][0] ^ 1]) + sealed[0][1][1:]
    with pytest.raises(dp.AssumptionViolated, match="what party 0 sealed must arrive unchanged"):
        parties[1].opened(1, publics, {0: broken}, range(3))


SMALL = 5


def views(values: Sequence[int], colluders: set[int], lost: set[int]) -> Counter[Any]:
    """All that a server and its colluders see, over all masks, with how often they see it.

    Every party sends its masked number, the lost ones late; opened are the own masks of those who
    answered and all pair masks of those who did not; colluders' masks are known anyway.
    """
    parties = range(len(values))
    pairs = list(itertools.combinations(parties, 2))
    drawn = np.array(list(itertools.product(range(SMALL), repeat=len(pairs) + len(values))))
    pair = dict(zip(pairs, drawn.T.astype(np.uint64), strict=False))
    self_masks = drawn.T[len(pairs) :].astype(np.uint64)
    columns = []
    for me, value in enumerate(values):  # one place of the vectors for each choice of masks
        mine = {other: pair[min(me, other), max(me, other)] for other in parties if other != me}
        words = lifted(np.full(len(drawn), value), SMALL)
        columns.append(masked(words, self_masks[me], mine, me, SMALL))
    columns += [self_masks[me] for me in parties if me not in lost or me in colluders]
    columns += [mask for both, mask in pair.items() if set(both) & (lost | colluders)]
    columns += [np.full(len(drawn), values[colluder]) for colluder in sorted(colluders)]
    return Counter(map(tuple, np.array(columns, np.int64).T.tolist()))


@pytest.mark.parametrize(
    ("colluders", "lost"), [(set(), set()), ({0}, set()), (set(), {2}), ({1}, {0})]
)
def test_server_and_colluders_see_the_honest_sum_and_nothing_else(
    colluders: set[int], lost: set[int]
) -> None:
    """Enumerated: inputs with the same sum of honest parties who answered give the same views."""
    honest = [n for n in range(3) if n not in colluders | lost]
    values = [1, 3, 2]
    before, same, other = views(values, colluders, lost), list(values), list(values)
    if len(honest) > 1:  # moved from one to another
        same[honest[0]], same[honest[-1]] = values[honest[0]] + 2, values[honest[-1]] - 2
    for n in lost - colluders:  # what came too late has a mask that nobody opens
        same[n] = values[n] + 1
    assert views([v % SMALL for v in same], colluders, lost) == before
    other[honest[0]] += 1
    assert views([v % SMALL for v in other], colluders, lost) != before


def test_fewer_shares_than_the_threshold_tell_nothing() -> None:
    """Enumerated over all polynomials: any two of four shares have one law, whatever the secret."""
    prime, least = 7, 3
    for coalition in itertools.combinations(range(4), least - 1):
        laws = [
            Counter(
                tuple(split(secret, 4, least, random, prime)[c] for c in coalition)
                for random in itertools.product(range(prime), repeat=least - 1)
            )
            for secret in range(prime)
        ]
        assert all(law == laws[0] for law in laws) and len(laws[0]) == prime ** (least - 1)
    for whole in itertools.combinations(range(4), least):
        shares = split(5, 4, least, [1, 6], prime)
        assert combined({i: shares[i] for i in whole}, prime) == 5


# --- runs


def secure(**changes: Any) -> Any:
    return system("shares", privacy__lattice=True, privacy__rate=0.5, **changes)


def several(prepared: Any, count: int = 4, keys: Keys | None = None) -> Spy:
    engine = Spy(hosts(prepared, count), local=False)
    for number, host in enumerate(engine.hosts):
        host.keys = Keys.from_seed(number) if keys is None else keys
    return engine


def weights(run: Run) -> bytes:
    return run.state.server["weights"].tobytes()


def test_a_run_through_secure_sums_is_the_run_without() -> None:
    prepared = secure()
    plain, _ = begun(prepared)
    plain.finish(several(prepared))
    blind, _ = begun(prepared)
    blind.finish(SecureSum(several(prepared), prepared.plan))
    assert weights(blind) == weights(plain)
    assert blind.state.sizes == plain.state.sizes and not blind.state.missing
    assert blind.state.counts(prepared.plan) == plain.state.counts(prepared.plan)


def test_nothing_that_a_host_sends_is_a_row() -> None:
    """Masked words, keys and shares: uniform, and other with another host's masks."""
    prepared, words = secure(), []

    class Listening(Spy):
        def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
            for reply in super().ask(tasks):
                assert set(reply.rows) <= {"public", "sealed", "masked", "opened"}
                words.extend(reply.rows[n] for n in reply.rows if n == "masked")
                yield reply

    run, _ = begun(prepared)
    inner = Listening(several(prepared).hosts, local=False)
    for number, host in enumerate(inner.hosts):
        host.keys = Keys.from_seed(number)
    run.finish(SecureSum(inner, prepared.plan))
    sent = np.concatenate([w.ravel() for w in words]).astype(np.float64) / 2.0**61
    close(sent.mean(), 0.5, (1 / 12 / sent.size) ** 0.5)
    close((sent**2).mean(), 1 / 3, (4 / 45 / sent.size) ** 0.5)


class Losing(Spy):
    """Hosts that stop answering at one of the questions."""

    kind: str = SUM
    lost: tuple[int, ...] = (1,)

    def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        for reply, task in zip(super().ask(tasks), reversed(tasks), strict=True):
            gone = task.clients[0] % len(self.hosts) in self.lost and task.kind == self.kind
            yield replace(reply, rows={}, refused="no answer") if gone else reply


@pytest.mark.parametrize("kind", [SHOW_KEYS, SHARE_KEYS, SUM, OPEN_SUM])
def test_a_host_that_is_lost_is_missing_or_recovered(kind: str) -> None:
    """Before its sum it is missing, and the server draws its noise; after it the sum has it."""
    prepared = secure()
    run, _ = begun(prepared)
    inner = Losing(several(prepared).hosts, local=False)
    inner.kind = kind
    run.step(SecureSum(inner, prepared.plan), 1)
    sample = run.plan.sample(1, run.keys).clients.tolist()
    gone = [] if kind == OPEN_SUM else [client for client in sample if client % 4 == 1]
    assert run.state.sizes == (len(sample) - len(gone),)
    assert sum(run.state.missing.values()) == len(gone)
    run.check()
    beside, _ = begun(prepared)

    class Without(Spy):
        def ask(self, tasks: Sequence[Task]) -> Iterator[Reply]:
            for reply in super().ask(tasks):
                yield replace(reply, refused="gone") if reply.clients[0] in gone else reply

    beside.step(Without(several(prepared).hosts, local=False), 1)
    assert weights(run) == weights(beside)


@pytest.mark.parametrize("kind", [SHARE_KEYS, SUM, OPEN_SUM])
def test_a_sum_of_too_few_is_abandoned(kind: str) -> None:
    """Nobody's sum is learned; noise alone is released, as where nobody came."""
    prepared = secure()
    run, _ = begun(prepared)
    inner = Losing(several(prepared).hosts, local=False)
    inner.kind, inner.lost = kind, (1, 2)
    released = run.step(SecureSum(inner, prepared.plan), 1)["update"]
    assert run.state.sizes == (0,) and run.state.meters["update"].vectors == 1
    assert np.count_nonzero(released) > 0.9 * released.size
    run.check()


def test_what_cannot_be_summed_blindly_is_refused() -> None:
    with pytest.raises(dp.InvalidArgument, match="a secure sum needs noise by"):
        lattices(system("shares").plan)
    with pytest.raises(dp.InvalidArgument, match="lattice must be false where noise is not drawn"):
        system("dp_fedavg", privacy__lattice=True)
    with pytest.raises(dp.InvalidArgument, match="secure must be false but for the engine flower"):
        secure(engine__secure=True)


def test_over_flower_a_node_answers_each_question_once(tmp_path: Path) -> None:
    """So that no server learns a second sum of the same messages, with one host less."""
    prepared = secure(engine__secure=True, engine__name="flower", engine__hosts=4)

    def app(host: int) -> Any:
        return client_app(
            lambda context: HostNode(*hosts(prepared), Disk(tmp_path / str(host)), True)
        )

    grid = LoopbackGrid(app(host) for host in range(4))
    inner = Flower(grid, 4, poll=60.0, clock=Clock())
    run = Run(prepared.algorithm, prepared.plan, prepared.setting, Keys.fresh())
    run.finish(SecureSum(inner, prepared.plan))
    run.check()
    assert not run.state.missing and sum(run.state.sizes)
    kept = {}
    for message in grid.sent:
        if message.metadata.message_type == "train":
            kept[message.content["words"]["kind"]] = message.content

    def asked(kind: str, **changes: Any) -> str:
        task = to_task(kept[kind], lambda run, client, round: {})
        task = replace(task, sent={**task.sent, **changes})
        node = HostNode(*hosts(prepared), Disk(tmp_path / str(task.clients[0] % 4)), True)
        return to_reply(node.answer(from_task(task)), task).refused

    assert asked(SUM) == "" and asked(OPEN_SUM) == ""
    fewer = {"secure taking": np.array([0, 1, 2])}
    assert asked(SUM, **fewer) == OTHER_TASK
    assert asked(OPEN_SUM, **{"secure answered": np.array([0, 1, 2])}) == OTHER_TASK
    plain = to_plain(kept[SUM])
    node = HostNode(*hosts(prepared), Disk(tmp_path / str(plain.clients[0] % 4)), True)
    assert to_reply(node.answer(from_task(plain)), plain).refused == "only in a secure sum"


def to_plain(record: Any) -> Task:
    task = to_task(record, lambda run, client, round: {})
    sent = {name: array for name, array in task.sent.items() if not name.startswith("secure ")}
    return replace(task, kind=TRAIN, sent=sent)
