"""The draft for the registry of deployments is valid, and says no more than is known."""

import copy
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.report.about import ACCESS, PRODUCTS, RELEASES, SECTORS, SETTINGS, SOURCES, About
from dpacct.report.card import dump
from tests.report.plans import DELTA, ONE, OPAQUE, example, report, tables
from tests.report.registry_schema import SCHEMA, complaints


def record(made: dp.Report) -> Any:
    text = made.to_yaml()
    read = yaml.safe_load(text)
    assert not list(complaints(read))
    return read


def test_the_schema_complains() -> None:
    good = record(example())
    for spoil in (
        lambda r: r.pop("tier"),
        lambda r: r.update(status="draft"),
        lambda r: r["deployment"].update(extra=1),
        lambda r: r["deployment"]["basic"].update(publication_date="18.11.2026"),
        lambda r: r["deployment"]["basic"].update(data_curators=[]),
        lambda r: r["deployment"]["privacy_loss"]["privacy_parameters"].update(epsilon="1.8"),
        lambda r: r["deployment"]["administrative"].pop("registry_authors"),
    ):
        bad = copy.deepcopy(good)
        spoil(bad)
        assert len(list(complaints(bad))) == 1


def test_the_example() -> None:
    read = record(example())
    assert read["url_slug"] == "next-word-model" and read["status"] == "Draft"
    basic = read["deployment"]["basic"]
    entry = tables()["report"]
    assert basic["name"] == entry["name"] and basic["data_curators"] == entry["curators"]
    assert basic["publication_date"] == "2026-11-18"
    loss = read["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.805, "delta": 1e-6}
    assert loss["privacy_unit"] == "client-level"
    assert "two-sided, proved (method certified)" in loss["privacy_parameters_details"]
    assert "one phone with all that was typed" in loss["privacy_unit_details"]
    assert read["deployment"]["deployment_model"]["model_name"] == "Federated"
    assert example().statement in read["deployment"]["administrative"]["notes"]
    assert "sampled independently" in read["deployment"]["implementation"]["mechanisms"]


def test_what_is_left_out_is_marked_and_still_valid() -> None:
    text = report().to_yaml()
    read = record(report())
    assert read["deployment"]["basic"]["name"].startswith("TO BE FILLED IN")
    assert read["tier"] == 1 and text.count("# to be filled in") == 8
    assert read["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"


def test_everything_told_is_tier_3() -> None:
    words = {name: f"text of {name}" for name in About.parameters}
    words |= {
        "setting": "central",
        "product": "dataset",
        "sector": "energy",
        "access": "interactive",
    }
    words |= {"release_type": "one release", "data_source": "static", "published": "2026-01-02"}
    lists = {"curators": ["A", "B"], "authors": "C"}
    made = dp.Report.of(ONE, delta=DELTA, about=words | lists)
    read = record(made)
    assert read["tier"] == 3 and "to be filled in" not in made.to_yaml().lower()
    used = str(read)
    for name in words.keys() - {"setting", "product", "sector", "access", "output", "unit"}:
        if name not in {"release_type", "data_source", "published", *lists}:
            assert f"text of {name}" in used, name
    fewer = dp.Report.of(ONE, delta=DELTA, about={**words, **lists, "tuning": ""})
    assert record(fewer)["tier"] == 2


@pytest.mark.parametrize(
    ("key", "words", "path"),
    [
        ("product", PRODUCTS, ("basic", "data_product_type")),
        ("sector", SECTORS, ("basic", "data_product_sector")),
        ("setting", SETTINGS, ("deployment_model", "model_name")),
        ("release_type", RELEASES, ("deployment_model", "release_type")),
        ("data_source", SOURCES, ("deployment_model", "data_source_type")),
        ("access", ACCESS, ("deployment_model", "access_type")),
    ],
)
def test_words_are_the_registrys(key: str, words: tuple[str, ...], path: tuple[str, str]) -> None:
    assert set(words) <= set(SCHEMA["deployment"][path[0]][path[1]])
    assert About.of_table({key: words[-1].upper()}) == About(**{key: words[-1]})
    with pytest.raises(dp.InvalidArgument, match=f"{key} must be one of {words[0]}"):
        About.of_table({key: "nonsense"})


def test_a_delta_below_floats_is_text() -> None:
    tiny = dp.Report.of(OPAQUE, delta="1e-400")
    parameters = record(tiny)["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters["delta"] == "1e-400"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
KEYS = st.from_regex(r"k[a-z_]{1,9}", fullmatch=True)
VALUES = st.recursive(
    TEXT | st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(st.sampled_from(["one", "two", "three"]), VALUES, min_size=1)


@hypothesis.example({"one": "\n"}, ["x"])
@given(MAPPINGS, st.lists(TEXT, min_size=1, max_size=3))
def test_yaml_reads_back(data: dict[str, Any], names: list[str]) -> None:
    """By a reader that is not ours, whatever the text holds."""
    data["names"] = names
    data["block"] = "\n".join(" ".join(name.split()) or "x" for name in names) + "\n"
    assert yaml.safe_load(dump(data, {"names": "remark", "block": "remark"})) == data
