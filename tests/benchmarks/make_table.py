"""Write the tables of docs/benchmarks.md, and the README's, from results.json: run it, commit all.

The page has prose by hand and blocks between ``<!-- table NAME -->`` and ``<!-- end -->``, which
this script fills; a test checks that they are what the JSON says.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench.cases import WORKLOADS, cases, truths  # noqa: E402
from bench.measure import judged  # noqa: E402
from bench.peers import OURS, PEERS  # noqa: E402

RESULTS = HERE / "results.json"
LOWERS = HERE / "lowers.json"
SLACK = Fraction(1, 10**12)
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Row = dict[str, Any]


def table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(head), *(list(row) for row in body)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def seconds(value: float) -> str:
    """CPU time with two digits."""
    return f"{1000 * value:.2g} ms" if value < 0.1 else f"{value:.2g} s"


def ratio(value: float) -> str:
    """How many times dpacct's time."""
    return f"×{value:.2g}" if value < 10 else f"×{value:.0f}"


def one_gap(gap: float) -> str:
    """A relative gap: as it is when small, in per cent below 1, as a factor from there on."""
    if not math.isfinite(gap):
        return "inf"
    if gap < -1:
        return "negative"
    if abs(gap) < 0.01:
        return "0" if gap == 0 else f"{gap:+.0e}"
    if gap < 1:
        return f"{100 * gap:+.1f} %"
    return f"×{1 + gap:.2g}"


def gap_text(row: Row) -> str:
    """The gaps of a row, those below the truth in bold."""
    texts = []
    for gap in map(float, row.get("gap", [])):
        text = one_gap(gap)
        texts.append(f"**{text}**" if gap < -1e-9 else text)
    return " ".join(texts)


def cell(row: Row | None) -> str:
    """One peer's result in one case."""
    if row is None or row["status"] in ("not offered", "missing"):
        return "–"
    if row["status"] == "timeout":
        return row["reason"]
    if row["status"] == "error":
        return str(row["reason"]).partition(":")[0]
    parts = [gap_text(row), seconds(row["seconds"]) + (" †" if "earlier" in row else "")]
    if row["peer"] != OURS and "ratio" in row:
        parts.append(ratio(row["ratio"]))
    return ", ".join(parts)


def workload(name: str, results: Row) -> str:
    """The table of one workload: a line per peer, a column per case, the truth first."""
    chosen = [case for case in cases() if case.workload == name]
    entries = {(row["case"], row["peer"]): row for row in results["rows"]}
    chosen = [case for case in chosen if any((case.id, peer) in entries for peer in PEERS)]
    true = truths()
    exact = [" ".join(f"{value:.10g}" for value in true.get(case.id, [])) for case in chosen]
    body = [["*truth*", *exact]]
    for peer in PEERS:
        line = [cell(entries.get((case.id, peer))) for case in chosen]
        if any(text != "–" for text in line):
            body.append([f"`{peer}`", *line])
    return table(["", *(case.name for case in chosen)], body)


def spread(values: list[float]) -> str:
    """Median and range of some ratios."""
    if not values:
        return "–"
    return f"{ratio(median(values))} ({ratio(min(values))} to {ratio(max(values))})"


def summary(results: Row) -> str:
    """One line per peer: time against dpacct, widest gap, what it refused, what it got wrong."""
    body = []
    for peer in PEERS.values():
        mine = [row for row in results["rows"] if row["peer"] == peer.name]
        answered = [row for row in mine if row["status"] == "ok"]
        if not mine:
            continue
        line = [f"`{peer.name}`", peer.setting]
        for chosen in ("W1", "W4"):
            rows = [row for row in answered if row["case"].startswith(chosen)]
            if peer.package == PEERS[OURS].package:
                line.append(seconds(median(row["seconds"] for row in rows)) if rows else "–")
            else:
                line.append(spread([row["ratio"] for row in rows if "ratio" in row]))
        failed = sum(row["status"] in ("error", "timeout") for row in mine)
        infinite = sum(not all(math.isfinite(float(v)) for v in r["values"]) for r in answered)
        below = sum(bool(row.get("below")) for row in answered)
        line += [str(len(answered) - infinite), str(failed + infinite), str(below)]
        body.append(line)
    head = ["", "setting", "ε: time / dpacct", "noise: time / dpacct"]
    return table([*head, "answers", "fails or infinite", "below the truth"], body)


def proven() -> dict[str, Row]:
    """By case, what was asked and the proven lower end of each number (make_lowers.py)."""
    values: dict[str, Row] = json.loads(LOWERS.read_text(encoding="utf-8"))["values"]
    return values


def below(results: Row) -> str:
    """Every claim of an upper bound that lies below a proven lower end, with the question."""
    lowers = proven()
    body = []
    for row in results["rows"]:
        if row["status"] != "ok" or PEERS[row["peer"]].promises != "upper":
            continue
        proved = lowers[row["case"]]
        values = map(float, row["values"])
        for value, lower, asked in zip(values, proved["lower"], proved["asked"], strict=True):
            # the peers' questions are floats: what is typed as 0.01 moves by a part in 10^16
            if Fraction(value if math.isfinite(value) else 10**9) < Fraction(lower) * (1 - SLACK):
                gap = one_gap(value / float(lower) - 1)
                line = [f"`{row['peer']}`", row["case"], f"{value:.12g}", lower, gap, f"`{asked}`"]
                body.append(line)
    return table(["", "case", "says", "proven to be above", "gap", "question"], body)


def cold(results: Row) -> str:
    """Whole processes."""
    body = [
        [f"`{row['process']}`", f"{row['seconds']:.2f} s", f"{row['wall']:.2f} s"]
        for row in results["cold"]
    ]
    return table(["process", "CPU", "wall"], body)


def setting(results: Row) -> str:
    """When, on what, with which versions."""
    machine, versions = results["machine"], results["versions"]
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [
        f"{results['date']}, commit `{results['commit']}`, Python {machine['python']}, "
        f"{machine['cores']} cores of {machine['cpu']}.",
        f"Versions: {used}.",
    ]
    earlier = {row["earlier"] for row in results["rows"] if "earlier" in row}
    lines += [f"†: from an earlier run, at commit `{name}`." for name in sorted(earlier)]
    lines += [f"Missing: {name} ({reason})." for name, reason in results["missing"].items()]
    return "".join(f"{line}\n" for line in lines)


BLOCKS: dict[str, Callable[[Row], str]] = {
    "setting": setting,
    "summary": summary,
    "below": below,
    "cold": cold,
    **{name: (lambda results, name=name: workload(name, results)) for name in WORKLOADS},
}


def render(page: str, results: Row) -> str:
    """The page with every block filled anew."""

    def fill(block: re.Match[str]) -> str:
        return f"{block[1]}\n{BLOCKS[block[2]](results)}\n{block[4]}"

    return BLOCK.sub(fill, page)


def read() -> Row:
    """The stored results, each judged against the truth."""
    results: Row = json.loads(RESULTS.read_text(encoding="utf-8"))
    true = truths()
    results["rows"] = [judged(row, true.get(row["case"])) for row in results["rows"]]
    return results


def main() -> None:
    """Rewrite both pages in place."""
    results = read()
    for page in (PAGE, README):
        page.write_text(render(page.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
