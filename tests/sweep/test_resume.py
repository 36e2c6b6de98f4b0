"""Killed at any moment and begun again, a sweep writes the same bytes; so it does in any number of
processes.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import SweepRow
from dpacct.sweep.run import Journal, Killed, run
from tests.cli.runner import line
from tests.structure.project import ROOT

SWEEP = """
command = "eps"
[fixed]
delta = 1e-5
rate = 0.02
[axes]
sigma = {{ from = 0.7, to = 3, points = {points} }}
steps = [100, 1000]
"""


STOPPED = """
import itertools, os, signal, sys
from dpacct.cli.main import main
from dpacct.sweep import run
from dpacct.sweep.run import Journal

number, nth, share = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
whole, calls = Journal._write, itertools.count(1)

def write(journal, data):
    if next(calls) < nth:
        return whole(journal, data)
    whole(journal, data[: int(share * len(data))])
    os.kill(os.getpid(), number)

if __name__ == "__main__":
    Journal._write = write
    run._CHUNK = 0.0  # a write for each row
    sys.exit(main(["sweep", "s.toml", "-o", "out.csv", *sys.argv[4:]]))
"""


def stopped(
    folder: Path, number: signal.Signals, nth: int, share: float, *words: str
) -> tuple[int, str]:
    """(exit code, stderr) of a sweep that gets a signal when this share of its nth write is written."""
    child = subprocess.run(
        [sys.executable, "-c", STOPPED, str(number.value), str(nth), str(share), *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=60,
        check=False,
    )
    return child.returncode, child.stderr.decode()


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def test_killed_and_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two writes, at the start of one, and in the middle of one."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        (folder / "s.toml").write_text(SWEEP.format(points=40))
    journal, done = killed / "out.csv.journal", 0
    for nth, share, more in ((5, 1.0, 4), (3, 0.0, 2), (4, 0.5, 3)):
        words = ["--jobs", "1", "--quiet"]
        assert stopped(killed, signal.SIGKILL, nth, share, *words) == (-signal.SIGKILL, "")
        done += more
        assert lines(journal) == 1 + done and not (killed / "out.csv").exists()
    assert not journal.read_bytes().endswith(b"\n")  # a line that the kill cut off
    monkeypatch.chdir(killed)
    last = line("sweep s.toml -o out.csv")
    assert last.code == 0 and f"{done} of 80 rows are there from an earlier run." in last.stderr
    assert not journal.exists()
    monkeypatch.chdir(whole)
    other = line("sweep s.toml -o out.csv --jobs 1 --quiet")
    assert (other.code, other.stderr) == (0, "")
    assert (killed / "out.csv").read_bytes() == (whole / "out.csv").read_bytes()
    assert lines(whole / "out.csv") == 81


def test_interrupted_with_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SWEEP.format(points=50))
    code, said = stopped(tmp_path, signal.SIGINT, 4, 1.0)
    assert code == 130, said
    assert "rows are done; the same command goes on from there." in said
    assert said.count("error: ") == 1 and "Traceback" not in said
    assert lines(tmp_path / "out.csv.journal") == 4


def test_another_sweep_s_journal_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SWEEP.format(points=2))
    Path("out.csv.journal").write_text("dpacct-sweep-1 0000\n")
    failed = line("sweep s.toml -o out.csv")
    assert failed.code == 2 and "--restart discards it" in failed.stderr
    assert line("sweep s.toml -o out.csv --restart").code == 0
    assert not Path("out.csv.journal").exists()


def square(point: tuple[str, ...]) -> SweepRow:
    return SweepRow((float(point[0]) ** 2, os.getpid()))


def die(point: tuple[str, ...]) -> SweepRow:
    if point == ("40",):
        os.kill(os.getpid(), signal.SIGKILL)
    return SweepRow((0.0,))


POINTS = [(i, (str(i),)) for i in range(50)]


def test_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpacct.sweep.run._ALONE", 0.0)
    monkeypatch.setattr("dpacct.sweep.run._WORTH", -1.0)
    monkeypatch.setattr("dpacct.sweep.run._CHUNK", 1e-6)
    results = {number: row for chunk in run(square, POINTS, 50, 2) for number, row in chunk}
    assert {n: row.cells[0] for n, row in results.items()} == {i: float(i * i) for i in range(50)}
    assert os.getpid() not in {row.cells[1] for row in results.values()}


def test_a_process_that_is_killed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpacct.sweep.run._ALONE", 0.0)
    monkeypatch.setattr("dpacct.sweep.run._WORTH", -1.0)
    monkeypatch.setattr("dpacct.sweep.run._CHUNK", 1e-6)
    with pytest.raises(Killed, match="a process of the sweep was killed"):
        list(run(die, POINTS, 50, 2))


ENDLESS = """
import itertools
from dpacct.sweep import run
from tests.sweep.test_resume import square

if __name__ == "__main__":
    run._ALONE, run._WORTH, run._CHUNK = 0.0, -1.0, 1e-6
    points = ((i, (str(i),)) for i in itertools.count())
    for chunk in run.run(square, points, 10**9, 2):
        print(chunk[0][1].cells[1], flush=True)
"""


def test_no_process_outlives_a_killed_sweep(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, "endless.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
        text=True,
    )
    assert child.stdout is not None
    worker = int(child.stdout.readline())
    assert worker != child.pid
    child.kill()  # it alone, and not its group
    child.communicate(timeout=30)  # the end of the pipe, which every process of the pool holds


# --- The journal: cut off anywhere, or with any byte changed, it never tells a row that was not done.


ROWS = {
    0: SweepRow((1.5, None, "two-sided", True, 3)),
    1: SweepRow(error="--sigma must be a number above 0, got -1.", code=2),
    7: SweepRow((1e-300, 0.1 + 0.2, "ε", False, -1)),
    3: SweepRow((5e-324, 1.7976931348623157e308, "\n", None, 0)),
}
MARK = "f" * 64


def written(path: Path) -> bytes:
    with Journal(path, MARK) as journal:
        journal.add(ROWS.items())
    return path.read_bytes()


def read(path: Path) -> dict[int, SweepRow]:
    with Journal(path, MARK) as journal:
        return dict(journal.rows)


def test_rows_read_back(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    assert read(path) == ROWS
    with Journal(path, MARK) as journal:
        journal.add([(9, SweepRow((1,)))])
    assert read(path) == ROWS | {9: SweepRow((1,))}


def test_cut_off_at_any_byte(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole")
    path = tmp_path / "j"
    head = whole.index(b"\n") + 1
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        rows = read(path)
        assert rows.items() <= ROWS.items()
        assert len(rows) >= whole[head : max(head, length)].count(b"\n")
        with Journal(path, MARK) as journal:  # what is added next is not lost to the torn line
            journal.add([(9, SweepRow((1,)))])
        assert read(path)[9] == SweepRow((1,))


def test_any_byte_changed(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole")
    path = tmp_path / "j"
    for place in range(whole.index(b"\n") + 1, len(whole)):
        for change in (0x01, 0x20, 0x80):
            spoilt = bytearray(whole)
            spoilt[place] ^= change
            path.write_bytes(spoilt)
            assert read(path).items() <= ROWS.items()


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_head(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    path.write_bytes(written(path) + noise)
    assert read(path) == ROWS


@pytest.mark.parametrize(
    "other", [b"a,b\n1,2\n", b"dpacct-sweep-1 " + b"e" * 64 + b"\n", b"\0" * 9]
)
def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path, other: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(other)
    with pytest.raises(InvalidArgument, match="belongs to another sweep"):
        read(path)
    assert path.read_bytes() == other
    with Journal(path, MARK, restart=True) as journal:
        assert journal.rows == {}


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", MARK), pytest.raises(InvalidArgument, match="another sweep is"):
        Journal(tmp_path / "j", MARK)
    read(tmp_path / "j")
