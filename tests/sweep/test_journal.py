"""The journal: cut off anywhere, or with any byte changed, it never tells a row that was not done."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.errors import InvalidArgument
from dpacct.sweep.grid import Row
from dpacct.sweep.run import Journal

ROWS = {
    0: Row((1.5, None, "two-sided", True, 3)),
    1: Row(error="--sigma must be a number above 0, got -1.", code=2),
    7: Row((1e-300, 0.1 + 0.2, "ε", False, -1)),
    3: Row((5e-324, 1.7976931348623157e308, "\n", None, 0)),
}
MARK = "f" * 64


def written(path: Path) -> bytes:
    with Journal(path, MARK) as journal:
        journal.add(ROWS.items())
    return path.read_bytes()


def read(path: Path) -> dict[int, Row]:
    with Journal(path, MARK) as journal:
        return dict(journal.rows)


def test_rows_read_back(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    assert read(path) == ROWS
    with Journal(path, MARK) as journal:
        journal.add([(9, Row((1,)))])
    assert read(path) == ROWS | {9: Row((1,))}


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
            journal.add([(9, Row((1,)))])
        assert read(path)[9] == Row((1,))


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
