"""`semistruct train`: fit, save, and report."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semistruct import metrics
from semistruct.cli import notices
from semistruct.cli.describing import method_of
from semistruct.cli.options import BesideModel
from semistruct.cli.output import check_writable, table, tell
from semistruct.cli.progress import watching
from semistruct.corpus import Corpus
from semistruct.errors import DataError, ParameterError
from semistruct.fitting.path import PathMethod
from semistruct.fitting.runs import is_kept
from semistruct.looks import Look
from semistruct.methods import METHODS
from semistruct.metrics import METRICS

BEFORE = ("rule", "before", "after")  # columns of tables in the report
STARTS = {"labels": "supervised", "rules": "rule-based"}  # of a path, in words
SCORES = "scores"  # in words
SHOWN = 8  # rules that a table of the report shows
OPTIONS = {  # for parameters with an option of their own
    "C": "-C", "features": "--features (-f)", "rules": "--rules (-r)", "select": "--select",
    "metric": "--metric", "random_state": "--seed", "n_jobs": "--jobs", "engine": "--engine",
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """What to learn from; pools are the parts of the pool, tokens says how text is cut."""

    labelled: Corpus
    pools: list[Corpus]
    dev: Corpus | None
    tokens: str

    @property
    def pool(self) -> list[Any] | None:
        return [x for corpus in self.pools for x in corpus.tokens] if self.pools else None

    @property
    def usual_method(self) -> str:
        """What does best with such data: with rules and not one label, codl (benchmarks/README.md)."""
        if not self.labelled.label_set:
            return "codl"
        return "annealed" if self.pools else "ssvm"

    @property
    def is_complete(self) -> bool:
        """Whether all labels are known, so that there is nothing to find."""
        return not self.pools and all(row is not None and None not in row for row in self.labelled.labels)


def train(
    data: Data,
    output: Path,
    *,
    method: str | None,
    params: dict[str, Any],
    beside: BesideModel,
    refit: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Fit an estimator, write the model, and return a record of it."""
    if refit and data.dev is None:
        raise ParameterError("--refit needs --dev (-d), the data to learn from once it has been chosen on")
    name = method or data.usual_method
    chosen = method_of(name)
    check_writable(output)
    check_writable(beside.plot, plot=True)
    if beside.plot is not None and beside.plot.resolve() == output.resolve():
        raise DataError.at(output, None, "cannot be both the model and the plot")
    from_rules = issubclass(chosen, PathMethod) and bool(params["rules"])
    for corpus in filter(None, (data.labelled, data.dev)):
        if corpus is data.labelled and from_rules and not corpus.label_set:
            continue
        if not corpus.label_set:
            hint = "; is there a TAB between each token and its label?" if corpus.examples[0].token_lines else ""
            raise DataError.at(corpus.source, None, f"no token has a label{hint}")
    estimator: Any = chosen(**_accepted(name, params))
    further = _further(name, data, beside)
    _tell_of_resuming(estimator, beside)
    notices.tell(notices.of_training(data.labelled, data.pools, data.dev, params["rules"]))
    look = Look.of(data.labelled.tokens)
    for corpus in filter(None, (*data.pools, data.dev)):
        look.warn_of_difference(corpus.source, corpus.tokens)
    began = time.perf_counter()
    with watching(quiet) as watch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "interrupted")  # `end` says more
        warnings.filterwarnings("ignore", ".* dev sequences are also")  # so do notices
        estimator.fit(data.labelled.tokens, data.labelled.labels, watch=watch, **further).calibrate()
    seconds = time.perf_counter() - began
    estimator.tokens_ = data.tokens
    skipped = list(getattr(estimator, "skipped_", ()))
    card = {"data": _about(data), "metric": estimator.metric, **_no_scores(estimator)}
    with _sparing(estimator, skipped, SCORES):
        card |= _scores(estimator, data)
    if refit:
        with _sparing(estimator, skipped, "learning from the dev data"):
            _refit(estimator, data, quiet)
        card["data"]["refit"] = estimator.stop_ != "interrupted"
    card["C"] = getattr(estimator, "C_", None)
    _save(estimator, output, card)
    if beside.plot is not None:
        _draw(beside.plot, estimator, output)
    learned = {
        key: getattr(estimator, key + "_", None)
        for key in ("search", "stop", "history", "path", "start", "explanation")
    }
    learned |= {part.attribute.rstrip("_"): getattr(estimator, part.attribute) for part in chosen.reports}
    learned["trust"], learned["skipped"] = estimator.trust_, skipped
    learned["suggested"] = len(getattr(estimator, "rules_", None) or ()) if params["rules"] is None else 0
    ranker = estimator.model_.ranker
    learned["ranking"] = None if ranker is None else ranker.text
    sizes = {"labels": list(estimator.model_.labels), "features": estimator.model_.encoder.n_features}
    return {"model": str(output), "method": name, "seconds": seconds, **card, **learned, **sizes}


@contextmanager
def _sparing(estimator: Any, skipped: list[str], what: str) -> Iterator[None]:
    """What an interruption ends after the fit; the model is written without it."""
    try:
        yield
    except KeyboardInterrupt:
        estimator.stop_ = "interrupted"
        skipped.append(what)


def _save(estimator: Any, output: Path, card: dict[str, Any]) -> None:
    """Write the model, after an interruption once more."""
    try:
        estimator.save(output, card=card)
    except KeyboardInterrupt:
        estimator.stop_ = "interrupted"
        estimator.save(output, card=card)


def _refit(estimator: Any, data: Data, quiet: bool) -> None:
    """Learn again, from train and dev data, unless there was an interruption; how text is cut stays."""
    assert data.dev is not None
    if estimator.stop_ == "interrupted":
        raise KeyboardInterrupt
    pool = {"pool": data.pool} if isinstance(estimator, PathMethod) else {}
    with watching(quiet) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say has been said
        dev = (data.dev.tokens, data.dev.labels)
        estimator.refit(data.labelled.tokens, data.labelled.labels, dev=dev, watch=watch, **pool)
    estimator.tokens_ = data.tokens
    if estimator.stop_ == "interrupted":  # its path was
        raise KeyboardInterrupt


def _about(data: Data) -> dict[str, Any]:
    """The data, for the card of the model."""
    about = {"file": data.labelled.source, "sequences": len(data.labelled), "sha256": data.labelled.digest}
    if data.pools:
        about |= {"unlabelled": [corpus.source for corpus in data.pools], "pool": len(data.pool or ())}
    return about


def _scores(estimator: Any, data: Data) -> dict[str, dict[str, float | None]]:
    """Token accuracies, and what else parameters were chosen by, by the data they are for."""
    parts = {"train": (data.labelled, False)} if data.labelled.label_set else {}
    if data.dev is not None:
        parts["dev"] = (data.dev, False)
        if estimator.model_.rules:
            parts["dev, under the rules"] = (data.dev, True)
    found = {
        name: metrics.standing(corpus.labels, estimator.predict(corpus.tokens, rules=rules), estimator.metric)
        for name, (corpus, rules) in parts.items()
    }
    return {key: {name: row[key] for name, row in found.items()} for key in _no_scores(estimator)}


def _no_scores(estimator: Any) -> dict[str, Any]:
    """What `_scores` gives if there is nothing to score."""
    return {METRICS[name].key: {} for name in (estimator.metric, "token")}


def _draw(plot: Path, estimator: Any, output: Path) -> None:
    from semistruct.report.plots import path_of_models

    with beside_the_model(output, "plot"):
        axis, words = (estimator.axis, estimator.axis_text), METRICS[estimator.metric].words
        path_of_models(plot, estimator.path_, estimator.history_, axis, words)


@contextmanager
def beside_the_model(model: Path | str, what: str) -> Iterator[None]:
    """An interruption after the model was written says where it is."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {model}, the {what} is not complete") from None


def end(result: dict[str, Any]) -> None:
    """Pass on an interruption of the fit, now that the model is written and the report printed."""
    if result["stop"] == "interrupted":
        left_out = f"; left out: {', '.join(result['skipped'])}" if result["skipped"] else ""
        raise KeyboardInterrupt(f"{_which(result)}{left_out}")


def _which(result: dict[str, Any]) -> str:
    """Where the model of a fit that was interrupted is, and which one it is."""
    model = result["model"]
    if not result["path"]:
        return f"the model is in {model}"
    start = result["path"][0]["chosen"]
    point = f"the {STARTS[result['start']]} start" if start else "the best point so far, learned from the pool too"
    return f"the model in {model} is {point}"


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
    """The parameters given as NAME=VALUE; those with an option of their own are refused."""
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
    """The parameters given; refuses one that the method does not have."""
    known = METHODS[name]().get_params(deep=False)
    given = {key: value for key, value in params.items() if value is not None}
    if "engine" in given and "engine" not in known:
        hint = "it works with the method annealed only, which needs a pool: -u FILE"
        raise ParameterError(f"the method {name} cannot use --engine; {hint}")
    for key in given:
        if key not in known:
            raise ParameterError(f"the method {name} has no parameter {key}; it has {', '.join(known)}")
    if isinstance(given.get("base"), str):
        given["base"] = method_of(given["base"])()
    return {"C": "auto", **given} if "C" in known else given


def _further(name: str, data: Data, beside: BesideModel) -> dict[str, Any]:
    """The arguments of `fit` besides X and y."""
    out: dict[str, Any] = {"dev": None if data.dev is None else (data.dev.tokens, data.dev.labels)}
    if issubclass(METHODS[name], PathMethod):
        if beside.resume and beside.checkpoint is None:
            raise ParameterError("--resume needs --checkpoint, the folder to continue from")
        if data.is_complete:
            warnings.warn(f"there is no pool (-u), so {name} learns from the labels alone", stacklevel=2)
        return {**out, "pool": data.pool, "checkpoint": beside.checkpoint, "resume": beside.resume}
    if beside != BesideModel():
        raise ParameterError(f"the method {name} has no checkpoints and no path to plot")
    if data.pools:
        raise ParameterError(f"the method {name} does not use a pool; omit -u, or use -m annealed")
    return out


def _tell_of_resuming(estimator: Any, beside: BesideModel) -> None:
    """Say on standard error from where training goes on."""
    if beside.resume and beside.checkpoint is not None:
        estimator.tell = tell
        if not is_kept(beside.checkpoint):
            tell(f"no checkpoint in {beside.checkpoint}: starting from the beginning")


def report(result: dict[str, Any]) -> Iterator[Any]:
    """The record of `train` in words."""
    about = result["data"]
    pool = f" and a pool of {about['pool']}" if "pool" in about else ""
    yield (
        f"learned {len(result['labels'])} labels from {about['sequences']} sequences{pool} "
        f"in {result['seconds']:.1f} s with {result['features']} features"
    )
    if "train" not in result["token_accuracy"] and SCORES not in result["skipped"]:
        yield "no token has a label, so the rules alone say what there is to learn"
    yield from _path_report(result) if result["path"] else _supervised_report(result)
    chosen_by = [METRICS[name] for name in dict.fromkeys((result["metric"], "token"))]
    plainly = ", without the rules" if result["trust"] else ""
    for row in result["search"] or ():
        chosen = "  <- chosen" if row["C"] == result["C"] else ""
        scores = ", ".join(f"{metric.words} {_share(row[metric.key])}" for metric in chosen_by)
        yield f"  C = {row['C']:<5g} {scores} on held-out data{plainly}{chosen}"
    for metric in chosen_by:
        for name, score in result[metric.key].items():
            if name != "train":
                yield f"{metric.words} on {name}{plainly if name == 'dev' else ''}: {_share(score)}"
    if result["ranking"]:
        yield result["ranking"]
    if about.get("refit"):
        yield "then learned again from these and the dev data together, with what was chosen"
    if "train" in result["token_accuracy"]:
        yield f"(on the training data itself{plainly}: {_share(result['token_accuracy']['train'])})"
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
    measured = _measured(result)
    under = ", with dev accuracy under the rules" if measured and result["trust"] else ""
    yield f"{weight}the path, by the {method.axis_text}{under}:"
    points, first = [], STARTS[result["start"]]
    for point in result["path"]:
        place = first if point[axis] is None else f"{point[axis]:.3g}"
        scores = [_share(point[key]) for key in measured]
        points.append((place, *scores, f"{point['mistakes']:.2f}", "<- chosen" if point["chosen"] else ""))
    yield table((axis, *measured.values(), "known mistakes per sequence", ""), points)
    if result["start"] == "rules":
        yield "labels are few: this path begins with a model that was also taught by the rules,"
        yield "and ended better than the one from the supervised model"
    if result["path"][0]["chosen"] and len(result["path"]) > 1:
        last = "the path did not help further" if result["start"] == "rules" else "the pool did not help enough"
        yield f"{last}, so this is the {first} model"
    broken = [row for row in result["explanation"]["rules"] if row["before"] or row["after"]]
    if broken:
        yield "sequences of the pool that break each rule: with the supervised model, and after learning:"
        yield table(BEFORE, [(row["rule"], str(row["before"]), str(row["after"])) for row in _most(broken, "before")])
    if result["suggested"]:
        rules = "1 rule" if result["suggested"] == 1 else f"{result['suggested']} rules"
        yield f"no rules were given: {rules} suggested by the labelled sequences took part"
        yield "(`semistruct suggest` writes a file of suggested rules, which you can improve and give with -r)"
    yield from _weights(result["trust"])
    for part in method.reports:
        if rows := result[part.attribute.rstrip("_")]:
            yield part.title
            rows = _most(rows, part.before) if part.largest_first else rows[:SHOWN]
            columns = (part.before, part.after)
            yield table(BEFORE, [(row["rule"], *(f"{row[key]:.{part.digits}f}" for key in columns)) for row in rows])


def _measured(result: dict[str, Any]) -> dict[str, str]:
    """What the table of the path tells of dev data: keys of its points, and titles."""
    if result["path"][0]["dev_accuracy"] is None:
        return {}
    if result["metric"] == "token":
        return {"dev_accuracy": "dev accuracy"}
    return {"dev_score": f"dev {METRICS[result['metric']].words}", "dev_accuracy": "dev token accuracy"}


def _weights(trust: list[dict[str, Any]]) -> Iterator[Any]:
    """How much each rule weighs, those that weigh least first."""
    rows = sorted((row for row in trust if not isinstance(row["weight"], str)), key=lambda row: row["weight"])
    if rows:
        yield "what each rule weighs in prediction, and why:"
        yield table(("rule", "weight", ""), [_weight(row) for row in rows[:SHOWN]])
    if len(rows) > SHOWN:
        yield f"({len(rows) - SHOWN} more weigh at least {rows[SHOWN]['weight']:.1f}; see `semistruct dump`)"


def _weight(row: dict[str, Any]) -> tuple[str, str, str]:
    kind = "" if row["kind"] == "true" or not row["applies"] else f"{row['kind']}: "
    return row["rule"], f"{row['weight']:.1f}", f"{kind}{row['why']}"


def _share(score: float | None) -> str:
    return "-" if score is None else f"{score:.2%}"


def _most(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -row[key])[:SHOWN]
