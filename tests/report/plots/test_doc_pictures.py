"""The pictures in the docs say what their commands find today."""

import re
from pathlib import Path

import pytest

from tests.report.plots.doc_pictures import FOLDER, PAGES, Picture, pictures, title
from tests.structure.project import ROOT


@pytest.mark.parametrize("picture", pictures(), ids=lambda p: p.file)
def test_a_picture_is_up_to_date(picture: Picture, tmp_path: Path) -> None:
    assert picture.finding(tmp_path) == title(FOLDER / picture.file), (
        "python -m tests.report.plots.doc_pictures makes them again"
    )


def test_every_picture_has_its_command() -> None:
    shown = {name for page in PAGES for name in re.findall(r"pictures/([\w-]+\.svg)", text(page))}
    assert shown == {picture.file for picture in pictures()} == {f.name for f in FOLDER.iterdir()}


def text(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")
