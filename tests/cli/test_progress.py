"""Whatever takes longer than two seconds says so on a terminal, and nowhere else."""

import io
import time

import pytest

from dpacct.cli import command, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("first", "terminal"), [(0.01, Terminal), (60.0, Terminal), (0.01, io.StringIO)]
)
def test_a_terminal_sees_the_time_and_a_clean_line_afterwards(
    first: float, terminal: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST", first)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    monkeypatch.setattr("sys.stderr", shown := terminal())
    with command._progress("dpacct curve") as tell:
        tell("3 of 7 points")
        time.sleep(0.2)
    if first < 1 and terminal is Terminal:
        assert "\rdpacct curve: 0 s  3 of 7 points" in shown.getvalue()
        assert shown.getvalue().endswith("\r\x1b[K")
    else:
        assert shown.getvalue() == ""
