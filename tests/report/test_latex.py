"""LaTeX: a real engine compiles it, whatever the plan says; numbers are mathematics, works are cited."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.report.document import tex
from tests.cli.runner import run
from tests.report.plans import DELTA, ONE, example

ENGINES = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-draftmode"),
    "tectonic": ("--only-cached",),
}
INSTALLED = [name for name in ENGINES if shutil.which(name)]
NASTY = "50 % & $x_1$ #3 {a} ~b ^c \\input{/etc/passwd} <i>\"q\"</i> 'p' | Zürich Łódź ﬁ 東京 🦊 ε ≤ 2e-7"


def compiled(text: str, folder: Path) -> str:
    """The engine's log, after two runs: the first writes what the second cites."""
    (folder / "report.tex").write_text(text, encoding="utf-8")
    for _ in range(2):
        command = [INSTALLED[0], *ENGINES[INSTALLED[0]], "report.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout + done.stderr


@pytest.mark.skipif(not INSTALLED, reason="no LaTeX engine is installed")
@pytest.mark.parametrize("words", [NASTY, ""])
def test_an_engine_compiles_it(words: str, tmp_path: Path) -> None:
    result = example()
    if words:
        about = dict.fromkeys(("name", "output", "unit", "viewer", "tuning"), words)
        told = {"sampling": {"status": "violated", "evidence": words}}
        result = dp.Report.of(ONE, delta=DELTA, about=about, assumptions=told, command=words)
    log = compiled(result.to_latex(), tmp_path)
    assert "Citation" not in log and "Reference" not in log, "nothing is undefined"


def test_numbers_signs_and_citations() -> None:
    text = example().to_latex()
    assert r"is $(1.805, 10^{-6})$-differentially private" in text
    assert r" \%" in text and r"$\leq$ 1.80" in text
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", text) for key in keys.split(",")}
    assert cited and cited == set(re.findall(r"\\bibitem\{([^}]*)\}", text))
    assert re.search(r"\(dpacct [\d.]+\)\.~\\cite\{", text), "the sentence cites what it rests on"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(8, 1e-5)", "$(8, 10^{-5})$"),
        ("delta 2.5e-7,", r"delta $2.5 \cdot 10^{-7}$,"),
        ("1e-5", "$10^{-5}$"),
        ("sha 12e34abc and 0x1e5", "sha 12e34abc and 0x1e5"),
        (r"a_b\c", r"a\_b\textbackslash{}c"),
        ("東é", "U+6771é"),
    ],
)
def test_text(text: str, wanted: str) -> None:
    assert tex(text) == wanted


@given(st.text())
def test_nothing_of_a_text_is_a_command(text: str) -> None:
    """Every brace closes, every dollar too, and no special character stands bare."""
    written = tex(text)
    bare = re.sub(r"\\(?:[%&#_{}$]|textbackslash\{\}|\^\{\})", "", written)
    maths = re.sub(r"\$[^$]*\$", "", bare)
    assert not re.search(r"[$%&#_{}^\\<>|]", maths)


def test_by_suffix_and_by_name(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(ONE.to_json(), encoding="utf-8")
    shown = run("report", str(plan), "--delta", "1e-6", "--format", "latex")
    done = run("report", str(plan), "--delta", "1e-6", "-o", str(tmp_path / "r.tex"))
    assert (done.code, shown.code) == (0, 0)
    assert (tmp_path / "r.tex").read_text(encoding="utf-8") == shown.stdout
    assert shown.stdout.startswith("\\documentclass") and shown.stdout.endswith("\\end{document}\n")


def test_a_certificate_of_a_plan_file(tmp_path: Path) -> None:
    """`compose` and `report` write the proof of the epsilon that they state, and `verify` checks it."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'delta = 1e-5\nunit = "user"\nadjacency = "add-remove"\n[[step]]\nb = 10\nrepeat = 100\n'
    )
    for command in ("compose", "report"):
        proof = tmp_path / f"{command}.json"
        done = run(command, str(plan), "--json", "--certificate", str(proof))
        assert done.code == 0, done.stderr
        upper = done.json["upper"] if command == "compose" else done.json["epsilon"]["upper"]
        checked = run("verify", str(proof), "--json")
        assert checked.json["holds"] and float(checked.json["upper"]) <= upper
    unproved = run("report", str(plan), "--delta", "0", "--certificate", str(tmp_path / "no.json"))
    assert unproved.code != 0 and not (tmp_path / "no.json").exists()
