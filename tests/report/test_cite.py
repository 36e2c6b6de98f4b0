"""`dpacct cite`: valid BibTeX of what was used, and nothing that was used is lost."""

import re
from pathlib import Path

import pytest
import yaml

import dpacct as dp
from dpacct import citations
from dpacct.bibliography import bibtex, itself, latex, reference, works
from dpacct.citations import CONVERSION, Citation, by_id
from dpacct.errors import Unsupported
from dpacct.papers.registry import get, ids, papers
from dpacct.plan.routes import OFFERED, ROUTES
from dpacct.report.sources import of_paper, source, works_of
from tests.cli.runner import run
from tests.report.plans import EXAMPLE, OPAQUE, example
from tests.structure.project import ROOT

ENTRY = re.compile(r"^@(\w+)\{([\w:-]+),\n((?:  \w+ *= \{.*\},\n)+)\}$", re.M)
FIELD = re.compile(r"^  (\w+) *= \{(.*)\},$", re.M)


def read(text: str) -> dict[str, dict[str, str]]:
    """Every entry by its key; nothing but entries, blank lines and remarks may stand between."""
    results = {
        key: dict(FIELD.findall(body)) | {"": kind} for kind, key, body in ENTRY.findall(text)
    }
    rest = [line for line in ENTRY.sub("", text).splitlines() if line and not line.startswith("%")]
    assert not rest, rest
    for fields in results.values():
        for value in fields.values():
            assert value.count("{") == value.count("}")
    return results


def test_a_plan_cites_its_answer_its_mechanisms_and_dpacct() -> None:
    done = run("cite", str(EXAMPLE))
    result = read(done.stdout)
    assert done.code == 0 and list(result)[-1] == "dpacct"
    wanted = {"zhu2022optimal", "johansson2017arb", "dwork2006calibrating", "balle2018improving"}
    assert wanted <= set(result)
    assert result["zhu2022optimal"]["author"] == "Yuqing Zhu and Jinshuo Dong and Yu-Xiang Wang"
    report = read(example().to_bibtex())
    assert set(result) <= set(report) and {"bu2020deep"} <= set(report)


@pytest.mark.parametrize("method", OFFERED)
def test_every_method_cites_something(method: str) -> None:
    done = run("cite", method)
    assert done.code == 0 and len(read(done.stdout)) >= 2


def test_every_theorem_and_paper_can_be_cited() -> None:
    assert run("cite", *papers()).code == 0
    done = run("cite", *ids())
    result = read(done.stdout)
    assert len(result) == len(papers()) + 1
    assert done.stdout.count("\n% ") + 1 == len(ids())
    assert "% dp_fedsam.theorem2: false, refuted" in done.stdout


def test_keys_are_unique_and_titles_known() -> None:
    every = [*works().values(), *map(of_paper, papers().values()), itself()]
    keys = [work.key for work in dict.fromkeys(every)]
    assert len(keys) == len(set(keys))
    assert [*works()] == sorted(works())
    for key, work in works().items():
        assert works_of(reference(key)) == (work,)
        assert work.paper in ("", *papers())


def test_every_citation_has_an_id_and_its_works() -> None:
    """Each once; one that names a year says of which works, and its id can be cited."""
    named = [name for name, value in vars(citations).items() if isinstance(value, Citation)]
    assert len(by_id()) == len(named) > 70 and len({*by_id().values()}) == len(named)
    for name, citation in by_id().items():
        paper, _, rest = name.partition(".")
        assert (paper == "dpacct" and rest) or paper in works() or paper in papers(), name
        dated = re.search(r"\b(19|20)\d\d\b", citation)
        assert bool(works_of(citation)) or not dated, name
        if citation.link:
            assert citation.link in citation and (ROOT / citation.link).is_file()
    done = run("cite", *by_id(), "--json")
    assert done.code == 0 and {each["id"] for each in done.json["used"]} == {*by_id()}


def test_no_basis_and_no_citation_is_lost() -> None:
    """Each has an id that can be cited, over mechanisms, samplers and methods."""
    step = dp.Gaussian(sigma=2)
    plans = [
        *(
            step,
            dp.Poisson("0.1")(step) * 3,
            dp.WithoutReplacement("0.1")(step) * 3,
            dp.Laplace(b=2),
        ),
        *(dp.Staircase(eps0=1), dp.RandomizedResponse(eps0=1), dp.LocalRandomizer(eps0=1)),
        *(dp.DiscreteGaussian(scale=2), dp.DiscreteLaplace(scale=2), dp.PureDP(epsilon=1)),
        *(dp.ApproxDP(epsilon=1, delta=1e-9), dp.ZCDP(rho=1), dp.ExponentialMechanism(eps0=1)),
    ]
    results = {citation for plan in plans for citation in plan.citations()}
    for plan in plans:
        for method in ROUTES:
            try:
                answer = plan.epsilon(delta="1e-6", method=method)
                assert answer.to_dict()["basis_ids"] == [cited.id for cited in answer.basis]
                results |= set(answer.basis)
            except (Unsupported, dp.NotCertified):
                continue
    results |= set(dp.Risk(step).true_positive_rate(0.1).basis)
    assert len(results) > 20
    for citation in results:
        work = works().get(citation.id.partition(".")[0])
        assert citation.id in (*by_id(), *ids()) or (work and citation.startswith(work.line()))
        assert works_of(citation) or not re.search(r"\b(19|20)\d\d\b", citation)


def test_the_registrys_word_is_told() -> None:
    result = source(CONVERSION, "epsilon")
    assert result.theorems == ("canonne2020.proposition12",)
    statement = get("canonne2020.proposition12")
    assert result.status == f"{statement.id}: {statement.verdict}, {statement.evidence}"
    assert "canonne2020.proposition12" in {t for s in example().sources for t in s.theorems}
    assert source(Citation("a thought of nobody, 2020"), "x").works == ()
    assert OPAQUE.citations()


def test_dpacct_is_what_citation_cff_says() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = read(run("cite").stdout)["dpacct"]
    assert entry["title"] == f"{{{cff['title']}}}"
    assert entry["author"] == f"{{{cff['authors'][0]['name']}}}"
    assert entry["note"] == f"Version {cff['version']}" and entry[""] == "misc"


def test_authors_have_given_names_and_every_entry_a_year() -> None:
    """BibTeX styles that abbreviate given names had none to abbreviate, and `dpacct` no year."""
    entries = read(run("cite", *papers()).stdout)
    for key, entry in entries.items():
        assert int(entry["year"]) >= 1934, key
        if key != "dpacct":
            assert all(" " in author for author in entry["author"].split(" and ")), key


def test_json_and_file(tmp_path: Path) -> None:
    out = tmp_path / "used.bib"
    done = run("cite", "clt", "-o", str(out), "--json")
    body = done.json
    assert [entry["key"] for entry in body["entries"]] == list(
        read(out.read_text(encoding="utf-8"))
    )
    assert body["used"][0]["use"] == "method clt"
    assert "\n\n".join(entry["bibtex"] for entry in body["entries"]) in out.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("dp_fed_ls.theorem9", "did you mean dp_fed_ls.theorem"),
        ("certifed", "did you mean certified"),
        ("absent.toml", "cannot read 'absent.toml'"),
    ],
)
def test_refusals(word: str, wanted: str) -> None:
    done = run("cite", word)
    assert done.code == 2 and wanted in done.stderr and done.stderr.count("\n") == 1


def test_letters_beyond_ascii() -> None:
    """They stay as they are: every engine of today reads UTF-8."""
    assert latex("Clément Erdős İnci Søren Łukasz") == "Clément Erdős İnci Søren Łukasz"
    assert latex("a~b^c_d & 5 %") == r"a\textasciitilde{}b\textasciicircum{}c\_d \& 5 \%"
    title = read(bibtex(works().values()))["mironov2017renyi"]["title"]
    assert title == "{Rényi Differential Privacy}"
