"""The site, built once: what the tests of the documentation look at."""

import importlib.util
import os
import posixpath
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dpacct.papers.registry import PAGES, ids
from tests.report.plots.charts import contrast
from tests.structure.project import ROOT

# What a browser fetches by itself to show a page, and where each names it.
FETCHED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
}


@dataclass
class Seen(HTMLParser):
    """What one page refers to: `fetched` to be shown, `links` to be followed, `anchors` to arrive at."""

    fetched: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if FETCHED.get(tag, "") in attributes:
            self.fetched.append(attributes[FETCHED[tag]])
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}


@dataclass(frozen=True)
class Site:
    """A built site and what building it printed."""

    folder: Path
    printed: str
    code: int

    @cached_property
    def pages(self) -> dict[str, Seen]:
        """Every page by its place in the site."""
        results = {}
        for path in sorted(self.folder.rglob("*.html")):
            seen = Seen()
            seen.feed(path.read_text(encoding="utf-8"))
            results[path.relative_to(self.folder).as_posix()] = seen
        return results


def build(folder: Path) -> Site:
    """`mkdocs build --strict` into a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},  # the theme's advertisement
        capture_output=True,
        text=True,
        check=False,
    )
    return Site(folder, done.stdout + done.stderr, done.returncode)


# --- The documentation builds without a warning, and opens without a network.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("site") / "site")


def test_it_builds_without_a_warning(site: Site) -> None:
    assert site.code == 0, site.printed
    assert not re.search("WARNING|ERROR|not included in the", site.printed), site.printed


def test_every_page_is_in_it(site: Site) -> None:
    written = (p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md"))
    taken = (Path("theorems", p.relative_to(PAGES)) for p in PAGES.glob("*/*.md"))
    wanted = {
        (p.parent / "index.html" if p.name == "README.md" else p.with_suffix(".html")).as_posix()
        for p in [*written, *taken]
    }
    assert wanted <= set(site.pages)


def test_nothing_is_fetched_to_show_a_page(site: Site) -> None:
    foreign = {u for seen in site.pages.values() for u in seen.fetched if urlsplit(u).netloc}
    assert not foreign
    sheets = "".join(p.read_text(encoding="utf-8") for p in site.folder.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import )\W*(?:https?:)?//", sheets)


def test_all_that_is_shown_is_there(site: Site) -> None:
    missing = {
        (name, u)
        for name, seen in site.pages.items()
        for u in seen.fetched
        if not u.startswith("data:") and not (site.folder / target(name, u)).is_file()
    }
    assert not missing


def test_links_lead_to_a_page_and_a_place(site: Site) -> None:
    lost = []
    for name, seen in site.pages.items():
        for url in seen.links:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            page = target(name, url) if parts.path else name
            place = unquote(parts.fragment)
            anchors = site.pages[page].anchors | {""} if page in site.pages else {""}
            if not (site.folder / page).is_file() or place not in anchors:
                lost.append((name, url))
    assert not lost


def test_every_statement_is_listed(site: Site) -> None:
    """The overview of the papers lists each in the navigation."""
    listed = set(site.pages["theorems/index.html"].links)
    assert {f"{name.replace('.', '/')}.html" for name in ids()} <= listed


def test_lines_break_where_a_reader_would(site: Site) -> None:
    """A theorem's id at its dots and underscores, so that tables of them fit; a flag nowhere."""
    text = (site.folder / "theorems/index.html").read_text(encoding="utf-8")
    assert ">ae_<wbr>dpfl.<wbr>theorem14_<wbr>corrected</a>" in text
    text = (site.folder / "notation.html").read_text(encoding="utf-8")
    assert '<code class="short">--delta</code>' in text
    assert not re.search(r'<code class="short">[^<]{25,}', text)


def test_formulas_are_mathml(site: Site) -> None:
    """No dollar of a formula is left over in the text, and no command of LaTeX."""
    texts = {n: (site.folder / n).read_text(encoding="utf-8") for n in site.pages}
    assert "<math " in texts["theory/engine.html"]
    assert not [name for name, text in texts.items() if 'class="arithmatex"' in text]
    code = re.compile(r"<(pre|code|script|math)\b.*?</\1>|<[^>]*>", re.DOTALL)
    left = {n: re.findall(r"\$|\\[a-zA-Z]+", code.sub("", text)) for n, text in texts.items()}
    assert not {name: value[:5] for name, value in left.items() if value}


def test_it_can_be_searched_from_disk(site: Site) -> None:
    """The index is a script, and the worker that reads it needs no server."""
    index = (site.folder / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "randomised response" in index
    assert "assets/frame-worker.js" in site.pages["index.html"].fetched


def target(page: str, url: str) -> str:
    """Where a relative address leads, seen from a page."""
    path = unquote(urlsplit(url).path)
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return posixpath.join(there, "index.html") if path.endswith("/") else there


def test_what_the_converter_would_spell_wrongly() -> None:
    """Letters of other alphabets, names of functions, and formulas among words."""
    path = ROOT / "docs" / "site" / "maths.py"
    spec = importlib.util.spec_from_file_location("maths", path)
    assert spec and spec.loader
    maths = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maths)
    made = maths.mathml(r"\mathbb E\log x\in\mathbb R,\ \mathcal N,\ \mathbf Sb", "inline")
    assert all(letter in made for letter in "𝔼ℝ𝒩𝐒")
    assert "mathvariant" not in made
    assert '<mi class="named">log</mi>' in made
    assert "$" not in maths.mathml(r"0\text{ if $y_i$ is in $M$}", "inline")
    with pytest.raises(ValueError, match="not understood"):
        maths.mathml(r"\nosuch x", "inline")


def test_the_copy_button_copies_what_was_typed(site: Site) -> None:
    blocks = 0
    for path in site.folder.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert 'language-python highlight"><pre><span></span><code><span class="o">&gt;' not in page
        for language, copied in re.findall(r'language-(console|pycon) highlight"(.*?)>', page):
            text = unescape(copied.removeprefix(' data-copy="').removesuffix('"'))
            assert text.strip() and not re.search(r"^(\$|>>>|\.\.\.) ", text, re.MULTILINE), path
            if language == "pycon":
                compile(text, str(path), "exec")
            blocks += 1
    assert blocks > 80


def test_printed_text_is_wrapped_and_dark_enough() -> None:
    """WCAG AA: at least 4.5 to 1 between text and its ground, in both colour schemes."""
    css = (ROOT / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"pre > code \{[^}]*white-space: pre-wrap", css)
    grounds = {"default": "#f5f5f5", "slate": "#272a35"}  # the theme's --md-code-bg-color
    for scheme, ground in grounds.items():
        rules = re.findall(rf'scheme="{scheme}"\]\[[^]]*\] \{{(.*?)\}}', css, re.DOTALL)
        colours = re.findall(r"--md-code-hl-\w+-color: (#\w+)", "".join(rules))
        assert len(colours) == 2 and all(contrast(c, ground) >= 7.0 for c in colours)
