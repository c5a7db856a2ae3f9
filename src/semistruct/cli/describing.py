"""`semistruct methods` and `semistruct dump`: what a method is, and what is inside a model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from semistruct.cli.options import load_trusting
from semistruct.errors import ParameterError, meant, quoted
from semistruct.methods import METHODS, SequenceLabeller


def method_of(name: str) -> type[SequenceLabeller]:
    if name not in METHODS:
        raise ParameterError(f"there is no method {quoted(name)}; {meant(name, METHODS)}")
    return METHODS[name]


def describe(name: str | None) -> dict[str, Any]:
    """All methods, or one with its parameters and their defaults."""
    if name is None:
        return {"methods": [{"name": key, "what": _title(method)} for key, method in METHODS.items()]}
    method = method_of(name)
    plain = (bool, int, float, str, list, tuple, type(None))
    defaults = {key: v if isinstance(v, plain) else repr(v) for key, v in method().get_params(deep=False).items()}
    return {"name": name, "class": method.__name__, "doc": inspect.getdoc(method), "defaults": defaults}


def _title(method: type[SequenceLabeller]) -> str:
    return (inspect.getdoc(method) or "").partition("\n")[0].rstrip(".,:").partition(":  ")[0]


def description_report(result: dict[str, Any]) -> Iterator[Any]:
    """The record of `describe` in words."""
    if "methods" in result:
        table = Table(box=None, pad_edge=False, show_header=False)
        for row in result["methods"]:
            table.add_row(row["name"], Text(row["what"]))
        yield table
        return
    yield f"{result['name']}: the class {result['class']}"
    yield ""
    yield Text(result["doc"])
    yield ""
    yield "defaults: " + ", ".join(f"{key}={value}" for key, value in result["defaults"].items())


def dump(model: Path, k: int, trust: list[str] | None = None) -> dict[str, Any]:
    """The card, the parameters, the rules and the heaviest features of each label."""
    estimator = load_trusting(model, trust)
    found = estimator.model_
    steps = [
        (f"{y} -> {z}", float(found.weights.trans[0][i, j]))
        for i, y in enumerate(found.labels)
        for j, z in enumerate(found.labels)
    ]
    return {
        "card": estimator.card_,
        "method": type(estimator).__name__,
        "params": estimator.description()["params"],
        "rules": None if found.rules is None else _rules(estimator),
        "tokens": estimator.tokens_,
        "features": found.encoder.features and list(found.encoder.features.specs),
        "heaviest": found.heaviest(k),
        "steps": sorted(steps, key=lambda step: -abs(step[1]))[:k],
    }


def _rules(estimator: SequenceLabeller) -> list[dict[str, Any]]:
    """The rules with their weights and why they weigh that, as far as the card tells; faded ones among them."""
    told = estimator.card_.get("trust")
    keys = {"rule": str, "weight": int | float | str, "why": str}
    rows = told if isinstance(told, list) else []
    if rows and all(isinstance(row, dict) and all(isinstance(row.get(k), t) for k, t in keys.items()) for row in rows):
        return [{key: row[key] for key in keys} for row in rows]
    return [{"rule": rule.text, "weight": rule.shown_weight, "why": ""} for rule in estimator.model_.rules or ()]


def dump_report(result: dict[str, Any]) -> Iterator[Any]:
    params = {k: v for k, v in result["params"].items() if k != "rules" or v is None}  # rules come in words
    yield Text(f"{result['method']}({', '.join(f'{k}={v!r}' for k, v in params.items())})")
    for key, value in result["card"].items():
        if key == "trust":  # comes with the rules
            continue
        shown = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        yield Text(f"{key}: {shown}")
    yield Text(f"features: {' '.join(result['features'] or ['as given'])}")
    yield Text(f"tokens: {result['tokens']}")
    for row in result["rules"] or ():
        weight = row["weight"] if isinstance(row["weight"], str) else f"{row['weight']:.1f}"
        why = f": {row['why']}" if row["why"] else ""
        yield Text(f"rule: {row['rule']} (weight {weight}{why})")
    for title, rows in [
        *result["heaviest"].items(),
        ("transitions from label to label, after any token", result["steps"]),
    ]:
        yield Text(f"\n{title}", style="bold")
        for name, weight in rows:
            yield Text(f"  {weight:+9.4f}  {name}")
