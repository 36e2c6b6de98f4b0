"""A draft for the registry of differential privacy deployments, in the fields of its schema.

The schema is that of opendp/deployments-registry-data (schemas/deployments-schema.yaml, July 2026). It has no
field for a grade, a trade-off or an assumption's status, so these stand in its free text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import interval, protected
from dpacct.declare.number import up
from dpacct.plan.words import branches
from dpacct.report.about import About
from dpacct.report.report import uncovered, version

if TYPE_CHECKING:
    from dpacct.report.report import Report

_OPEN = "to be filled in"
_TODO = "TO BE FILLED IN"
_FIELDS = {each.symbol: name for name, each in About.parameters.items() if each.symbol}
"""The plan's [report] entry for each field of the registry's schema that has one."""
_NEEDED = ("name", "curators", "intended_use", "region", "description", "authors")
# The registry's tiers are of completeness.
_SECOND = ("setting", "release_type", "data_source", "access")
_THIRD = (
    *("data", "unprotected", "tuning", "preprocessing"),
    *("post_processing", "implementation", "justification", "viewer"),
)


def card(report: Report) -> tuple[dict[str, Any], dict[str, str]]:
    """(the record, remarks by path); fields that [report] leaves out are marked to be filled in."""
    about, answer, unit = report.about, report.answer, str(report.answer.unit)
    said, remarks = about.said, {}
    for path, key in _FIELDS.items():
        if key in _NEEDED and key not in said:
            remarks[f"deployment.{path}"] = _OPEN
            todo = f"{_TODO}: {About.parameters[key].means}"
            said[key] = [todo] if About.parameters[key].default == () else todo
    defaults = {
        "product": ("Machine learning model", f"{_OPEN}: this is a guess"),
        "published": (date.today().isoformat(), f"{_OPEN}: this is the day of the draft"),
        "unprotected": ("Not stated.", ""),
    }
    paths = {key: path for path, key in _FIELDS.items()}
    for key, (default, remark) in defaults.items():
        if said.setdefault(key, default) is default and remark:
            remarks[f"deployment.{paths[key]}"] = remark
    values: dict[str, Any] = {
        "dp_variant.variant_name": "Approximate DP" if report.delta else "Pure DP",
        **{path: said[key] for path, key in _FIELDS.items() if key in said},
        "privacy_loss.privacy_unit": f"{unit}-level",
        "privacy_loss.privacy_unit_details": _block(
            f"Adjacency {answer.adjacency}: {protected(answer)}.",
            f"One {unit} is {about.unit}." if about.unit else "",
        ),
        "privacy_loss.privacy_parameters": _parameters(report),
        "privacy_loss.privacy_parameters_details": _block(*_details(report)),
        "deployment_model.actors": f"Viewers: {about.viewer}." if about.viewer else "",
        "accounting.composition": _block(
            f"Composed by method {answer.method}: {'; '.join(answer.basis)}.",
            *("", "```", *branches(report.plan).lines(), "```"),
        ),
        "implementation.preprocessing_and_hyperparameter_tuning": _block(
            *uncovered(answer, about)[:2]
        ),
        "implementation.mechanisms": _block(
            *([about.implementation] if about.implementation else []),
            f"Accounted by dpacct {version()}: {report.command or 'from Python'}",
            *("", "Assumptions:"),
            *(f"- {row.text}: {row.status} ({row.evidence})" for row in report.assumptions),
        ),
        "administrative.notes": _block(*report.warnings, report.statement),
    }
    deployment: dict[str, dict[str, Any]] = {
        name: {}
        for name in (
            *("basic", "dp_variant", "privacy_loss", "deployment_model", "accounting"),
            *("implementation", "administrative"),
        )
    }
    for path, value in values.items():
        section, _, name = path.partition(".")
        if value:
            deployment[section][name] = value
    record = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", said["name"].lower()).strip("-") or "deployment",
        "status": "Draft",
        "tier": _tier(report, complete=not remarks),
        "deployment": {name: part for name, part in deployment.items() if part},
    }
    if record["tier"] != 3:
        remarks["tier"] = "as far as the plan's [report] goes"
    return record, remarks


def _details(report: Report) -> list[str]:
    answer = report.answer
    bounds = f"epsilon in {interval(answer)}" if answer.lower is not None else interval(answer)
    lines = [f"Grade: {answer.side}, {answer.strength} (method {answer.method}); {bounds}."]
    lines += [f"{name}: at most {up(float(risk))}." for name, risk in report.risks]
    if report.violated:
        claim = f"epsilon {up(float(answer))} at delta {up(report.delta)}"
        lines.insert(0, f"{claim} does not hold: an assumption is violated.")
    return lines


def _parameters(report: Report) -> dict[str, float | str]:
    """The numbers to claim; those that do not hold are given in words only."""
    if report.violated:
        return {}
    epsilon, delta = float(up(float(report.answer))), up(report.delta)
    # The schema takes a delta as text too: one below the range of floats is.
    return {"epsilon": epsilon, **({"delta": float(delta) or delta} if report.delta else {})}


def _tier(report: Report, *, complete: bool) -> int:
    said = report.about.said
    if not complete or report.violated or not said.keys() >= {*_SECOND}:
        return 1
    return 3 if said.keys() >= {*_THIRD} else 2


def _block(*lines: str) -> str:
    """Several lines as one text that ends with a newline; a single line unchanged."""
    kept = "\n".join(" ".join(line.splitlines()) for line in lines).strip()
    return kept + "\n" if "\n" in kept else kept


# --- YAML that every reader of YAML 1.1 or 1.2 agrees on: text cannot be read as anything else


def dump(record: Mapping[str, Any], remarks: Mapping[str, str] | None = None) -> str:
    """`data` as YAML; `remarks` are comments, by the path of the value that they follow ("a.b").

    >>> print(dump({"a": {"b": 0.5, "c": ["x"]}}, {"a.b": "half"}), end="")
    a:
      b: 0.5  # half
      c:
        - "x"
    """
    return "".join(f"{line}\n" for line in _mapping(record, "", remarks or {}, ""))


def _mapping(
    record: Mapping[str, Any], margin: str, remarks: Mapping[str, str], path: str
) -> Iterator[str]:
    for key, value in record.items():
        where = f"{path}{key}"
        remark = f"  # {remarks[where]}" if where in remarks else ""
        if isinstance(value, Mapping):
            yield f"{margin}{key}:{remark}"
            yield from _mapping(value, margin + "  ", remarks, where + ".")
        elif isinstance(value, list | tuple):
            yield f"{margin}{key}:{remark}"
            yield from (f"{margin}  - {_scalar(scalar)}" for scalar in value)
        elif isinstance(value, str) and _is_block(value):
            yield f"{margin}{key}: |{remark}"
            yield from ((margin + "  " + line).rstrip() for line in value.splitlines())
        else:
            yield f"{margin}{key}: {_scalar(value)}{remark}"


def _is_block(text: str) -> bool:
    """Return whether a literal block gives the text back: no odd line ends, no leading blank, no tabs."""
    plain = all(letter == "\n" or letter.isprintable() for letter in text)
    return plain and text.strip() != "" and text == text.strip() + "\n"


def _scalar(value: object) -> str:
    """A number, or text in double quotes (JSON's escapes are YAML's)."""
    if isinstance(value, float):
        # YAML 1.1 reads 1e-06 as text: a mantissa with a point, and a sign in the exponent.
        mantissa, e, exponent = repr(value).partition("e")
        if not e:
            return mantissa
        point = mantissa if "." in mantissa else f"{mantissa}.0"
        return f"{point}e{int(exponent):+d}"
    quoted = json.dumps(value, ensure_ascii=False)
    # JSON and YAML write letters beyond 16 bits differently, so what is not printable is done here.
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)
