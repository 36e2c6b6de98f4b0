"""A ledger that is not, byte for byte, as it was written is refused, and the message says where."""

import json
import os
import re
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger.store import GENESIS, SECTOR, Head, Store, beside, seal
from tests.ledger.ledgers import (
    BUDGET,
    STEP,
    copied,
    edited,
    lines,
    old,
    small,
)


def read(path: Path) -> Store:
    """Read and verify the whole file; no question about privacy is asked."""
    store = Store(path, writable=False, timeout=5)
    try:
        with store.session():
            return store
    finally:
        store.close()


@pytest.fixture(params=["version 1", "version 2"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    (old if request.param == "version 1" else small)(tmp_path / "a.ledger")
    return tmp_path / "a.ledger"


@pytest.mark.parametrize("which", ["ledger", "head"])
def test_every_single_byte_is_covered(path: Path, which: str) -> None:
    """Each byte of both files, with every one of its bits, and a few whole bytes, changed."""
    target = path if which == "ledger" else beside(path)
    whole = target.read_bytes()
    assert len(whole) > 150
    with target.open("r+b", buffering=0) as file:
        for at, byte in enumerate(whole):
            for other in ({byte ^ 1 << bit for bit in range(8)} | {0, 10}) - {byte}:
                os.pwrite(file.fileno(), bytes([other]), at)
                with pytest.raises(dp.LedgerDamaged):
                    read(path)
            os.pwrite(file.fileno(), bytes([byte]), at)
    assert len(read(path).records) == 4


def test_every_single_byte_is_covered_while_the_ledger_is_in_use(tmp_path: Path) -> None:
    """As a crash leaves it: of the head only the newer slot may differ, and as much is counted then."""
    path = tmp_path / "a.ledger"
    small(path, closed=False)._store.close()
    healed = set()
    for file in (path, beside(path)):
        with file.open("r+b", buffering=0) as handle:
            for at, byte in enumerate(file.read_bytes()):
                for other in {byte ^ 1, 0} - {byte}:
                    os.pwrite(handle.fileno(), bytes([other]), at)
                    try:
                        store = read(path)
                    except dp.LedgerDamaged:
                        continue
                    assert file != path and len(store.records) == 4
                    healed.add(at // SECTOR)
                os.pwrite(handle.fileno(), bytes([byte]), at)
    assert len(healed) == 1


def test_every_length_but_the_whole_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in reversed(range(len(whole))):
        os.truncate(path, length)
        with pytest.raises(dp.LedgerDamaged, match="cut short"):
            read(path)


def test_every_line_taken_out_doubled_or_swapped(path: Path) -> None:
    kept = lines(path)
    count = len(kept)
    for i in range(count):
        wrong = [kept[:i] + kept[i + 1 :], kept[: i + 1] + kept[i:]]
        wrong += [
            [*kept[:i], kept[j], *kept[i + 1 : j], kept[i], *kept[j + 1 :]]
            for j in range(i + 1, count)
        ]
        for order in wrong:
            path.write_bytes(b"".join(order))
            with pytest.raises(dp.LedgerDamaged):
                read(path)


def test_the_message_says_where(path: Path) -> None:
    kept = lines(path)
    start = len(kept[0]) + len(kept[1])
    path.write_bytes(b"".join([kept[0], kept[1], kept[3], kept[2]]))
    with pytest.raises(dp.LedgerDamaged, match=f"byte {start}: .*line 3 stands where line 2"):
        read(path)
    path.write_bytes(b"".join([*kept[:2], kept[2].replace(b"histogram", b"histogrim"), kept[3]]))
    with pytest.raises(dp.LedgerDamaged, match=f"byte {start}: line 2 was changed"):
        read(path)
    with pytest.raises(dp.LedgerDamaged, match=re.escape(str(path))):
        read(path)


def test_a_forged_last_line_needs_the_head_too(path: Path) -> None:
    """The chain alone could be extended by anyone; the head does not agree."""
    kept = lines(path)
    mark = kept[-1][-65:-1].decode()
    line, _ = seal({"n": 4, "event": "forged"}, mark)
    path.write_bytes(b"".join(kept) + line)
    with pytest.raises(dp.LedgerDamaged, match="after its end"):
        read(path)


def test_another_ledgers_head_is_refused(path: Path, tmp_path: Path) -> None:
    small(tmp_path / "b.ledger")
    beside(tmp_path / "b.ledger").replace(beside(path))
    with pytest.raises(dp.LedgerDamaged):
        read(path)


def test_a_head_put_back_is_refused(path: Path, tmp_path: Path) -> None:
    old = beside(path).read_bytes()
    with dp.Ledger(path) as ledger:
        ledger.spend(STEP)
    beside(path).write_bytes(old)
    with pytest.raises(dp.LedgerDamaged):
        read(path)


def test_a_file_put_back_is_refused(path: Path, tmp_path: Path) -> None:
    old = path.read_bytes()
    with dp.Ledger(path) as ledger:
        ledger.spend(STEP)
        ledger.spend(STEP)
    path.write_bytes(old)
    with pytest.raises(dp.LedgerDamaged, match="cut short"):
        dp.Ledger(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 700, b"epsilon,delta\n1,2\n", b'{"n":0,"ledger":"other"}\n', b"\xff" * 900],
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises((dp.LedgerDamaged, dp.InvalidArgument)):
        dp.Ledger(path)
    assert path.read_bytes() == content and not beside(path).exists()


def test_a_lost_file_is_not_made_afresh(path: Path) -> None:
    path.unlink()
    with pytest.raises(dp.LedgerDamaged, match="gone"):
        dp.Ledger(path, budget=BUDGET, adaptive=False)
    assert not path.exists()


def test_a_lost_head_is_refused(path: Path) -> None:
    beside(path).unlink()
    with pytest.raises(dp.LedgerDamaged, match="lost its head"):
        dp.Ledger(path)


def test_a_file_replaced_under_an_open_ledger_is_refused(path: Path, tmp_path: Path) -> None:
    with dp.Ledger(path) as ledger:
        copied(path, tmp_path / "copy")
        os.replace(tmp_path / "copy", path)
        with pytest.raises(dp.LedgerDamaged, match="replaced"):
            ledger.spend(STEP)
        path.unlink()
        with pytest.raises(dp.LedgerDamaged, match="removed"):
            ledger.spend(STEP)
        ledger._store.close()


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    line, mark = seal({"n": 0, "ledger": "dpacct", "version": 3}, GENESIS)
    path.write_bytes(line)
    Head(len(line), 1, mark, closed=True).renew(path)
    with pytest.raises(dp.LedgerDamaged, match="version 3") as refused:
        dp.Ledger(path)
    assert refused.value.exit_code == 9


def test_a_copy_of_both_files_is_a_ledger(path: Path, tmp_path: Path) -> None:
    with dp.Ledger(copied(path, tmp_path / "b.ledger")) as ledger:
        assert ledger.plan is not None and ledger.plan.equivalent(small(tmp_path / "c").plan)


def test_edited_is_what_it_says(path: Path) -> None:
    assert edited(path, lambda data: data) == path
    assert len(read(path).records) == 4


def forged(path: Path, change: dict[str, object], head: dict[str, object] | None = None) -> Path:
    """A ledger of one intent, in which a line or the head is another, with checksums that hold."""
    with dp.Ledger(path, budget=BUDGET, adaptive=False) as ledger:
        ledger.spend(STEP)
    mark, data = GENESIS, b""
    for line in lines(path)[:2]:
        fields = json.loads(line[:-66])
        if fields["n"] == change.get("n"):
            fields = {k: v for k, v in {**fields, **change}.items() if v is not ...}
        sealed, mark = seal(fields, mark)
        data += sealed
    path.write_bytes(data)
    if head is None:
        Head(len(data), 2, mark, closed=True).renew(path)
    else:
        counts = {"length": len(data), "count": 2, "mark": mark, "line": "", **head}
        sealed, _ = seal({k: v for k, v in counts.items() if v is not ...}, GENESIS)
        beside(path).write_bytes(sealed)
    return path


NO_INTENT = {"n": 1, "intent": ...}
OPEN = {"epsilon": "1", "delta": "0.00001", "adjacency": "add-remove", "unit": "record"}


@pytest.mark.parametrize(
    "change",
    [
        NO_INTENT,
        {"n": 1, "intent": 5},
        {"n": 1, "intent": {"node": "evil"}},
        {"n": 1, "intent": STEP.under(unit="client").to_dict()},
        {"n": 1, "intent": STEP.under("replace-one").to_dict()},
        {"n": 1, "intent": "p1"},
        {"n": 1, "plans": 5},
        {"n": 1, "plans": {"p0": {"node": "evil"}}},
        {**NO_INTENT, "spend": 5, "label": "a"},
        {**NO_INTENT, "spend": [["p0", ["client 1"]]]},
        {**NO_INTENT, "spend": [["p1", ["client 1"]]], "label": "a"},
        {**NO_INTENT, "event": "opened", "names": ["run"], "budget": OPEN, "rule": "fixed"},
        {**NO_INTENT, "event": "opened", "names": ["a", "a"], "budget": OPEN, "rule": "fixed"},
        {**NO_INTENT, "event": "opened", "names": ["a"], "budget": OPEN, "rule": "planned"},
        {"n": 1, "ended": 5},
        {"n": 1, "ended": {"x": "released"}},
        {**NO_INTENT, "event": "recovered"},
        {**NO_INTENT, "event": "observed", "checks": 5},
        {**NO_INTENT, "event": "observed", "checks": [["a"]]},
        {**NO_INTENT, "event": "observed", "checks": [["a", "b", "perhaps"]]},
        {"n": 0, "version": ...},
        {"n": 0, "id": ...},
        {"n": 0, "budget": 5},
        {"n": 0, "budget": {"epsilon": "nan"}},
        {"n": 0, "rule": "planned"},
        {"n": 0, "rule": "kind"},
        {"n": 0, "rule": "none"},
    ],
    ids=str,
)
def test_a_line_that_dpacct_does_not_write_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    with pytest.raises(dp.LedgerDamaged):
        dp.Ledger(forged(tmp_path / "a", change))


@pytest.mark.parametrize(
    "head", [{"length": ...}, {"length": "5"}, {"count": None}, {"line": 5}, {"length": 10**30}]
)
def test_a_head_that_dpacct_does_not_write_is_refused(
    tmp_path: Path, head: dict[str, object]
) -> None:
    with pytest.raises(dp.LedgerDamaged):
        dp.Ledger(forged(tmp_path / "a", {}, head))
    assert dp.Ledger(forged(tmp_path / "b", {})).plan == STEP
    assert dp.Ledger(forged(tmp_path / "c", {}, {})).plan == STEP
