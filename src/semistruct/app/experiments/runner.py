"""One run: fit a line of the line-up to a draw, score it plainly and under the rules, along its whole path."""

from __future__ import annotations

import hashlib
import inspect
import platform
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from semistruct._version import __version__
from semistruct.app.experiments.cells import Cell, Record
from semistruct.app.experiments.corpora import ALL, Material, from_folder, synthetic_material
from semistruct.app.experiments.lineup import LINEUP, Lists, RulesOfLine, applying, lists_of, rules_of_line
from semistruct.app.experiments.view import CHOICES, DECODINGS
from semistruct.base.errors import ParameterError, meant, quoted
from semistruct.data import metrics
from semistruct.data.corpus import Example
from semistruct.learning.choice import best_strength, fewest_mistakes
from semistruct.learning.fitting import Effort
from semistruct.learning.trust import Trust, strength_by_labels
from semistruct.rules import Rules

QUICK_METHODS, QUICK_SIZES, QUICK_DRAWS = ("crf", "ssvm", "annealed"), ("5", "20"), 2
WARNINGS_KEPT = 5  # of a run


@dataclass(frozen=True)
class Run:
    """A cell, with types.

    method    a line of the line-up
    size      number of labelled sequences, or "all"
    seed      of the draw
    features  "paper", with the rules that methods were published with; "default", with one list of rules for all
    rules     a rules file for all methods, instead of those for the corpus
    dev       whether parameters are chosen on dev data
    quick     little data and few stages
    pool      sequences of the pool, None for all of them
    settings  of the method, besides those of its line
    """

    corpus: str
    method: str
    size: str
    seed: int
    features: str = "paper"
    rules: str | None = None
    dev: bool = True
    quick: bool = False
    pool: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def planned(material: Material, methods: Sequence[str], sizes: Sequence[str], draws: int, **common: Any) -> list[Cell]:
    """The cells, draw by draw, so that an early stop leaves complete draws; common: the other fields of `Run`."""
    return [
        asdict(Run(material.name, method, size, seed, **common))
        for seed in range(draws)
        for size in sizes
        for method in methods
        if seed == 0 or material.differs(size)
    ]


def chosen_methods(lists: Lists, wanted: str | None, quick: bool) -> list[str]:
    """The lines that are wanted (names between commas; None for all), in the order of the tables."""
    there = applying(lists)
    if wanted is None:
        return [name for name in there if name in QUICK_METHODS or not quick]
    asked = [part.strip() for part in wanted.split(",")]
    for name in asked:
        if name not in there:
            raise ParameterError(f"there is no method {quoted(name)} for these rules; {meant(name, there)}")
    return [name for name in there if name in asked]


def chosen_sizes(material: Material, wanted: str | None, quick: bool) -> list[str]:
    """Sizes as texts, without repetition, the smallest first."""
    parts = wanted.split(",") if wanted else [*QUICK_SIZES] if quick else ["5", "20", ALL]
    unique = {}
    for part in map(str.strip, parts):
        if part != ALL and not (part.isdecimal() and int(part) > 0):
            raise ParameterError(f"--sizes: {quoted(part)} is neither a number > 0 nor '{ALL}'")
        size = part if part == ALL else str(int(part))
        unique[material.labelled(size)] = size
    return [unique[n] for n in sorted(unique)]


@lru_cache(maxsize=8)
def material_of(corpus: str, folder: str | None, quick: bool = False) -> Material:
    """The parts of a corpus in a folder, or of a generator."""
    if folder is None:
        return synthetic_material(corpus, few=quick)
    found = from_folder(corpus, Path(folder))
    return found.small() if quick else found


def digest_of(material: Material, rules: str | None) -> str:
    """A checksum of the data, and of a rules file that users may change."""
    if rules is None:
        return material.digest
    return hashlib.sha256(repr((material.digest, Rules.from_file(rules).to_dict())).encode()).hexdigest()


def run(cell: Cell, folders: Mapping[str, str | None]) -> Record:
    """The record of one run, with one thread; folders: that of each corpus, None for synthetic data."""
    config, began = Run(**cell), time.process_time()
    material, entry = material_of(config.corpus, folders[config.corpus], config.quick), LINEUP[config.method]
    draw, dev = material.draw(config.size, config.seed), (material.dev.tokens, material.dev.labels)
    pool = material.pool.tokens[: config.pool]
    rules = rules_of_line(lists_of(config.corpus, config.features, config.rules), config.method)
    settings = {**entry.settings(config.corpus, config.quick), **config.settings}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.perf_counter()
        features = {} if entry.line.own_features else {"features": config.features}
        estimator = _fitted(
            entry.method(), {"C": "auto", "rules": rules.learn, "n_jobs": 1, **features, **settings},
            draw.learn, {"dev": dev if config.dev else None, "pool": pool},
        )  # fmt: skip
        obeyed = _rules_to_obey(estimator, rules, draw.learn, dev if config.dev else None)
        seconds = time.perf_counter() - started
        scored = _scored(estimator, obeyed, draw.report)
    messages = list(dict.fromkeys(str(w.message) for w in caught))
    return {
        "cell": cell,
        "digest": digest_of(material, config.rules),
        "data": {
            "labelled": len(draw.learn), "dev": len(material.dev), "unlabelled": len(pool),
            "reported": len(draw.report), "reported_on": material.reported_on, "synthetic": material.synthetic,
        },
        "rules": {"learning": rules.learning, "left_out": rules.left_out, "predicting": rules.predicting},
        "features": "its own" if entry.line.own_features else config.features,
        "params": settings,
        "C": getattr(estimator, "C_", None),
        "stop": getattr(estimator, "stop_", None),
        "axis": getattr(estimator, "axis", None),
        "sequences": draw.which,
        "tokens": [len(e.tokens) for e in draw.report],
        **scored,
        "history": _summary(estimator),
        "seconds": {"fit": seconds, **scored["seconds"]},
        "cpu_seconds": time.process_time() - began,
        "warnings": messages[:WARNINGS_KEPT],
        "versions": versions(),
    }  # fmt: skip


def _fitted(estimator: Any, params: dict[str, Any], learn: Sequence[Example], offered: dict[str, Any]) -> Any:
    """The estimator, with the parameters that it has, fitted to examples and to what else its `fit` takes."""
    known, taken = estimator.get_params(), inspect.signature(estimator.fit).parameters
    estimator.set_params(**{key: value for key, value in params.items() if key in known})
    further = {key: value for key, value in offered.items() if key in taken}
    estimator.fit_with(Effort(keep_models=True), [e.tokens for e in learn], [e.labels for e in learn], **further)
    if getattr(estimator, "stop_", None) == "interrupted":
        raise KeyboardInterrupt  # a path that was cut short is no result
    return estimator


def _rules_to_obey(estimator: Any, rules: RulesOfLine, learn: Sequence[Example], dev: Any) -> Rules:
    """The rules to predict with and their weights: those of the estimator if it has learned with these rules."""
    model = estimator.model_
    if rules.learn == rules.predict and model.rules is not None:
        return model.rules
    labelled = [e.tokens for e in learn], [e.labels for e in learn]
    trust = Trust.of(rules.predict, [labelled, dev], model.labels)
    if dev is None:
        return trust.weighted(strength_by_labels(len(learn)))
    return trust.weighted(best_strength(trust, model, dev, estimator.metric, 1))


def versions() -> dict[str, str]:
    """The versions of everything that may change a number."""
    libraries = {name: version(name) for name in ("numpy", "scipy")}
    return {"semistruct": __version__, "python": platform.python_version(), **libraries}


def _scored(estimator: Any, rules: Rules, report: Sequence[Example]) -> dict[str, Any]:
    """The points of the path, which of them each way of choosing takes, and the outcomes of those."""
    path, seconds = getattr(estimator, "path_", None), dict.fromkeys(DECODINGS, 0.0)
    models = estimator.models_ if path else [estimator.model_]
    tokens, gold = [e.tokens for e in report], [e.labels or [] for e in report]
    found: dict[str, list[dict[str, Any]]] = {decoding: [] for decoding in DECODINGS}
    for model in models:
        for decoding in DECODINGS:
            began = time.perf_counter()
            predicted = model.predict(tokens, 1, rules if decoding == "rules" else None)
            seconds[decoding] += (time.perf_counter() - began) / len(models)
            found[decoding].append(outcome(gold, predicted))
    accuracies = {decoding: [row["token_accuracy"] for row in found[decoding]] for decoding in DECODINGS}
    points = [
        {
            "place": point[estimator.axis] if path else None,
            **{key: point.get(key) for key in ("dev_accuracy", "mistakes")},
            **{decoding: accuracies[decoding][i] for decoding in DECODINGS},
        }
        for i, point in enumerate(path or [{}])
    ]
    chosen = {decoding: _chosen(path, accuracies[decoding]) for decoding in DECODINGS}
    outcomes = {
        decoding: {str(i): found[decoding][i] for i in sorted(set(chosen[decoding].values()))} for decoding in DECODINGS
    }
    return {"points": points, "chosen": chosen, "outcomes": outcomes, "seconds": seconds}


def outcome(gold: Sequence[Sequence[Any]], predicted: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Scores, and how many tokens of each sequence are labelled right."""
    scores = metrics.evaluate(gold, predicted)
    right = [sum(y == z for y, z in zip(*rows, strict=True)) for rows in zip(gold, predicted, strict=True)]
    return {key: scores[key] for key in ("token_accuracy", "sequence_accuracy", "span_f1", "macro_f1")} | {
        "right": right
    }


def _chosen(path: list[dict[str, Any]] | None, accuracies: list[float]) -> dict[str, int]:
    """Which point each way of choosing takes; best-test looks at the same labels that it is scored on."""
    if not path:
        return dict.fromkeys(CHOICES, 0)
    everything = range(len(path))
    return {
        "dev": next(i for i in everything if path[i]["chosen"]),
        "labels-free": fewest_mistakes([point["mistakes"] for point in path]),
        "best-test": max(everything, key=lambda i: (accuracies[i], i)),
    }


def _summary(estimator: Any) -> list[dict[str, Any]]:
    """From the history: the last row of each stage of a path, or the last row."""
    axis = getattr(estimator, "axis", None)
    last = {row.get(axis): row for row in getattr(estimator, "history_", [])}
    kept = ("objective", "gap", "broken", "switched", "count", "seconds")
    return [
        {"place": place, **{key: row[key] for key in kept if row.get(key) is not None}} for place, row in last.items()
    ]
