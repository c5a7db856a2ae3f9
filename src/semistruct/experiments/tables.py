"""The tables: those of the paper in its own layout, and others."""

from __future__ import annotations

from math import isnan

from semistruct.experiments.cells import Cell, Table, head, mean_cell, percent
from semistruct.experiments.details import PEEKS, choices, times, unlabelled, violations
from semistruct.experiments.lineup import LINEUP
from semistruct.experiments.published import MEANINGS, MISPRINTS, PRINTED, SOURCES, Figure, published
from semistruct.experiments.view import CHOICES, IN_WORDS, View

LAYOUTS = {
    "citations": (2, "citations"), "synthetic": (2, "citations"), "apartments": (3, "apartments"),
    "headers": (3, "apartments"),
}  # fmt: skip
"""The table of the paper that a corpus is shown like, and the corpus printed there."""


def all_tables(view: View) -> list[Table]:
    """All tables, in the order of the report."""
    tables = [characteristics(view), as_printed(view), overview(view)]
    tables += [comparison(view, size) for size in view.sizes]
    tables += [choices(view), *(violations(view, size) for size in view.sizes), times(view), unlabelled(view)]
    return [table for table in tables if table is not None and table.rows]


def characteristics(view: View) -> Table:
    """Table 1 of the paper."""
    data = view.whole[0]["data"]
    sizes = "; ".join(str(n) for n in view.sizes.values())
    per_size = {run["data"]["reported"] for run in view.whole}
    reported = "; ".join(str(n) for n in sorted(per_size, reverse=True))
    ours = [view.title, sizes, str(data["dev"]), str(data["unlabelled"]), reported]
    paper = [
        ("citation, in the paper", "5; 20; 300", "100", "1000", "100"),
        ("apartments, in the paper", "5; 20; 100", "100", "1000", "100"),
    ]
    notes = [f"Reported on {data['reported_on']}."]
    if data["reported_on"] != "the test part":
        notes.append(
            'There is no test part: "all" learns from two thirds of the training part, and the rest is reported.'
        )
    if view.synthetic:
        notes.append("Synthetic data, made by a generator: its figures are not comparable with published ones.")
    columns = ["Dataset", "labelled", "dev", "pool", "reported"]
    return Table(
        "data", "Table 1. Dataset characteristics", head(columns),
        [head(ours), *([Cell(text, style="grey") for text in row] for row in paper)], notes,
    )  # fmt: skip


def as_printed(view: View) -> Table | None:
    """Table 2 or 3 of the paper: a line per size, a column per method, ours above what was printed."""
    if view.corpus not in LAYOUTS:
        return None
    number, other = LAYOUTS[view.corpus]
    columns = [column for column in PRINTED[other] if column[1] in view.methods]
    if not columns:
        return None
    comparable = _comparable(view)
    titles = [Cell("labelled")]
    for heading, line, _, mark in columns:
        titles.append(Cell(heading.split(" (")[0] + (f" [{mark}]" if mark and comparable else "")))
        if line == "annealed":
            titles.append(Cell("SSVM-SDM, best on test (peeks)", style="peek"))
    rows = []
    for size in view.sizes:
        row = [Cell(view.name_of(size), float(view.sizes[size]))]
        means = {line: view.mean(line, size, "plain", "dev") for _, line, _, _ in columns if view.runs(line, size)}
        for _, line, _, _ in columns:
            row.append(percent(means.get(line), best=line in means and means[line] == max(means.values())))
            if line == "annealed":
                row.append(percent(view.mean(line, size, "plain", "best-test"), style="peek"))
        rows.append(row)
        place = {"5": 0, "20": 1, "all": 2}.get(size)
        if comparable and place is not None:
            grey = [Cell(f"{view.name_of(size)}, as printed", style="grey")]
            for _, line, values, _ in columns:
                value = values[place]
                grey.append(Cell("n/a" if value is None else f"{value:g}", value, "grey"))
                if line == "annealed":  # the printed figure is one of the best test point
                    grey[-1], last = Cell("", style="grey"), grey[-1]
                    grey.append(last)
            rows.append(grey)
    notes = [
        f"Mean token accuracy in % over draws, {view.frame['setting']}, without rules at prediction, the point of a "
        "path chosen on dev data.",
    ]
    if any(line == "annealed" for _, line, _, _ in columns):
        notes.append(PEEKS)
    if comparable:
        notes.append(not_the_same(view))
        marks = sorted({mark for *_, mark in columns if mark})
        notes += [MEANINGS, *(f"[{mark}] {MISPRINTS[mark]}" for mark in marks)]
    elif view.corpus == "headers":
        notes.append("Headers take the place of the apartments of the paper, which are no longer public.")
    return Table("paper", f"Table {number}. Accuracy in the layout of the paper: {view.title}", titles, rows, notes)


def overview(view: View) -> Table:
    """A line per method, a column per size."""
    sizes = list(view.sizes)
    best = {size: view.ranked(size, view.main)[0] for size in sizes}
    rows = []
    for method in view.methods:
        row = [Cell(LINEUP[method].title)]
        row += [mean_cell(view.scores(method, size, view.main), best=best[size] == method) for size in sizes]
        rows.append(row)
    return Table(
        "overview", f"Accuracy of all methods, {IN_WORDS[view.main]}: {view.title}",
        [Cell("method"), *(Cell(f"{view.name_of(size)} labelled") for size in sizes)], rows,
        [f"Token accuracy in %, mean ± sample standard deviation over draws; the point of a path {_choice(view)}."],
    )  # fmt: skip


def comparison(view: View, size: str) -> Table:
    """One size: every method plain and under the rules, whether the best is better, and what others have published."""
    ranked = view.ranked(size, view.main)
    best, shown = ranked[0], view.decodings
    columns = head(["method", *(IN_WORDS[d] for d in shown), "below the best", "p over draws", "p over sequences"])
    if _comparable(view):
        columns += [Cell(f"published, {IN_WORDS[decoding]}", style="grey") for decoding in shown]
    columns += head(["draws"])
    rows, left_out = [], {}
    for method in (name for name in view.methods if name in ranked):
        runs = view.runs(method, size)
        row = [Cell(LINEUP[method].title)]
        for decoding in shown:
            top = view.ranked(size, decoding)[0] == method
            row.append(mean_cell(view.scores(method, size, decoding), best=top))
        if method == best:
            row += [Cell("best", 0.0), Cell(""), Cell("")]
        else:
            found = view.against(best, method, size, view.main)
            row.append(Cell(f"{100 * found.difference:.1f}", 100 * found.difference))
            row += [Cell(_p(p), p) for p in (found.flip, found.bootstrap)]
        for decoding in shown if _comparable(view) else ():
            row.append(_published(view, method, decoding, size))
        rows.append([*row, Cell(str(len(runs)), len(runs))])
        rules = next(iter(runs.values()))["rules"]
        if rules["left_out"]:
            left_out[LINEUP[method].title] = (rules["learning"], rules["left_out"])
    notes = [
        f"{view.title}, {view.sizes[size]} labelled, {view.frame['setting']}, features {view.frame['features']}; token "
        f"accuracy in %, mean ± sample standard deviation; the point of a path {_choice(view)}.",
        f"Compared with the best {IN_WORDS[view.main]}; no p over draws below {_least_p(view, size)} is possible.",
        *(f"{name}: settings {settings}." for name, settings in _settings(view, size).items()),
    ]
    if size == next(iter(view.sizes)):
        notes += _for_all_sizes(view, left_out)
    if view.select == "best-test":
        notes.append(PEEKS)
    return Table(f"accuracy-{size}", f"{view.name_of(size)} labelled sequences: {view.title}", columns, rows, notes)


def _for_all_sizes(view: View, left_out: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Notes that are given once, below the first size; left_out[method] has the list of rules and those left out."""
    notes = [
        "p over draws is an exact sign-flip test of the paired draws; p over sequences a paired bootstrap of the "
        "reported sequences pooled over draws, which sees smaller differences but takes the draws as they are.",
        *(
            f"{name} learns with the rules {listed} without: {', '.join(rules)}: it cannot use them."
            for name, (listed, rules) in left_out.items()
        ),
    ]
    own = [LINEUP[method].title for method in view.methods if LINEUP[method].line.own_features]
    if own:
        notes.append(f"{' and '.join(own)}: words and the start of a sequence as the only features, as published.")
    if _comparable(view):
        named = {f.source for m in view.methods for d in view.decodings if (f := _figure(view, m, d)) is not None}
        notes += [not_the_same(view), MEANINGS, *(f"{key}: {SOURCES[key]}." for key in SOURCES if key in named)]
    return notes


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


def not_the_same(view: View) -> str:
    """Notes on comparing with published figures."""
    data = view.whole[0]["data"]
    here = f"ours are of {data['reported_on']} ({data['reported']} sequences with {data['labelled']} labelled)"
    more = f'; "all" is {view.sizes["all"]} here, and 300 citations or 100 adverts there' if "all" in view.sizes else ""
    return f"Published figures are of the 100 test sequences of the literature and of other draws, {here}{more}."


def _comparable(view: View) -> bool:
    """Whether there are published figures to compare with."""
    return view.corpus in PRINTED and not view.synthetic


def _p(p: float) -> str:
    return "–" if isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _least_p(view: View, size: str) -> str:
    draws = max(len(view.runs(method, size)) for method in view.methods)
    return f"{2 / 2**draws:.3g}"


def _choice(view: View) -> str:
    return f"chosen {CHOICES[view.select]}" if view.select != "best-test" else "is the " + CHOICES[view.select]


def _figure(view: View, method: str, decoding: str) -> Figure | None:
    return published(view.corpus, method, decoding, view.frame["setting"])


def _published(view: View, method: str, decoding: str, size: str) -> Cell:
    figure = _figure(view, method, decoding)
    value = None if figure is None else figure.at(size)
    if figure is None or value is None:
        return Cell("", style="grey")
    other = figure.setting not in ("", view.frame["setting"])
    peeks = " (best on test)" if method == "annealed" else ""
    return Cell(f"{value:g} {figure.source}{f' ({figure.setting})' if other else ''}{peeks}", value, "grey")
