"""`semistruct train`: fit, save, and tell how it went."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from semistruct.cli.output import check_plot
from semistruct.cli.progress import watching
from semistruct.corpus import Corpus
from semistruct.errors import DataError, ParameterError, meant
from semistruct.fitting.path import PathMethod
from semistruct.methods import METHODS, SequenceLabeller
from semistruct.rules import Rules

SHOWN = 8  # rules and moves that the report shows
OPTIONS = {  # of parameters that have one
    "C": "-C", "features": "--features (-f)", "rules": "--rules (-r)", "select": "--select",
    "random_state": "--seed", "n_jobs": "--jobs",
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """What there is to learn from."""

    labelled: Corpus
    unlabelled: list[Corpus]
    dev: Corpus | None

    @property
    def pool(self) -> list[Any] | None:
        return [x for corpus in self.unlabelled for x in corpus.tokens] if self.unlabelled else None

    @property
    def has_unlabelled(self) -> bool:
        """Whether any label is unknown."""
        return bool(self.unlabelled) or any(row is None or None in row for row in self.labelled.labels)


@dataclass(frozen=True)
class BesideModel:
    """What is kept besides the model: a checkpoint folder, and a plot."""

    checkpoint: Path | None = None
    resume: bool = False
    plot: Path | None = None


def train(
    data: Data, output: Path, *, method: str | None, params: dict[str, Any], beside: BesideModel, quiet: bool
) -> dict[str, Any]:
    """Fit an estimator, write the model, and return a record of it."""
    name = method or ("annealed" if data.unlabelled else "ssvm")
    chosen = _method(name)
    for path in filter(None, (output, beside.plot)):
        if path.is_dir() or not path.resolve().parent.is_dir():
            problem = "is a folder, name a file" if path.is_dir() else "cannot write: no such folder"
            raise DataError.at(path, None, problem)
    if beside.plot is not None and beside.plot.resolve() == output.resolve():
        raise DataError.at(output, None, "cannot be both the model and the plot")
    check_plot(beside.plot)
    for corpus in filter(None, (data.labelled, data.dev)):
        if not corpus.label_set:
            raise DataError.at(corpus.source, None, "no token has a label")
    estimator: Any = chosen(**_accepted(name, params))
    further = _further(name, data, beside)
    _warn_of_unseen(data, params["rules"])
    began = time.perf_counter()
    with watching(quiet) as watch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "interrupted")  # `end` tells more
        estimator.fit(data.labelled.tokens, data.labelled.labels, watch=watch, **further)
    seconds = time.perf_counter() - began
    rules = estimator.model_.rules is not None
    scores = {"train": estimator.score(data.labelled.tokens, data.labelled.labels)}
    if data.dev is not None:
        scores["dev"] = estimator.score(data.dev.tokens, data.dev.labels)
        if rules:
            scores["dev, under the rules"] = estimator.score(data.dev.tokens, data.dev.labels, rules=True)
    about = {"file": data.labelled.source, "sequences": len(data.labelled), "sha256": data.labelled.digest}
    if data.unlabelled:
        about |= {"unlabelled": [corpus.source for corpus in data.unlabelled], "pool": len(data.pool or ())}
    card = {"data": about, "token_accuracy": scores, "C": getattr(estimator, "C_", None)}
    estimator.save(output, card=card)
    if beside.plot is not None:
        _draw(beside.plot, estimator, output)
    learned = {key: getattr(estimator, key + "_", None) for key in ("search", "stop", "history", "path", "explanation")}
    learned |= {part.attribute.rstrip("_"): getattr(estimator, part.attribute) for part in chosen.reports}
    sizes = {"labels": list(estimator.model_.labels), "features": estimator.model_.encoder.n_features}
    return {"model": str(output), "method": name, "seconds": seconds, **card, **learned, **sizes}


def _warn_of_unseen(data: Data, rules: Rules | None) -> None:
    """Tell of labels that are in the dev data only: a typing error, or too few labelled sequences."""
    known = (rules or Rules([])).all_labels(data.labelled.label_set)
    for label, where in data.dev.unseen(known).items() if data.dev else ():
        problem = f"no labelled sequence has the label {label!r}; on dev data it counts as an error"
        warnings.warn(f"{where}: {problem}", stacklevel=2)


def _draw(plot: Path, estimator: Any, output: Path) -> None:
    from semistruct.report.plots import path_of_models

    try:
        path_of_models(plot, estimator.path_, estimator.history_, (estimator.axis, estimator.axis_text))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {output}, the plot is not complete") from None


def end(result: dict[str, Any]) -> None:
    """Pass on an interruption of the fit, now that the model is written and the report printed."""
    if result["stop"] == "interrupted":
        start = result["path"][0]["chosen"]
        which = "the supervised start" if start else "the best point so far, learned from the unlabelled data too"
        raise KeyboardInterrupt(f"the model in {result['model']} is {which}")


def value_of(text: str) -> Any:
    """A number, a list of numbers (1,10), yes or no, nothing (none), or a word."""
    words = {"true": True, "yes": True, "false": False, "no": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        numbers = [int(part) if part.strip().lstrip("-").isdigit() else float(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers if "," in text else numbers[0]


def settings_of(given: list[str]) -> dict[str, Any]:
    """The parameters that were given as NAME=VALUE, which must not have an option of their own."""
    out = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"--set {text}: expected NAME=VALUE")
        if name in OPTIONS:
            raise ParameterError(f"--set {text}: {name} has an option of its own, {OPTIONS[name]}")
        out[name] = value_of(value)
    return out


def _accepted(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were given; refuses one that the method does not have."""
    known = METHODS[name]().get_params(deep=False)
    given = {key: value for key, value in params.items() if value is not None}
    for key in given:
        if key not in known:
            raise ParameterError(f"the method {name} has no parameter {key}; it has {', '.join(known)}")
    if isinstance(given.get("base"), str):
        given["base"] = _method(given["base"])()
    return {"C": "auto", **given} if "C" in known else given


def _method(name: str) -> type[SequenceLabeller]:
    if name not in METHODS:
        raise ParameterError(f"no method is called {name!r}; {meant(name, METHODS)}")
    return METHODS[name]


def described(name: str | None) -> dict[str, Any]:
    """All methods, or one with its parameters and their defaults."""
    if name is None:
        return {"methods": [{"name": key, "what": _title(method)} for key, method in METHODS.items()]}
    method = _method(name)
    defaults = {key: value for key, value in method().get_params(deep=False).items()}
    return {"name": name, "class": method.__name__, "doc": inspect.getdoc(method), "defaults": _shown(defaults)}


def _title(method: type[SequenceLabeller]) -> str:
    return (inspect.getdoc(method) or "").partition("\n")[0].rstrip(".,:").partition(":  ")[0]


def _shown(values: dict[str, Any]) -> dict[str, Any]:
    plain = (bool, int, float, str, list, tuple, type(None))
    return {key: value if isinstance(value, plain) else repr(value) for key, value in values.items()}


def description(result: dict[str, Any]) -> Iterator[Any]:
    """The record of `described` in words."""
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


def _further(name: str, data: Data, beside: BesideModel) -> dict[str, Any]:
    """The arguments of `fit` besides X and y."""
    out: dict[str, Any] = {"dev": None if data.dev is None else (data.dev.tokens, data.dev.labels)}
    if issubclass(METHODS[name], PathMethod):
        if beside.resume and beside.checkpoint is None:
            raise ParameterError("--resume goes on from a checkpoint; name its folder with --checkpoint")
        if not data.has_unlabelled:
            warnings.warn(
                f"there are no unlabelled sequences (-u), so {name} is supervised learning here", stacklevel=2
            )
        return {**out, "pool": data.pool, "checkpoint": beside.checkpoint, "resume": beside.resume}
    if beside != BesideModel():
        raise ParameterError(f"the method {name} has no checkpoints and no path to plot")
    if data.unlabelled:
        raise ParameterError(f"the method {name} learns nothing from unlabelled data; leave it out, or use -m annealed")
    return out


def report(result: dict[str, Any]) -> Iterator[Any]:
    """The record in words."""
    about = result["data"]
    pool = f" and {about['pool']} unlabelled ones" if "pool" in about else ""
    yield (
        f"learned {len(result['labels'])} labels from {about['sequences']} sequences{pool} "
        f"in {result['seconds']:.1f} s with {result['features']} features"
    )
    yield from _path_report(result) if result["path"] else _supervised_report(result)
    for row in result["search"] or ():
        chosen = "  <- chosen" if row["C"] == result["C"] else ""
        yield f"  C = {row['C']:<5g} token accuracy {row['token_accuracy']:.2%} on held-out data{chosen}"
    for name, score in result["token_accuracy"].items():
        if name != "train":
            yield f"token accuracy on {name}: {score:.2%}"
    yield f"(on the training data itself: {result['token_accuracy']['train']:.2%})"
    yield f"model written to {result['model']}"


def _supervised_report(result: dict[str, Any]) -> Iterator[Any]:
    last = result["history"][-1] if result["history"] else {}
    if last.get("gap") is not None:
        gap = last["gap"] / last["objective"] if last["objective"] else 0.0
        yield f"C = {result['C']:g}, relative duality gap {gap:.2%} after {last['count']} passes"
    elif last.get("step") == "iteration":
        yield f"C = {result['C']:g}, objective {last['objective']:.6g} after {last['count']} iterations"


def _path_report(result: dict[str, Any]) -> Iterator[Any]:
    axis = next(iter(result["path"][0]))
    weight = "" if result["C"] is None else f"C = {result['C']:g}; "
    method: Any = METHODS[result["method"]]
    yield f"{weight}the path, by the {method.axis_text}:"
    points = Table(axis, box=None, pad_edge=False)
    for title in ("dev accuracy", "known mistakes per sequence", ""):
        points.add_column(title, justify="right")
    for point in result["path"]:
        place = "supervised" if point[axis] is None else f"{point[axis]:.3g}"
        accuracy = "-" if point["dev_accuracy"] is None else f"{point['dev_accuracy']:.2%}"
        points.add_row(place, accuracy, f"{point['mistakes']:.2f}", "<- chosen" if point["chosen"] else "")
    yield points
    if result["path"][0]["chosen"] and len(result["path"]) > 1:
        yield "the unlabelled data did not help: this is the supervised model"
    broken = [row for row in result["explanation"]["rules"] if row["before"] or row["after"]]
    if broken:
        yield "unlabelled sequences that break a rule, as the supervised model labels them and as they are matched:"
        yield _rules([(row["rule"], str(row["before"]), str(row["after"])) for row in _most(broken, "before")])
    for part in method.reports:
        if rows := result[part.attribute.rstrip("_")]:
            yield part.title
            rows = _most(rows, part.before) if part.largest_first else rows[:SHOWN]
            columns = (part.before, part.after)
            yield _rules([(row["rule"], *(f"{row[key]:.{part.digits}f}" for key in columns)) for row in rows])


def _most(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -row[key])[:SHOWN]


def _rules(rows: list[tuple[str, ...]]) -> Table:
    table = Table("rule", box=None, pad_edge=False)
    for title in ("before", "after"):
        table.add_column(title, justify="right")
    for rule, *values in rows:
        table.add_row(Text(rule), *values)
    return table
