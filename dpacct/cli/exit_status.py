"""What each exit code of the command line means."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit codes; scripts may rely on them, since a code never changes its meaning."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    OUTSIDE_DOMAIN = 3
    UNREACHABLE = 4
    COUNTER_EXAMPLE = 5
    ASSUMPTION_VIOLATED = 6
    EXTRA_MISSING = 7
    WITHHELD = 8
    EVIDENCE_DAMAGED = 9
    NOT_JUDGED = 10
    INTERRUPTED = 130  # 128 + SIGINT, the shell's own convention
    BROKEN_PIPE = 141  # 128 + SIGPIPE: what `cat` and `grep` report in the same place
