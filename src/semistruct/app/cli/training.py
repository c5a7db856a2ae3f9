"""`semistruct train`: fit an estimator and save it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semistruct.app.cli import notices
from semistruct.app.cli.describing import method_of
from semistruct.app.cli.files import Reader, feature_functions, own_modules
from semistruct.app.cli.options import BesideModel, Fitting
from semistruct.app.cli.output import show_fit, tell
from semistruct.base.errors import DataError, ParameterError
from semistruct.data import metrics
from semistruct.data.corpus import Corpus
from semistruct.data.metrics import METRICS
from semistruct.data.tokens import GIVEN
from semistruct.features.text_style import Look
from semistruct.learning.checkpoints import progress_in
from semistruct.learning.path import PathMethod
from semistruct.methods import METHODS
from semistruct.rules import Rules

STARTS = {"labels": "supervised", "rules": "rule-based"}  # how a path begins, in words
SCORES = "scores"  # what an interruption may leave out, in words
OPTIONS = {  # of parameters that cannot be given with -p
    "C": "-C", "features": "--features (-f)", "rules": "--rules (-r)", "metric": "--metric",
    "random_state": "--seed", "n_jobs": "--jobs",
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """What to learn from.

    pools   the files of the pool
    tokens  how text is cut
    """

    labelled: Corpus
    pools: list[Corpus]
    dev: Corpus | None
    tokens: str

    @classmethod
    def read(cls, labelled: Path, pools: list[Path], dev: Path | None, reader: Reader) -> Data:
        corpus = reader.corpus(labelled)
        reader = reader.like(corpus)
        parts = [reader.pool(path) for path in pools]
        return cls(corpus, parts, None if dev is None else reader.corpus(dev), reader.tokens or GIVEN)

    @property
    def pool(self) -> list[Any] | None:
        return [x for corpus in self.pools for x in corpus.tokens] if self.pools else None

    @property
    def dev_pair(self) -> tuple[Any, Any] | None:
        return None if self.dev is None else (self.dev.tokens, self.dev.labels)

    @property
    def usual_method(self) -> str:
        """What does best with such data: with rules and not one label, codl (benchmarks/README.md)."""
        if not self.labelled.label_set:
            return "codl"
        return "annealed" if self.pools else "ssvm"

    @property
    def card(self) -> dict[str, Any]:
        """What the card of the model says of the data."""
        about = {"file": self.labelled.source, "sequences": len(self.labelled), "sha256": self.labelled.digest}
        if self.pools:
            about |= {"unlabelled": [corpus.source for corpus in self.pools], "pool": len(self.pool or ())}
        return about

    def check(self, rules_suffice: bool) -> None:
        """Refuse data without labels, unless the rules of a method say what there is to learn."""
        for corpus in filter(None, (self.labelled, self.dev)):
            if not corpus.label_set and not (rules_suffice and corpus is self.labelled):
                hint = "; is there a TAB between each token and its label?" if corpus.examples[0].token_lines else ""
                raise DataError.at(corpus.source, None, f"no token has a label{hint}")

    def warn(self, rules: Rules | None) -> None:
        """Warn of what looks wrong."""
        notices.warn(notices.of_training(self.labelled, self.pools, self.dev, rules))
        look = Look.of(self.labelled.tokens)
        for corpus in filter(None, (*self.pools, self.dev)):
            look.warn_of_difference(corpus.source, corpus.tokens)


@dataclass(frozen=True)
class Training:
    """The result of `train`.

    scores     by metric and data
    search     what was tried for C
    skipped    what an interruption has left out
    suggested  the number of rules that took part though none were given
    reports    the further tables of the method
    """

    model: str
    method: str
    seconds: float
    data: dict[str, Any]
    metric: str
    scores: dict[str, dict[str, float | None]]
    C: float | None
    search: list[dict[str, Any]] | None
    stop: str | None
    history: list[dict[str, Any]]
    path: list[dict[str, Any]] | None
    start: str | None
    explanation: dict[str, Any] | None
    trust: list[dict[str, Any]]
    skipped: list[str]
    suggested: int
    ranking: str | None
    labels: list[str]
    features: int
    reports: dict[str, list[dict[str, Any]]]

    def record(self) -> dict[str, Any]:
        """For JSON: scores and further tables stand among the rest."""
        plain = asdict(self)
        scores, reports = plain.pop("scores"), plain.pop("reports")
        return {**plain, **scores, **reports}

    def pass_on_interruption(self) -> None:
        """Raise the interruption of the fit, now that the model is written and the report printed."""
        if self.stop != "interrupted":
            return
        which = f"the model is in {self.model}"
        if self.path:
            start = f"the {STARTS[self.start or 'labels']} start"
            point = start if self.path[0]["chosen"] else "the best point so far, learned from the pool too"
            which = f"the model in {self.model} is {point}"
        left_out = f"; left out: {', '.join(self.skipped)}" if self.skipped else ""
        raise KeyboardInterrupt(f"{which}{left_out}")


def train(
    data: Data, output: Path, fitting: Fitting, beside: BesideModel, rules: Rules | None, quiet: bool
) -> Training:
    """Fit an estimator and write the model."""
    name = fitting.method or data.usual_method
    chosen = method_of(name)
    data.check(rules_suffice=issubclass(chosen, PathMethod) and bool(rules))
    estimator: Any = chosen(**_parameters(name, fitting, rules))
    further = _arguments_of_fit(name, data, beside)
    if beside.resume and beside.checkpoint is not None:
        tell(progress_in(beside.checkpoint) or f"no checkpoint in {beside.checkpoint}: starting from the beginning")
    data.warn(rules)
    began = time.perf_counter()
    with own_modules(feature_functions(fitting.features)), show_fit(quiet) as watch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "interrupted")  # `pass_on_interruption` says more
        warnings.filterwarnings("ignore", ".* dev sequences are also")  # so do notices
        estimator.fit(data.labelled.tokens, data.labelled.labels, watch=watch, **further).calibrate()
    seconds = time.perf_counter() - began
    estimator.tokens_ = data.tokens
    skipped = list(getattr(estimator, "skipped_", ()))
    scores: dict[str, dict[str, float | None]] = {METRICS[key].key: {} for key in (estimator.metric, "token")}
    try:
        _score(estimator, data, scores)
    except KeyboardInterrupt:
        estimator.stop_ = "interrupted"
        scores = {key: {} for key in scores}
        skipped.append(SCORES)
    weight = getattr(estimator, "C_", None)
    _save(estimator, output, {"data": data.card, "metric": estimator.metric, **scores, "C": weight})
    if beside.plot is not None:
        _draw(beside.plot, estimator, output)
    model = estimator.model_
    return Training(
        model=str(output), method=name, seconds=seconds, data=data.card, metric=estimator.metric, scores=scores,
        C=weight, skipped=skipped, trust=estimator.trust_,
        suggested=len(getattr(estimator, "rules_", None) or ()) if rules is None else 0,
        ranking=None if model.ranker is None else model.ranker.text,
        labels=list(model.labels), features=model.encoder.n_features,
        reports={part.attribute.rstrip("_"): getattr(estimator, part.attribute) for part in chosen.reports},
        search=getattr(estimator, "search_", None), stop=getattr(estimator, "stop_", None),
        history=getattr(estimator, "history_", []), path=getattr(estimator, "path_", None),
        start=getattr(estimator, "start_", None), explanation=getattr(estimator, "explanation_", None),
    )  # fmt: skip


def _score(estimator: Any, data: Data, scores: dict[str, dict[str, float | None]]) -> None:
    """Fill in token accuracies, and what else parameters were chosen by, for the labelled and the dev data."""
    parts = {"train": (data.labelled, False)} if data.labelled.label_set else {}
    if data.dev is not None:
        parts["dev"] = (data.dev, False)
        if estimator.model_.rules:
            parts["dev, under the rules"] = (data.dev, True)
    for part, (corpus, rules) in parts.items():
        found = metrics.standing(corpus.labels, estimator.predict(corpus.tokens, rules=rules), estimator.metric)
        for key, values in scores.items():
            values[part] = found[key]


def _save(estimator: Any, output: Path, card: dict[str, Any]) -> None:
    """Write the model, after an interruption once more."""
    try:
        estimator.save(output, card=card)
    except KeyboardInterrupt:
        estimator.stop_ = "interrupted"
        estimator.save(output, card=card)


def _draw(plot: Path, estimator: Any, output: Path) -> None:
    from semistruct.app.report.plots import path_of_models

    with after_the_model(output, "plot"):
        axis, words = (estimator.axis, estimator.axis_text), METRICS[estimator.metric].words
        path_of_models(plot, estimator.path_, estimator.history_, axis, words)


@contextmanager
def after_the_model(model: Path, what: str) -> Iterator[None]:
    """An interruption after the model was written says where the model is."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {model}, the {what} is not complete") from None


# ---- parameters


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


def _parameters(name: str, fitting: Fitting, rules: Rules | None) -> dict[str, Any]:
    """The parameters of the method that are given; refuses one that it does not have."""
    given: dict[str, Any] = {
        "C": None if fitting.c is None else value_of(fitting.c), "features": fitting.features, "rules": rules,
        "metric": fitting.metric, "random_state": fitting.seed, "n_jobs": fitting.jobs,
    }  # fmt: skip
    for text in fitting.settings or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"--set {text}: expected NAME=VALUE")
        if key in OPTIONS:
            raise ParameterError(f"--set {text}: {key} has an option of its own, {OPTIONS[key]}")
        given[key] = value_of(value)
    given = {key: value for key, value in given.items() if value is not None}
    known = METHODS[name]().get_params(deep=False)
    for key in given:
        if key not in known:
            raise ParameterError(f"the method {name} has no parameter {key}; it has {', '.join(known)}")
    if isinstance(given.get("base"), str):
        given["base"] = method_of(given["base"])()
    return {"C": "auto", **given} if "C" in known else given


def _arguments_of_fit(name: str, data: Data, beside: BesideModel) -> dict[str, Any]:
    """The arguments of `fit` besides the labelled sequences."""
    if issubclass(METHODS[name], PathMethod):
        if beside.resume and beside.checkpoint is None:
            raise ParameterError("--resume needs --checkpoint, the folder to continue from")
        if not data.pools and all(row is not None and None not in row for row in data.labelled.labels):
            warnings.warn(f"there is no pool (-u), so {name} learns from the labels alone", stacklevel=2)
        further = {"pool": data.pool, "checkpoint": beside.checkpoint, "resume": beside.resume}
        return {"dev": data.dev_pair, **further}
    if beside != BesideModel():
        raise ParameterError(f"the method {name} has no checkpoints and no path to plot")
    if data.pools:
        raise ParameterError(f"the method {name} does not use a pool; omit -u, or use -m annealed")
    return {"dev": data.dev_pair}
