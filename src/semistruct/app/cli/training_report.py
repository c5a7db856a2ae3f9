"""The report of `semistruct train` in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semistruct.app.cli.output import counted, table
from semistruct.app.cli.training import SCORES, STARTS, Training
from semistruct.data.metrics import METRICS
from semistruct.methods import METHODS

SHOWN = 8  # rules that a table shows
BEFORE = ("rule", "before", "after")  # columns of tables


def report(result: Training) -> Iterator[Any]:
    """The parts of the report."""
    about, accuracy = result.data, result.scores["token_accuracy"]
    pool = f" and a pool of {about['pool']}" if "pool" in about else ""
    yield (
        f"learned {len(result.labels)} labels from {about['sequences']} sequences{pool} "
        f"in {result.seconds:.1f} s with {result.features} features"
    )
    if "train" not in accuracy and SCORES not in result.skipped:
        yield "no token has a label, so the rules alone say what there is to learn"
    yield from _path_report(result) if result.path else _supervised_report(result)
    chosen_by = [METRICS[name] for name in dict.fromkeys((result.metric, "token"))]
    plainly = ", without the rules" if result.trust else ""
    for row in result.search or ():
        scores = ", ".join(f"{metric.words} {_share(row[metric.key])}" for metric in chosen_by)
        yield f"  C = {row['C']:<5g} {scores} on held-out data{plainly}{_mark(row['C'] == result.C)}"
    for metric in chosen_by:
        for name, score in result.scores[metric.key].items():
            if name != "train":
                yield f"{metric.words} on {name}{plainly if name == 'dev' else ''}: {_share(score)}"
    if result.ranking:
        yield result.ranking
    if "train" in accuracy:
        yield f"(on the training data itself{plainly}: {_share(accuracy['train'])})"
    yield f"model written to {result.model}"


def _supervised_report(result: Training) -> Iterator[str]:
    last = result.history[-1] if result.history else {}
    if last.get("gap") is not None:
        gap = last["gap"] / last["objective"] if last["objective"] else 0.0
        yield f"C = {result.C:g}, relative duality gap {gap:.2%} after {last['count']} passes"
    elif last.get("step") == "iteration":
        yield f"C = {result.C:g}, objective {last['objective']:.6g} after {last['count']} iterations"


def _path_report(result: Training) -> Iterator[Any]:
    assert result.path is not None
    method: Any = METHODS[result.method]
    yield from _points(result, method.axis, method.axis_text)
    start = STARTS[result.start or "labels"]
    if result.start == "rules":
        yield "labels are few: this path begins with a model that was also taught by the rules,"
        yield "and ended better than the one from the supervised model"
    if result.path[0]["chosen"] and len(result.path) > 1:
        last = "the path did not help further" if result.start == "rules" else "the pool did not help enough"
        yield f"{last}, so this is the {start} model"
    broken = [row for row in (result.explanation or {})["rules"] if row["before"] or row["after"]]
    if broken:
        yield "sequences of the pool that break each rule: with the supervised model, and after learning:"
        yield table(BEFORE, [(row["rule"], str(row["before"]), str(row["after"])) for row in _most(broken, "before")])
    if result.suggested:
        yield f"no rules were given: {counted(result.suggested, 'rule')} suggested by the labelled sequences took part"
        yield "(`semistruct suggest` writes a file of suggested rules, which you can improve and give with -r)"
    yield from _weights(result.trust)
    for part in method.reports:
        if rows := result.reports[part.attribute.rstrip("_")]:
            yield part.title
            rows = _most(rows, part.before) if part.largest_first else rows[:SHOWN]
            columns = (part.before, part.after)
            yield table(BEFORE, [(row["rule"], *(f"{row[key]:.{part.digits}f}" for key in columns)) for row in rows])


def _points(result: Training, axis: str, words: str) -> Iterator[Any]:
    """The points of the path, with what was measured on dev data."""
    path, metric = result.path or [], METRICS[result.metric]
    measured = {}
    if path[0]["dev_accuracy"] is not None:
        measured = {"dev_score": f"dev {metric.words}", "dev_accuracy": "dev token accuracy"}
        if result.metric == "token":
            measured = {"dev_accuracy": "dev accuracy"}
    weight = "" if result.C is None else f"C = {result.C:g}; "
    under = ", with dev accuracy under the rules" if measured and result.trust else ""
    yield f"{weight}the path, by the {words}{under}:"
    rows = []
    for point in path:
        place = STARTS[result.start or "labels"] if point[axis] is None else f"{point[axis]:.3g}"
        scores = [_share(point[key]) for key in measured]
        rows.append((place, *scores, f"{point['mistakes']:.2f}", _mark(point["chosen"]).strip()))
    yield table((axis, *measured.values(), "known mistakes per sequence", ""), rows)


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


def _mark(chosen: bool) -> str:
    return "  <- chosen" if chosen else ""


def _share(score: float | None) -> str:
    return "-" if score is None else f"{score:.2%}"


def _most(rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -row[key])[:SHOWN]
