"""The tables of the report: accuracies beside published ones, and choices of the point of a path."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files as resources
from typing import Any

import yaml

from semistruct.app.experiments import statistics
from semistruct.app.experiments.corpora import ALL
from semistruct.app.experiments.lineup import LINEUP
from semistruct.app.experiments.view import CHOICES, DECODINGS, IN_WORDS, MAIN, View, mean_text, p_text

LITERATURE: dict[str, Any] = yaml.safe_load((resources(__package__) / "published.yaml").read_text("utf-8"))
HOW = "Token accuracy in %, mean ± sample standard deviation; the point of a path chosen on dev data."
PEEKS = "This column peeks: the point of the path was chosen on the same labels that it is scored on."


@dataclass(frozen=True)
class Cell:
    """style is "", "best", "grey" (what others have published) or "peek"."""

    text: str
    value: float | None = None
    style: str = ""


@dataclass(frozen=True)
class Table:
    """key names it in files; notes stand below it."""

    key: str
    title: str
    columns: list[Cell]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """Published accuracies in percent for 5, 20 and all labelled sequences; None where there is none.

    setting  "inductive" or "transductive", "" for supervised methods, which have no pool
    """

    corpus: str
    method: str
    decoding: str
    setting: str
    source: str
    values: tuple[float | None, ...]

    def at(self, size: str) -> float | None:
        return dict(zip(("5", "20", ALL), self.values, strict=True)).get(size)


FIGURES = [
    Figure(corpus, method, decoding, setting or "", source, tuple(values))
    for corpus, rows in LITERATURE["figures"].items()
    for method, decoding, setting, source, *values in rows
]


def published(view: View, method: str, decoding: str) -> Figure | None:
    """The figure to compare with: of the inductive setting, as ours are, or else of the transductive one."""
    wanted = (view.cell["corpus"], method, decoding)
    there = [f for f in FIGURES if (f.corpus, f.method, f.decoding) == wanted and not view.synthetic]
    return min(there, key=lambda figure: figure.setting == "transductive", default=None)


def all_tables(view: View) -> list[Table]:
    """All tables, in the order of the report."""
    tables = [overview(view), *(comparison(view, size) for size in view.sizes), choices(view)]
    return [table for table in tables if table.rows]


def overview(view: View) -> Table:
    """A line per method, a column per size."""
    best = {size: view.ranked(size, MAIN)[0] for size in view.sizes}
    rows = [
        [_name(method), *(_mean(view.scores(method, size, MAIN), best=best[size] == method) for size in view.sizes)]
        for method in view.methods
    ]
    columns = _heads("method", *(f"{view.name_of(size)} labelled" for size in view.sizes))
    data = view.records[0]["data"]
    parts = f"{data['dev']} dev sequences, {data['unlabelled']} in the pool; reported on {data['reported_on']}."
    return Table("overview", f"Accuracy of all methods, {IN_WORDS[MAIN]}: {view.title}", columns, rows, [HOW, parts])


def comparison(view: View, size: str) -> Table:
    """One size: every method plain and under the rules, whether the best is better, and what others have published."""
    ranked = view.ranked(size, MAIN)
    figures = {(m, d): f for m in view.methods for d in DECODINGS if (f := published(view, m, d)) is not None}
    columns = _heads("method", *IN_WORDS.values(), "below the best", "p over draws", "p over sequences")
    if figures:
        columns += [Cell(f"published, {words}", style="grey") for words in IN_WORDS.values()]
    rows = []
    for method in (name for name in view.methods if name in ranked):
        row = [_name(method)]
        row += [_mean(view.scores(method, size, d), best=view.ranked(size, d)[0] == method) for d in DECODINGS]
        if method == ranked[0]:
            row += [Cell("best", 0.0), Cell(""), Cell("")]
        else:
            against = view.against(ranked[0], method, size, MAIN)
            row.append(_number(100 * against.difference))
            row += [Cell(p_text(p), p) for p in (against.flip, against.bootstrap)]
        row += [_published(figures.get((method, d)), method, size) for d in DECODINGS] if figures else []
        rows.append([*row, _number(view.seconds(method, size)), Cell(str(len(view.runs(method, size))))])
    draws = max(len(view.runs(method, size)) for method in view.methods)
    notes = [
        f"{view.title}, {view.sizes[size]} labelled, features {view.cell['features']}. {HOW}",
        f"Compared with the best {IN_WORDS[MAIN]}; no p over draws below {2 / 2**draws:.3g} is possible.",
        *(f"{name}: settings {settings}." for name, settings in _settings(view, size).items()),
    ]
    if size == next(iter(view.sizes)):
        notes += _for_all_sizes(view, size, {figure.source for figure in figures.values()})
    title = f"{view.name_of(size)} labelled sequences: {view.title}"
    return Table(f"accuracy-{size}", title, [*columns, *_heads("fit, s", "draws")], rows, notes)


def _for_all_sizes(view: View, size: str, sources: set[str]) -> list[str]:
    """Notes that are given once, below the first size."""
    notes = [
        "p over draws is an exact sign-flip test of the paired draws; p over sequences a paired bootstrap of the "
        "reported sequences pooled over draws, which sees smaller differences but takes the draws as they are.",
        "Seconds of a fit, with the choice of C, depend on the machine and on what else ran there.",
    ]
    for method in view.methods:
        rules: dict[str, Any] = next((run["rules"] for run in view.runs(method, size).values()), {"left_out": []})
        if rules["left_out"]:
            without = f"learns with the rules {rules['learning']} without: {', '.join(rules['left_out'])}"
            notes.append(f"{LINEUP[method].title} {without}: it cannot use them.")
    own = [LINEUP[method].title for method in view.methods if LINEUP[method].line.own_features]
    if own:
        notes.append(f"{' and '.join(own)}: words and the start of a sequence as the only features, as published.")
    if sources:
        data, n_all = view.records[0]["data"], view.sizes.get(ALL)
        here = f"ours are of {data['reported_on']} ({data['reported']} sequences with {data['labelled']} labelled)"
        more = "" if n_all is None else f'; "all" is {n_all} here, and 300 citations or 100 adverts there'
        notes.append(
            f"Published figures are of the 100 test sequences of the literature and of other draws, {here}{more}."
        )
        notes += [LITERATURE["meanings"], *(f"{k}: {v}." for k, v in LITERATURE["sources"].items() if k in sources)]
    return notes


def choices(view: View) -> Table:
    """What other ways to choose the point of a path would have given."""
    style = {select: "peek" if select == "best-test" else "" for select in CHOICES}
    rows = [
        [
            *(_name(method), Cell(view.name_of(size), float(view.sizes[size]))),
            *(_mean(view.scores(method, size, MAIN, select), style=style[select]) for select in CHOICES),
        ]
        for method in filter(view.has_path, view.methods)
        for size in view.sizes
        if view.runs(method, size)
    ]
    columns = [*_heads("method", "labelled"), *(Cell(text, style=style[s]) for s, text in CHOICES.items())]
    how = f"Mean token accuracy in %, {IN_WORDS[MAIN]}. C and the weight of rules are always chosen on dev data."
    return Table("choice", f"How the point of the path is chosen: {view.title}", columns, rows, [how, PEEKS])


def _heads(*texts: str) -> list[Cell]:
    return [Cell(text) for text in texts]


def _name(method: str) -> Cell:
    return Cell(LINEUP[method].title)


def _number(value: float) -> Cell:
    return Cell(f"{value:.1f}", value)


def _mean(scores: list[float], *, best: bool = False, style: str = "") -> Cell:
    """Mean ± deviation."""
    return Cell(mean_text(scores), 100 * statistics.mean(scores) if scores else None, "best" if best else style)


def _settings(view: View, size: str) -> dict[str, str]:
    """Settings of methods that are not the defaults of their class, or were chosen on dev data."""
    out = {}
    for method in view.methods:
        runs = [run["params"] for run in view.runs(method, size).values()]
        shown = dict.fromkeys(", ".join(f"{key} {_value(value)}" for key, value in params.items()) for params in runs)
        if any(shown):
            out[LINEUP[method].title] = " or ".join(shown)
    return out


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"from {_value(value[0])} to {_value(value[-1])} in {len(value)} steps"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _published(figure: Figure | None, method: str, size: str) -> Cell:
    value = None if figure is None else figure.at(size)
    if figure is None or value is None:
        return Cell("", style="grey")
    other = " (transductive)" if figure.setting == "transductive" else ""
    peeks = " (best on test)" if method == "annealed" else ""
    return Cell(f"{value:g} {figure.source}{other}{peeks}", value, "grey")
