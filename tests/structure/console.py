"""The command output shown in README and docs: read it, run it, and rewrite it.

`python -m tests.structure.console [PAGE ...]` rewrites every block from what the commands print today.
A block begins with ```console, and each command in it with `$ dpacct `; commands run from the root of
the checkout.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.structure.project import BIN, ROOT, relative

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# How long it took differs between runs, and so may the blanks that line a table up.
TIME = re.compile(r"[<~]?\d+(?:\.\d+)?(?:e-\d+)?\s?(?:ns|µs|us|ms|s)\b")
SECONDS = re.compile(r'("seconds": )[-+.\de]+')
# Past ten digits the mathematics library and the processor may differ.
LONG = re.compile(r"\d+\.\d{10,}(?:e[-+]?\d+)?")
RULE = re.compile(r"[-─━=]{3,}")


@dataclass(frozen=True)
class Shown:
    """One command of a page with the output printed under it."""

    page: Path
    command: str
    output: str


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def shown(page: Path) -> list[Shown]:
    """All commands of a page in order."""
    results = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        head, *commands = re.split(r"^\$ ", block, flags=re.MULTILINE)
        if head.strip():
            raise ValueError(
                f"{relative(page)}: a console block must begin with '$ dpacct ...': {head!r}"
            )
        for part in commands:
            command, _, output = part.partition("\n")
            results.append(Shown(page, command, output))
    return results


def words_of(command: str) -> list[str]:
    """What stands behind `dpacct`."""
    program, *words = shlex.split(command)
    if program != "dpacct":
        raise ValueError(f"a console block shows dpacct commands only, not {command!r}")
    return words


def lines(printed: str) -> str:
    """Without blanks at the ends of lines."""
    return "".join(line.rstrip() + "\n" for line in printed.splitlines())


def run(command: str) -> str:
    """What the command prints, stdout before stderr, on 100 columns without colour."""
    environment = {
        k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}
    }
    environment |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [str(BIN / "dpacct"), *words_of(command)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    return lines(done.stdout + done.stderr)


def normal(text: str) -> str:
    """Without timings and alignment, and with numbers to ten digits."""
    text = RULE.sub("---", SECONDS.sub(r"\1<time>", TIME.sub("<time>", text)))
    text = LONG.sub(lambda number: f"{float(number.group()):.10g}", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def rewritten(page: Path) -> str:
    """The page with every block's output as it is today."""

    def fresh(match: re.Match[str]) -> str:
        commands = re.findall(r"^\$ (.*)$", match.group(1), flags=re.MULTILINE)
        return "```console\n" + "".join(f"$ {c}\n{run(c)}" for c in commands) + "```"

    return BLOCK.sub(fresh, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for each in [Path(page).resolve() for page in sys.argv[1:]] or pages():
        if shown(each):
            each.write_text(rewritten(each), encoding="utf-8")
            print(relative(each), f"({len(shown(each))} commands)")
