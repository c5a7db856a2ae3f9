"""One run: fit a line of the line-up to a draw, score it plainly and under the rules, along its whole path."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from semistruct.experiments.fitting import Fitted, Setup, fit
from semistruct.experiments.lineup import LINEUP, learning, lists_of, predicting
from semistruct.experiments.material import Material
from semistruct.experiments.outcome import Judged
from semistruct.experiments.plan import Config, Frame
from semistruct.experiments.records import Record, Results, versions
from semistruct.fitting.points import fewest_mistakes

DECODINGS = ("plain", "rules")
SELECTIONS = ("dev", "labels-free", "best-test")
WARNINGS_KEPT = 5


def run_all(
    material: Material,
    configs: Sequence[Config],
    results: Results,
    *,
    n_jobs: int | None,
    show: Callable[[int, Config, float | None], None],
) -> None:
    """Make the runs that have no record yet; show(number, configuration, seconds left) is called for each."""
    for number, config in enumerate(configs):
        if results.find(config) is not None:
            continue
        left = seconds_left(results, [c for c in configs[number:] if results.find(c) is None])
        show(number, config, left)
        results.add(run(material, results.frame, config, n_jobs=n_jobs))


def seconds_left(results: Results, waiting: Sequence[Config]) -> float | None:
    """An estimate from runs of the same method and size, else of the method, else of all; None if there are none."""
    known = [(record["config"], sum(record["seconds"].values())) for record in results.records]

    def expected(config: Config) -> float:
        same = [s for c, s in known if (c["method"], c["size"]) == (config.method, config.size)]
        alike = same or [s for c, s in known if c["method"] == config.method] or [s for _, s in known]
        return sum(alike) / len(alike)

    return sum(map(expected, waiting)) if known else None


def run(material: Material, frame: Frame, config: Config, *, n_jobs: int | None = None) -> Record:
    """The record of one run."""
    began, draw = time.process_time(), material.draw(config.size, config.seed)
    pool = material.pool.tokens[: config.pool]
    if frame.setting == "transductive":
        pool = pool + [e.tokens for e in draw.report]
    entry, lists = LINEUP[config.method], lists_of(frame.corpus, frame.features)
    learn_rules, (name, rules) = learning(lists, config.method), predicting(lists, config.method)
    setup = Setup(
        learn=([e.tokens for e in draw.learn], [e.labels for e in draw.learn]),
        dev=(material.dev.tokens, material.dev.labels),
        pool=pool, features=frame.features, learn_rules=learn_rules.rules, predict_rules=rules,
        settings=entry.settings(frame.corpus, frame.quick), n_jobs=n_jobs,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit(entry, setup)
        judged = Judged(draw.report, draw.which, rules)
        scored = _scored(fitted, judged, n_jobs)
    estimator = fitted.estimator
    messages = list(dict.fromkeys(str(w.message) for w in caught))
    return {
        "config": config.to_dict(),
        "frame": asdict(frame),
        "digest": material.digest,
        "data": {
            "labelled": len(draw.learn), "dev": len(material.dev), "unlabelled": len(pool),
            "reported": len(draw.report), "reported_on": material.reported_on, "synthetic": material.synthetic,
        },
        "rules": {"learning": learn_rules.name, "left_out": learn_rules.left_out, "predicting": name},
        "features": "its own" if entry.line.own_features else frame.features,
        "params": dict(setup.settings),
        "C": getattr(estimator, "C_", None),
        "stop": getattr(estimator, "stop_", None),
        "axis": getattr(estimator, "axis", None),
        "sequences": judged.which,
        "tokens": judged.lengths,
        **scored,
        "history": _summary(estimator),
        "seconds": {"fit": fitted.seconds, **scored["seconds"]},
        "cpu_seconds": time.process_time() - began,
        "warnings": messages[:WARNINGS_KEPT],
        "versions": versions(),
    }  # fmt: skip


def _scored(fitted: Fitted, judged: Judged, n_jobs: int | None) -> dict[str, Any]:
    """The points of the path, which of them each way of choosing takes, and the outcomes of those."""
    estimator, seconds = fitted.estimator, dict.fromkeys(DECODINGS, 0.0)
    rules, path = fitted.rules, getattr(estimator, "path_", None)
    models = estimator.models_ if path else [estimator.model_]
    found: dict[str, list[list[list[str]]]] = {decoding: [] for decoding in DECODINGS}
    for model in models:
        for decoding in DECODINGS:
            began = time.perf_counter()
            found[decoding].append(model.predict(judged.tokens, n_jobs, rules if decoding == "rules" else None))
            seconds[decoding] += (time.perf_counter() - began) / len(models)
    accuracies = {decoding: [judged.accuracy(labels) for labels in found[decoding]] for decoding in DECODINGS}
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
        decoding: {str(i): judged.outcome(found[decoding][i]) for i in sorted(set(chosen[decoding].values()))}
        for decoding in DECODINGS
    }
    final = chosen["plain"]["dev"]
    worst = judged.worst(found["plain"][final], found["rules"][final])
    return {"points": points, "chosen": chosen, "outcomes": outcomes, "worst": worst, "seconds": seconds}


def _chosen(path: list[dict[str, Any]] | None, accuracies: list[float]) -> dict[str, int]:
    """Which point each way of choosing takes; best-test looks at the same labels that it is scored on."""
    if not path:
        return dict.fromkeys(SELECTIONS, 0)
    everything = range(len(path))
    return {
        "dev": next(i for i in everything if path[i]["chosen"]),
        "labels-free": fewest_mistakes([point["mistakes"] for point in path]),
        "best-test": max(everything, key=lambda i: (accuracies[i], i)),
    }


def _summary(estimator: Any) -> list[dict[str, Any]]:
    """From the history: the last row of each stage of a path, or the last row."""
    rows, axis = getattr(estimator, "history_", []), getattr(estimator, "axis", None)
    last = {row.get(axis): row for row in rows}
    kept = ("objective", "gap", "broken", "switched", "count", "seconds")
    return [
        {"place": place, **{key: row[key] for key in kept if row.get(key) is not None}} for place, row in last.items()
    ]
