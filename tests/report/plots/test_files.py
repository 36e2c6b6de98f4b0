"""Every kind in every format; equal charts are equal bytes, whatever the machine's settings."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpacct as dp
from dpacct.report.plots.draw import draw
from dpacct.report.plots.style import FORMATS, save, to_bytes
from tests.report.plots.charts import KINDS, chart

BEGINS = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_format(kind: str, tmp_path: Path) -> None:
    figure = draw(chart(kind))
    data = {suffix: to_bytes(figure, suffix) for suffix in FORMATS}
    for suffix, begin in BEGINS.items():
        assert data[suffix].startswith(begin) and len(data[suffix]) > 5000
    assert b"<text" in data[".svg"], "text is text: it can be searched, copied and read out"
    assert b"sans-serif" in data[".svg"] and b"prefers-color-scheme: dark" in data[".svg"]
    assert b"<dc:date>" not in data[".svg"]
    assert b"/FontFile2" in data[".pdf"], "the font is embedded, as TrueType"
    assert b"/CreationDate" not in data[".pdf"]
    save(figure, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == data[".svg"]


ELSEWHERE = """
import hashlib
import dpacct as dp
run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
picture = dp.plot.profile(run, epsilons=[0, 1, 2], methods=("auto", "clt"))
for suffix in (".svg", ".pdf"):
    print(hashlib.sha256(dp.plot.to_bytes(picture, suffix)).hexdigest())
"""


def test_bytes_do_not_depend_on_the_user_s_settings(tmp_path: Path) -> None:
    run = dp.Poisson(0.01)(dp.Gaussian(sigma=1.1)) * 1000
    picture = dp.plot.profile(run, epsilons=[0, 1, 2], methods=("auto", "clt"))
    digests = [hashlib.sha256(dp.plot.to_bytes(picture, s)).hexdigest() for s in (".svg", ".pdf")]
    settings = "font.size: 30\nlines.linewidth: 9\naxes.grid: False\nsvg.fonttype: path\n"
    (tmp_path / "matplotlibrc").write_text(settings)
    there = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
    )
    assert there.stdout.split() == digests


def test_another_suffix_is_refused() -> None:
    with pytest.raises(ValueError, match=r"suffix must be one of \.svg, \.pdf, \.png"):
        save(draw(chart("profile")), "x.jpg")
