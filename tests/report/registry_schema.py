"""The schema of the registry of differential privacy deployments, as far as it decides validity.

From opendp/deployments-registry-data, schemas/deployments-schema.yaml (commit 3e9c812, July 2026): names,
types, required fields and enumerations; no object there takes a field that is not listed. Written down
here by hand, so that it shares nothing with dpacct.
"""

import re
from collections.abc import Iterator
from typing import Any

TEXT, NUMBER, NAMES, DAY = "text", "number", "names", "day"
STATUSES = ["Converted", "Draft", "Pending", "Changes Required", "Approved"]
STATUSES += ["Approved (Update Requested)", "Approved (Pending)"]
SCHEMA: dict[str, Any] = {
    "url_slug": TEXT,
    "status": STATUSES,
    "tier": [1, 2, 3],
    "deployment": {
        "basic": {
            "name": TEXT,
            "data_curators": NAMES,
            "intended_use": TEXT,
            "data_product_type": [
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
                "Interactive API",
                "SQL queries",
            ],
            "data_product_region": TEXT,
            "description": TEXT,
            "publication_date": DAY,
            "data_product_sector": [
                "Technology",
                "Healthcare",
                "Education",
                "Government",
                "Energy",
                "Finance",
            ],
        },
        "dp_variant": {
            "variant_name": [
                "Pure DP",
                "Approximate DP",
                "Zero-concentrated DP",
                "Renyi DP",
                "Custom",
            ],
            "data_domain": TEXT,
            "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT,
            "privacy_unit_details": TEXT,
            "privacy_parameters": {"epsilon": NUMBER, "delta": (NUMBER, TEXT), "rho": NUMBER},
            "privacy_parameters_details": TEXT,
        },
        "deployment_model": {
            "model_name": ["Local", "Central", "Shuffle", "Federated", "Varies"],
            "model_name_details": TEXT,
            "actors": TEXT,
            "release_type": ["One release", "Many releases"],
            "release_type_details": TEXT,
            "data_source_type": ["Static", "Dynamic"],
            "data_source_type_details": TEXT,
            "access_type": ["Interactive", "Non-interactive"],
            "access_type_details": TEXT,
        },
        "accounting": {"post_processing": TEXT, "composition": TEXT},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": TEXT,
            "mechanisms": TEXT,
            "justification": TEXT,
        },
        "administrative": {"sources": TEXT, "notes": TEXT, "registry_authors": NAMES},
    },
}
REQUIRED = {
    "": ["url_slug", "status", "tier", "deployment"],
    "deployment.": ["basic"],
    "deployment.basic.": [
        "name",
        "data_curators",
        "description",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "publication_date",
    ],
    "deployment.administrative.": ["registry_authors"],
}


def complaints(record: Any, schema: Any = SCHEMA, path: str = "") -> Iterator[str]:
    """What is wrong with a record, one line each."""
    if isinstance(schema, dict):
        if not isinstance(record, dict):
            yield f"{path} is no mapping"
            return
        yield from (
            f"{path}{name} is missing" for name in REQUIRED.get(path, []) if name not in record
        )
        for name, value in record.items():
            if name not in schema:
                yield f"{path}{name} is unknown"
            else:
                deeper = f"{path}{name}." if isinstance(schema[name], dict) else f"{path}{name}"
                yield from complaints(value, schema[name], deeper)
    elif isinstance(schema, list):
        if record not in schema:
            yield f"{path} is {record!r}"
    elif isinstance(schema, tuple):
        if all(list(complaints(record, alternative, path)) for alternative in schema):
            yield f"{path} is {record!r}"
    elif not _is(record, schema):
        yield f"{path} is no {schema}: {record!r}"


def _is(value: Any, kind: str) -> bool:
    if kind == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == NAMES:
        return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
    if kind == DAY:
        return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value))
    return isinstance(value, str)
