"""Learning methods, one module each: a module of this package is found, and its methods are listed in METHODS."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Collection
from importlib import import_module
from typing import Any

from semistruct.base.errors import ParameterError, quoted
from semistruct.data.tokens import WORDS, checked_tokens
from semistruct.features.text_style import Look
from semistruct.learning.declarations import check_params
from semistruct.learning.labeller import METHODS, SequenceLabeller
from semistruct.model import store
from semistruct.rules import Rules

__all__ = ["METHODS", "SequenceLabeller", "load", "save"]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
for _name in sorted(METHODS):
    METHODS[_name] = METHODS.pop(_name)


def save(estimator: SequenceLabeller, path: str | os.PathLike[str], *, card: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator; see `load`."""
    estimator.save(path, card=card)


def load(path: str | os.PathLike[str], *, trust: str | Collection[str] = ()) -> SequenceLabeller:
    """The estimator that was saved to `path`, ready to predict; its card is in `card_`.

    trust  names of modules that the model may import and whose functions it may call, if its features are functions
    """
    trusted = [trust] if isinstance(trust, str) else trust
    if not isinstance(trusted, list | tuple | set) or not all(isinstance(name, str) for name in trusted):
        raise ParameterError(f"trust={quoted(trust)}: must be a list of names of modules")
    model, about = store.read_model(path, trusted)
    with store.refusing_damage(path):
        estimator = _built(about)
        check_params(estimator)
        store.functions_of(estimator.features, trusted, path)
        estimator.card_ = dict(about["card"])
        tokens = about.get("tokens", {"cut": WORDS, "look": None})
        estimator.tokens_ = checked_tokens(tokens["cut"])
        estimator.look_ = None if tokens["look"] is None else Look.from_dict(tokens["look"])
    estimator.model_ = model
    if isinstance(data := estimator.card_.get("data"), dict):
        estimator.data_ = dict(data)
    return estimator


def _built(about: dict[str, Any]) -> SequenceLabeller:
    """The estimator, not fitted, that was described (`SequenceLabeller.description`)."""
    params: dict[str, Any] = {}
    for name, value in about["params"].items():
        if name == "rules" and value is not None:
            params[name] = Rules.from_dict(value)
        else:
            params[name] = _built(value) if isinstance(value, dict) else value
    return METHODS[about["method"]](**params)
