"""Whatever takes longer than two seconds says so on a terminal; elsewhere what a command tells."""

import io
import time

import pytest

from dpacct.cli import progress
from dpacct.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST", "EVERY", "LINES"):
        monkeypatch.setattr(progress, name, 0.01)


def test_a_terminal_sees_the_time_and_a_clean_line_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with Progress("dpacct curve") as bar:
        bar.tell("3 of 7 points")
        time.sleep(0.2)
    assert "\rdpacct curve: 0." in shown.getvalue() and "s  3 of 7 points" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")


def test_a_quick_command_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 60.0)
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    with Progress("dpacct eps") as bar:
        bar.tell("half")
    assert shown.getvalue() == ""


def test_a_pipe_hears_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", shown := io.StringIO())
    with Progress("dpacct verify") as bar:
        time.sleep(0.05)
        bar.tell("12 points")
    assert shown.getvalue().startswith("dpacct verify: 0.") and "12 points" in shown.getvalue()
