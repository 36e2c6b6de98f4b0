"""Models by name."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from dpacct_training.accept import check_keys, one_of
from dpacct_training.models.linear import Linear
from dpacct_training.models.model import Model
from dpacct_training.models.module import Module as Module
from dpacct_training.models.networks import NETWORKS

OWN = ("start", "loss", "device")
"""Settings of [model] that are dpacct's, where the other ones are a function's keywords."""


def names() -> list[str]:
    """All models."""
    return sorted(["linear", *NETWORKS])


def settings_of(name: str, settings: Mapping[str, Any]) -> tuple[type[Model], dict[str, Any]]:
    """The model of a name, or of "package.module:function", and its fields. Raises `InvalidArgument`."""
    if ":" not in name and one_of("model", name, names()) == "linear":
        return Linear, dict(settings)
    if name in NETWORKS:
        check_keys("[model]", settings, [*list(signature(NETWORKS[name]).parameters)[2:], *OWN])
    keywords = {key: value for key, value in settings.items() if key not in OWN}
    own = {key: value for key, value in settings.items() if key in OWN}
    return Module, {**own, "function": name, "keywords": keywords}
