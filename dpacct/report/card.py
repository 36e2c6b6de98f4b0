"""A draft for the registry of differential privacy deployments, in the fields of its schema.

The schema is that of opendp/deployments-registry-data (schemas/deployments-schema.yaml, July 2026). It has no
field for a grade, a trade-off or an assumption's status, so these stand in its free text.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from dpacct.report.about import About
from dpacct.report.rounding import interval, upward
from dpacct.report.words import DIGITS, NEIGHBOURS, branches, uncovered, version

if TYPE_CHECKING:
    from dpacct.report.report import Report

_OPEN = "to be filled in"
_TODO = "TO BE FILLED IN"


def card(report: Report) -> tuple[dict[str, Any], dict[str, str]]:
    """(the record, remarks by path); what the plan's [report] leaves out is marked to be filled in."""
    about, answer = report.about, report.answer
    remarks: dict[str, str] = {}

    def said(value: str, path: str, key: str) -> str:
        if value:
            return value
        remarks[path] = _OPEN
        return f"{_TODO}: {About.parameters[key].means}"

    def names(values: tuple[str, ...], path: str, key: str) -> list[str]:
        if values:
            return list(values)
        remarks[path] = _OPEN
        return [f"{_TODO}: {About.parameters[key].means}"]

    base = "deployment.basic."
    name = said(about.name, base + "name", "name")
    if not about.product:
        remarks[base + "data_product_type"] = f"{_OPEN}: this is a guess"
    if not about.published:
        remarks[base + "publication_date"] = f"{_OPEN}: this is the day of the draft"
    basic = {
        "name": name,
        "data_curators": names(about.curators, base + "data_curators", "curators"),
        "intended_use": said(about.intended_use, base + "intended_use", "intended_use"),
        "data_product_type": about.product or "Machine learning model",
        "data_product_region": said(about.region, base + "data_product_region", "region"),
        "description": said(about.description, base + "description", "description"),
        "publication_date": about.published or date.today().isoformat(),
        **({"data_product_sector": about.sector} if about.sector else {}),
    }
    unit = str(answer.unit)
    deployment = {
        "basic": basic,
        "dp_variant": {
            "variant_name": "Approximate DP" if report.delta else "Pure DP",
            **_given(data_domain=about.data),
            "unprotected_quantities": about.unprotected or "Not stated.",
        },
        "privacy_loss": {
            "privacy_unit": f"{unit}-level",
            "privacy_unit_details": _block(
                f"Adjacency {answer.adjacency}: {NEIGHBOURS[answer.adjacency].format(unit=unit)}.",
                f"One {unit} is {about.unit}." if about.unit else "",
            ),
            # Parameters that do not hold are given in words only.
            **({} if report.violated else {"privacy_parameters": _parameters(report)}),
            "privacy_parameters_details": _block(*_details(report)),
        },
        "deployment_model": {
            **_given(model_name=about.setting),
            **_given(actors=f"Viewers: {about.viewer}." if about.viewer else ""),
            **_given(
                release_type=about.release_type,
                data_source_type=about.data_source,
                access_type=about.access,
            ),
        },
        "accounting": {
            **_given(post_processing=about.post_processing),
            "composition": _block(
                f"Composed by method {answer.method}: {'; '.join(answer.basis)}.",
                "",
                "```",
                *branches(report.plan).lines(),
                "```",
            ),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": _block(
                *uncovered(answer, about)[:2],
            ),
            "mechanisms": _block(
                *([about.implementation] if about.implementation else []),
                f"Accounted by dpacct {version()}: {report.command or 'from Python'}",
                "",
                "Assumptions:",
                *(f"- {row.text}: {row.status} ({row.evidence})" for row in report.assumptions),
            ),
            **_given(justification=about.justification),
        },
        "administrative": {
            **_given(sources=about.sources),
            "notes": _block(*report.warnings, report.statement),
            "registry_authors": names(
                about.authors, "deployment.administrative.registry_authors", "authors"
            ),
        },
    }
    record = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "deployment",
        "status": "Draft",
        "tier": _tier(report, complete=not remarks),
        "deployment": {key: part for key, part in deployment.items() if part},
    }
    if record["tier"] != 3:
        remarks["tier"] = "as far as the plan's [report] goes"
    return record, remarks


def _details(report: Report) -> list[str]:
    answer = report.answer
    bounds = f"epsilon in {interval(answer)}" if answer.lower is not None else interval(answer)
    lines = [f"Grade: {answer.side}, {answer.strength} (method {answer.method}); {bounds}."]
    lines += [f"{name}: at most {upward(float(risk), DIGITS)}." for name, risk in report.risks]
    if report.violated:
        claim = f"epsilon {upward(float(answer), DIGITS)} at delta {upward(report.delta, DIGITS)}"
        lines.insert(0, f"{claim} does not hold: an assumption is violated.")
    return lines


def _parameters(report: Report) -> dict[str, float | str]:
    epsilon = float(upward(float(report.answer), DIGITS))
    if not report.delta:
        return {"epsilon": epsilon}
    delta = upward(report.delta, DIGITS)
    # The schema takes a delta as text too: one below the range of floats is.
    return {"epsilon": epsilon, "delta": float(delta) or delta}


def _tier(report: Report, *, complete: bool) -> int:
    """How far the record goes: the registry's tiers are of completeness."""
    about = report.about
    second = (about.setting, about.release_type, about.data_source, about.access)
    third = [about.data, about.unprotected, about.tuning, about.preprocessing]
    third += [about.post_processing, about.implementation, about.justification, about.viewer]
    if not complete or report.violated or not all(second):
        return 1
    return 3 if all(third) else 2


def _given(**fields: str) -> dict[str, str]:
    """The fields that have something in them."""
    return {name: value for name, value in fields.items() if value}


def _block(*lines: str) -> str:
    """Several lines as one text that ends with a line end; a single one as it is."""
    kept = "\n".join(" ".join(line.splitlines()) for line in lines).strip()
    return kept + "\n" if "\n" in kept else kept
