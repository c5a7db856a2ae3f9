"""Tables that explain the accuracies: choices, broken rules, times, the size of the pool."""

from __future__ import annotations

from math import isnan

from semistruct.experiments import statistics
from semistruct.experiments.cells import Cell, Table, head, mean_cell, percent
from semistruct.experiments.lineup import LINEUP
from semistruct.experiments.view import CHOICES, IN_WORDS, View, accuracy, outcome

PEEKS = "This column peeks: the point of the path was chosen on the same labels that it is scored on."


def choices(view: View) -> Table | None:
    """What other ways to choose the point of a path would have given."""
    rows = []
    for method in filter(view.has_path, view.methods):
        for size in (s for s in view.sizes if view.runs(method, s)):
            cells = [
                percent(view.mean(method, size, view.main, select), style="peek" if select == "best-test" else "")
                for select in CHOICES
            ]
            rows.append([Cell(LINEUP[method].title), Cell(view.name_of(size), float(view.sizes[size])), *cells])
    titles = [
        *head(["method", "labelled"]),
        *(Cell(t, style="peek" if s == "best-test" else "") for s, t in CHOICES.items()),
    ]
    notes = [
        f"Mean token accuracy in %, {IN_WORDS[view.main]}. C and the weight of rules are always chosen on dev data.",
        PEEKS,
    ]
    return Table("choice", f"How the point of the path is chosen: {view.title}", titles, rows, notes) if rows else None


def violations(view: View, size: str) -> Table:
    """How many of 100 reported sequences break each rule: plain, and under the rules."""
    methods = [method for method in view.methods if view.runs(method, size)]
    texts: dict[str, None] = {}
    shares: dict[tuple[str, str, str], float] = {}
    for method in methods:
        runs = list(view.runs(method, size).values())
        total = sum(run["data"]["reported"] for run in runs)
        for decoding in view.decodings:
            found = [outcome(run, decoding, view.select) for run in runs]
            for text in found[0]["broken"]:
                texts[text] = None
                shares[method, decoding, text] = 100 * sum(o["broken"][text] for o in found) / total
            shares[method, decoding, ""] = 100 * sum(o["broken_any"] for o in found) / total
    rows = []
    for text in ("", *texts):
        row = [Cell(text or "any rule")]
        for method in methods:
            values = [shares.get((method, decoding, text)) for decoding in view.decodings]
            there = [value for value in values if value is not None]
            row.append(Cell(" → ".join(f"{v:.1f}" for v in there) or "–", there[-1] if there else None))
        if any(cell.value is None or cell.text.strip("0. →") for cell in row[1:]):
            rows.append(row)
    arrow = "plain → under the rules" if len(view.decodings) == 2 else IN_WORDS[view.main]
    return Table(
        f"violations-{size}", f"Broken rules, {view.name_of(size)} labelled: {view.title}",
        [Cell("rule"), *(Cell(LINEUP[m].title) for m in methods)], rows,
        [f"How many of 100 reported sequences break the rule: {arrow}. Rules that no method breaks are not shown."],
    )  # fmt: skip


def times(view: View) -> Table:
    """Seconds of a fit and of prediction."""
    rows = []
    for method in view.methods:
        row = [Cell(LINEUP[method].title)]
        for size in view.sizes:
            runs = view.runs(method, size).values()
            fit = statistics.mean([run["seconds"]["fit"] for run in runs])
            row.append(Cell("–" if isnan(fit) else f"{fit:.1f}", None if isnan(fit) else fit))
        for decoding in view.decodings:
            spent = [
                1000 * run["seconds"][decoding] / run["data"]["reported"]
                for size in view.sizes
                for run in view.runs(method, size).values()
            ]
            row.append(Cell(f"{statistics.mean(spent):.2f}", statistics.mean(spent)))
        rows.append(row)
    titles = ["method", *(f"fit, {view.name_of(s)} labelled, s" for s in view.sizes)]
    titles += [f"predict {IN_WORDS[d]}, ms each" for d in view.decodings]
    return Table(
        "time", "Time per method", head(titles), rows,
        ["Mean seconds of one fit, including the choice of C. Times depend on the machine and on what else ran there."],
    )  # fmt: skip


def unlabelled(view: View) -> Table | None:
    """Accuracy by the size of the pool."""
    curve = unlabelled_curve(view)
    rows = [
        [Cell(str(n), float(n)), *(mean_cell(scores[d]) for d in view.decodings), Cell(str(len(scores["plain"])))]
        for n, scores in curve.items()
    ]
    if len(rows) < 2:
        return None
    config = next(r["config"] for r in view.records if r["config"]["pool"] is not None)
    title = f"{LINEUP[config['method']].title} with {view.name_of(config['size'])} labelled, by the size of the pool"
    titles = ["pool", *(IN_WORDS[d] for d in view.decodings), "draws"]
    return Table("unlabelled", f"{title}: {view.title}", head(titles), rows)


def unlabelled_curve(view: View) -> dict[int, dict[str, list[float]]]:
    """{size of the pool: {decoding: accuracies of the draws}}, over the draws of the smaller ones."""
    small = [record for record in view.records if record["config"]["pool"] is not None]
    if not small:
        return {}
    config = small[0]["config"]
    seeds = {record["config"]["seed"] for record in small}
    whole = [run for seed, run in view.runs(config["method"], config["size"]).items() if seed in seeds]
    out: dict[int, dict[str, list[float]]] = {}
    for run in sorted((*small, *whole), key=lambda run: (run["data"]["unlabelled"], run["config"]["seed"])):
        scores = out.setdefault(run["data"]["unlabelled"], {"plain": [], "rules": []})
        for decoding, values in scores.items():
            values.append(accuracy(run, decoding, view.select))
    return out
