"""The report that docs/report.md shows in full is the one that is made."""

import re

from dpacct.report.about import About
from dpacct.report.assumptions import PREMISES
from tests.report.plans import example
from tests.structure.project import ROOT

PAGE = ROOT / "docs" / "report.md"
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Past ten digits the mathematics library and the processor may differ.
LONG = re.compile(r"\d+\.\d{10,}")
VERSIONS = re.compile(r"^( +versions: dpacct \S+), .*$", re.MULTILINE)


def shown() -> str:
    """The example's report without the versions of other libraries."""
    return VERSIONS.sub(r"\1, ...", example().to_text())


def normal(text: str) -> str:
    return LONG.sub(lambda number: f"{float(number.group()):.10g}", text)


def test_the_page_shows_what_is_made() -> None:
    (block,) = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert normal(block) == normal(shown()), "python -m tests.report.test_page rewrites it"


def test_the_page_lists_every_name_and_key() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [*PREMISES, *About().__dict__]
    assert not [name for name in names if f"`{name}`" not in page]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: f"```text\n{shown()}```", text), encoding="utf-8")
