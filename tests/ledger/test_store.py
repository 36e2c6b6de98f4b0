"""The file: what survives a crash, and what is refused because it is not as it was written."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.ledger import store
from dpacct.ledger.store import plan_id
from tests.ledger.ledgers import BUDGET, OTHER, STEP, small
from tests.structure.project import ROOT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    small(tmp_path / "a.ledger")
    return tmp_path / "a.ledger"


# --- tampering


def unlocked(path: Path) -> sqlite3.Connection:
    """The file without its triggers, as somebody who means harm opens it."""
    database = sqlite3.connect(path)
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    assert len(names) == 2
    for (name,) in names:
        database.execute(f"DROP TRIGGER {name}")
    return database


def test_the_entries_only_grow_and_the_views_follow(path: Path) -> None:
    with dp.Ledger(path) as ledger, ledger.release({"a": STEP}, label="round 1"):
        pass
    database = sqlite3.connect(path)
    for statement in ("DELETE FROM entry", "UPDATE entry SET n = n"):
        with pytest.raises(sqlite3.IntegrityError, match="a ledger only grows"):
            database.execute(statement)
    for view in ("plan", "account", "charge", "outcome"):
        with pytest.raises(sqlite3.OperationalError, match="is a view"):
            database.execute(f"DELETE FROM {view}")
    query = "SELECT charge.n, account, label, plan.text, how FROM charge JOIN plan ON plan.id = charge.plan"
    rows = database.execute(f"{query} LEFT JOIN outcome ON outcome.n = charge.n").fetchall()
    assert rows[-1] == (4, "a", "round 1", STEP.to_json(), "released") and len(rows) == 4
    assert rows[1][:3] == (2, "run", "a histogram")
    ((name, rule, n),) = database.execute("SELECT * FROM account").fetchall()
    assert (name, n) == ("run", 0) and '"epsilon":"4"' in rule


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET text = replace(text, 'histogram', 'histogran')",
        "UPDATE entry SET hash = lower(hex(randomblob(32))) WHERE n = 3",
        "UPDATE entry SET n = 7 WHERE n = 3",
        "DELETE FROM entry WHERE n = 2",
        "DELETE FROM entry",
        "DROP TABLE entry",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
    ],
)
def test_what_sql_changes_is_refused(path: Path, statement: str) -> None:
    database = unlocked(path)
    database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(dp.LedgerDamaged) as refused:
        dp.Ledger(path)
    assert refused.value.exit_code == 9 and str(path) in refused.value.message


def test_a_deleted_last_release_is_seen_by_a_head_kept_elsewhere(path: Path) -> None:
    """The chain up to there is whole, so that only its head can tell."""
    with dp.Ledger(path) as ledger:
        head = ledger.head
    database = unlocked(path)
    database.execute("DELETE FROM entry WHERE n = 3")
    database.commit()
    database.close()
    with dp.Ledger(path) as ledger:
        assert len(ledger) == 3 and not ledger.has(head)


def test_no_flipped_bit_changes_an_answer(path: Path, tmp_path: Path) -> None:
    """300 of them: each is refused, or lies where no answer comes from."""
    with dp.Ledger(path, read_only=True) as ledger:
        before = ledger.plan, ledger.budget, ledger.entries, ledger.accounts
    content, draw, refused = path.read_bytes(), random.Random(5), 0
    used = [at for at, byte in enumerate(content) if byte]
    for k in range(300):
        at = draw.choice(used) if k % 2 else draw.randrange(len(content))
        flipped = bytearray(content)
        flipped[at] ^= 1 << draw.randrange(8)
        copy = tmp_path / f"{k}.ledger"
        copy.write_bytes(flipped)
        try:
            with dp.Ledger(copy, read_only=True) as ledger:
                after = ledger.plan, ledger.budget, ledger.entries, ledger.accounts
        except (dp.LedgerDamaged, dp.InvalidArgument):
            refused += 1
        else:
            assert after == before, (at, content[at], flipped[at])
        copy.unlink()
    assert refused > 100


@pytest.mark.parametrize("length", [1, 100, 4096, -4096])
def test_a_file_that_was_cut_short_is_refused(path: Path, length: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:length])
    with pytest.raises(dp.LedgerDamaged):
        dp.Ledger(path)


@pytest.mark.parametrize(
    "content", [b"\0" * 700, b"epsilon,delta\n1,2\n", b'{"n":0,"ledger":"other"}\n', b"\xff" * 900]
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(dp.LedgerDamaged, match="it is no ledger; it begins with"):
        dp.Ledger(path, budget=BUDGET)
    assert path.read_bytes() == content and os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("content", [None, b""])
def test_a_crash_while_the_ledger_is_made(tmp_path: Path, content: bytes | None) -> None:
    """Nothing was counted: there is no ledger yet."""
    path = tmp_path / "a.ledger"
    if content is None:  # the journal's mode is set, and no table made
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.close()
    else:
        path.write_bytes(content)
    with pytest.raises(dp.InvalidArgument, match="new ledger"):
        dp.Ledger(path)
    with dp.Ledger(path, budget=BUDGET) as ledger:
        assert ledger.plan is None
    with dp.Ledger(path) as ledger:
        assert ledger.rule == "adaptive"


# --- while it is open


def test_a_file_replaced_or_removed_under_an_open_ledger_is_refused(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    with dp.Ledger(path) as ledger:
        os.replace(copy, path)
        with pytest.raises(dp.LedgerDamaged, match="replaced"):
            ledger.spend(STEP)
        path.unlink()
        with pytest.raises(dp.LedgerDamaged, match="removed"):
            ledger.spend(STEP)


def test_an_earlier_state_put_back_is_refused(path: Path) -> None:
    with dp.Ledger(path) as ledger, dp.Ledger(path) as other:
        assert ledger.plan is not None
        database = unlocked(path)
        database.execute("DELETE FROM entry WHERE n = 3")
        database.commit()
        with pytest.raises(dp.LedgerDamaged, match="put back to an earlier state"):
            ledger.spend(STEP)
        with pytest.raises(dp.LedgerDamaged):
            other.spend(STEP)


# --- where it lies


def test_the_file_is_private_and_no_link_is_followed(path: Path, tmp_path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.ledger"
    for target in (path, tmp_path / "none"):
        link.symlink_to(target)
        with pytest.raises(dp.InvalidArgument, match="a symbolic link"):
            dp.Ledger(link, budget=BUDGET)
        link.unlink()
    assert not (tmp_path / "none").exists()


def test_a_network_file_system_is_refused_unless_asked_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system of the test's own folder stands for one: its name is added to those refused."""
    system = store._file_system(path)
    assert system is not None
    monkeypatch.setattr(store, "_REMOTE", {system})
    with pytest.raises(dp.Unsupported, match=f"network file system \\({system}\\).*journal_mode"):
        dp.Ledger(path.with_name("b.ledger"), budget=BUDGET)
    with dp.Ledger(path.with_name("b.ledger"), budget=BUDGET, journal_mode="DELETE") as ledger:
        ledger.spend(STEP)
        assert sorted(os.listdir(path.parent)) == ["a.ledger", "b.ledger"]
        assert ledger._store.rows("PRAGMA journal_mode") == [("delete",)]
    with pytest.raises(dp.InvalidArgument, match="journal_mode must be WAL or DELETE"):
        dp.Ledger(path, journal_mode="OFF")  # type: ignore[arg-type]


READ_ONLY = """
import os, sys
import dpacct as dp
warm = dp.Ledger(sys.argv[2], budget=(4, 1e-5))  # imports what another user may not read
warm.spend(dp.Gaussian(sigma=50))
if os.getuid() == 0:
    os.setuid(65534)
with dp.Ledger(sys.argv[1], read_only=True) as ledger:
    print(len(ledger.intents))
try:
    dp.Ledger(sys.argv[1]).spend(dp.Gaussian(sigma=50))
except dp.InvalidArgument as error:
    print(error)
"""


def test_a_file_that_cannot_be_written_can_be_read(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # one that any user may enter
        os.chmod(folder, 0o755)
        kept = Path(folder) / "kept" / "a.ledger"
        kept.parent.mkdir()
        shutil.copy(path, kept)
        kept.chmod(0o444)
        kept.parent.chmod(0o555)
        words = [sys.executable, "-c", READ_ONLY, kept, path.with_name("warm")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        kept.parent.chmod(0o755)
    said, refused = done.stdout.splitlines() or ["", done.stderr]
    assert said == "3" and "cannot be opened: attempt to write a readonly" in refused


FULL_DISK = """
import resource, signal, sys
import dpacct as dp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = dp.Ledger(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
try:
    ledger.spend(dp.Gaussian(sigma=50))
except dp.LedgerNotWritten as error:
    print(error.exit_code, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
ledger.spend(dp.Gaussian(sigma=50))
"""


def test_a_full_disk_counts_nothing_and_says_so(path: Path) -> None:
    """A limit on the file's size stands for the disk."""
    words = [sys.executable, "-c", FULL_DISK, path]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2 the ledger") and "nothing may be released" in done.stdout
    with dp.Ledger(path) as ledger:
        assert dict(ledger.plan.releases()) == {STEP: 11, OTHER: 2}


# --- crashes and other processes


def test_fifteen_kills(tmp_path: Path) -> None:
    """`python -m tests.ledger.kill 1000` is the long run of the same."""
    words = [sys.executable, "-m", "tests.ledger.kill", "15", "--folder", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "15 kills" in done.stdout


@pytest.mark.parametrize(("spends", "fit"), [(200, 240), (100, 70)])
def test_two_writers(tmp_path: Path, spends: int, fit: int) -> None:
    """Together they never spend more than it holds; in a process of its own, as it forks."""
    words = ["-m", "tests.ledger.race", str(spends), str(fit), "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"counted {min(fit, 2 * spends)}," in done.stdout
    spent, spent_elsewhere = map(int, re.findall(r"\d+", done.stdout)[:2])
    assert min(spent, spent_elsewhere) >= fit // 20, "one kept the other out"


def test_each_commit_is_flushed(path: Path) -> None:
    """A kill cannot test it, a power cut would: every commit waits for the disk."""
    for mode, level in (("WAL", 2), ("DELETE", 3)):
        with dp.Ledger(path.with_name(mode), budget=BUDGET, journal_mode=mode) as ledger:
            assert ledger._store.rows("PRAGMA synchronous") == [(level,)]
            assert ledger._store.rows("PRAGMA journal_mode") == [(mode.lower(),)]


# --- what dpacct does not write, with hashes that hold

OPEN = '{"budget":{"epsilon":"1","delta":"0.00001","adjacency":"add-remove","unit":"record"}'
FORGED: list[Callable[[store.Store], object]] = [
    lambda s: s.append("intent", plans={plan_id("{}"): "{}"}, label="", named=False, spend=[]),
    lambda s: s.append("intent", plans={"x": STEP.to_json()}, label="", named=False, spend=[]),
    lambda s: s.append("intent", label="", named=False, spend=[("p1", ["run"])]),
    lambda s: s.append("opened", accounts=[("{}", ["a"])]),
    lambda s: s.append("opened", accounts=[(OPEN + ',"rule":"planned"}', ["a"])]),
    lambda s: s.append("opened", accounts=[(OPEN + ',"rule":"kind"}', ["a"])]),
    lambda s: s.append("opened", accounts=[(OPEN + ',"rule":"none"}', ["a"])]),
    lambda s: s.append("observed", checks=[("a", "b", "perhaps", "")]),
]


@pytest.mark.parametrize("forge", FORGED)
def test_an_entry_that_dpacct_does_not_write_is_refused(
    path: Path, forge: Callable[[store.Store], object]
) -> None:
    writer = store.Store(path, make=None)
    with writer.session(write=True):
        forge(writer)
    writer.close()
    with pytest.raises(dp.LedgerDamaged):
        dp.Ledger(path)
