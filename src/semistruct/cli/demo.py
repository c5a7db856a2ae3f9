"""`semistruct demo`: what a few labels, rules and a pool achieve on synthetic references."""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path

from rich.text import Text

from semistruct.cli.output import results, status_line, table
from semistruct.corpus import Example
from semistruct.datasets import make_citations
from semistruct.files import make_folder
from semistruct.labels import spans
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.ssvm import SSVM
from semistruct.report.plots import learning_curve
from semistruct.rules import Rules

SIZES, DRAWS, N_TEST, N_POOL = (5, 20, 80), 2, 200, 200
COLOURS = {
    "author": "cyan", "title": "green", "booktitle": "yellow", "journal": "yellow", "date": "magenta",
    "pages": "blue", "volume": "red", "publisher": "bright_cyan", "location": "bright_blue",
}  # fmt: skip


def run(folder: Path, seed: int, jobs: int | None) -> None:
    """Train with growing numbers of labels, print a table, save a plot and the last model."""
    make_folder(folder)
    console = results()
    console.print("[bold]semistruct[/bold] learns to split references into fields: author, title, journal, date ...")
    console.print(
        f"Synthetic data: a few labelled references, a pool of {N_POOL} without labels, and the rules for references\n"
        f"that come with semistruct; {DRAWS} draws of each size, scored on {N_TEST} other references."
    )
    rules, test = Rules.from_file("citations"), make_citations(N_TEST, seed=seed + 1000)
    supervised = SSVM(rules=rules, n_jobs=jobs)
    annealed = AnnealedSSVM(rules=rules, schedule=[1.0, 10.0], rounds=2, n_jobs=jobs)
    supervised.ranks = annealed.ranks = False  # a first look should not take long
    annealed.begins = "labels"
    titles = ("labelled references", "labels alone", "obeying the rules", "and learning from the pool", "seconds")
    rows = []
    curves: dict[str, list[list[float]]] = {name: [] for name in ("labels", "rules", "everything")}
    for size in SIZES:
        scores: dict[str, list[float]] = {name: [] for name in curves}
        seconds = []
        for draw in range(DRAWS):
            data = make_citations(size + N_POOL, seed=seed + 1 + draw)
            few, pool = data.examples[:size], data.tokens[size:]
            X, y = [e.tokens for e in few], [e.labels for e in few]
            doing = f"{size} labelled references, draw {draw + 1} of {DRAWS}"
            with status_line(doing), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about rules that one of the draws doubts: nothing to act on here
                supervised.fit(X, y)
                scores["labels"].append(supervised.score(test.tokens, test.labels, rules=False))
                scores["rules"].append(supervised.score(test.tokens, test.labels))
                began = time.perf_counter()
                annealed.fit(X, y, pool=pool)
                seconds.append(time.perf_counter() - began)
                scores["everything"].append(annealed.score(test.tokens, test.labels))
        for name, values in scores.items():
            curves[name].append(values)
        means = [f"{statistics.mean(values):.1%}" for values in scores.values()]
        rows.append((str(size), *means, f"{min(seconds):.1f}"))
    console.print(table(titles, rows))
    console.print("\nA reference that the last model has never seen, with its labels:")
    console.print(_coloured(test.examples[0], annealed.predict(test.tokens[:1])[0]))
    plot, saved = folder / "learning-curve.png", folder / "citations.model"
    also = {"labels alone": curves["labels"], "obeying the rules": curves["rules"]}
    learning_curve(plot, SIZES, curves["everything"], title="Synthetic references, labels + rules + pool", also=also)
    annealed.save(saved, card={"data": {"synthetic": "citations", "sequences": SIZES[-1], "pool": N_POOL}})
    console.print(f"\nplot   {plot}\nmodel  {saved}", soft_wrap=True)
    console.print(f"next   echo 'A. Lovelace. Notes on an engine. 1843.' | semistruct predict {saved}", soft_wrap=True)


def _coloured(example: Example, labels: list[str]) -> Text:
    """The text with its fields in colours, each followed by its name."""
    assert example.text is not None
    assert example.offsets is not None
    out = Text()
    for span in spans(labels, "plain"):
        a, b = example.offsets[span.start][0], example.offsets[span.end - 1][1]
        out.append(example.text[a:b], style=COLOURS.get(span.label, "white"))
        out.append(f" [{span.label}] ", style="dim")
    return out
