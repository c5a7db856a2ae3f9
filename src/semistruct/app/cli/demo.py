"""`semistruct demo`: what a few labels, rules and a pool achieve on synthetic references."""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path

from rich.text import Text

from semistruct.app.cli.output import results, status_line, table
from semistruct.app.report.plots import learning_curve
from semistruct.base.files import make_folder
from semistruct.data.corpus import Example
from semistruct.data.datasets import make_citations
from semistruct.data.labels import spans
from semistruct.features.words import word_of
from semistruct.learning.fitting import Effort
from semistruct.methods.annealed import AnnealedSSVM
from semistruct.methods.ssvm import SSVM
from semistruct.rules import Rules

SIZES, DRAWS, N_TEST, N_POOL = (5, 20, 80), 2, 200, 200
COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "bright_cyan", "bright_blue")


def run(folder: Path) -> None:
    """Train with growing numbers of labels, print a table, save a plot and the last model."""
    make_folder(folder)
    console = results()
    console.print("[bold]semistruct[/bold] learns to split references into fields: author, title, journal, date ...")
    console.print(
        f"Synthetic data: a few labelled references, a pool of {N_POOL} without labels, and the rules for references\n"
        f"that come with semistruct; {DRAWS} draws of each size, scored on {N_TEST} other references."
    )
    rules, test = Rules.from_file("citations"), make_citations(N_TEST, seed=1000)
    supervised = SSVM(rules=rules)
    annealed = AnnealedSSVM(rules=rules, schedule=[1.0, 10.0], rounds=2)
    effort = Effort(ranker=False, start="labels")  # a first look should not take long
    curves: dict[str, list[list[float]]] = {
        "labels alone": [],
        "obeying the rules": [],
        "and learning from the pool": [],
    }
    rows = []
    for size in SIZES:
        scores: dict[str, list[float]] = {name: [] for name in curves}
        seconds = []
        for draw in range(DRAWS):
            data = make_citations(size + N_POOL, seed=1 + draw)
            X, y = data.tokens[:size], data.labels[:size]
            doing = f"{size} labelled references, draw {draw + 1} of {DRAWS}"
            with status_line(doing), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about rules that one of the draws doubts: nothing to act on here
                supervised.fit_with(effort, X, y)
                began = time.perf_counter()
                annealed.fit_with(effort, X, y, pool=data.tokens[size:])
                seconds.append(time.perf_counter() - began)
                found = [supervised.score(test.tokens, test.labels, rules=rules) for rules in (False, True)]
                found.append(annealed.score(test.tokens, test.labels))
            for values, score in zip(scores.values(), found, strict=True):
                values.append(score)
        for name, values in scores.items():
            curves[name].append(values)
        means = [f"{statistics.mean(values):.1%}" for values in scores.values()]
        rows.append((str(size), *means, f"{min(seconds):.1f}"))
    titles = ("labelled references", *curves, "seconds")
    console.print(table(titles, rows))
    console.print("\nA reference that the last model has never seen, with its labels:")
    console.print(_coloured(test.examples[0], annealed.predict(test.tokens[:1])[0]))
    plot, saved = folder / "learning-curve.png", folder / "citations.model"
    *also, best = curves.items()
    learning_curve(plot, SIZES, best[1], title="Synthetic references, labels + rules + pool", also=dict(also))
    annealed.save(saved, card={"data": {"synthetic": "citations", "sequences": SIZES[-1], "pool": N_POOL}})
    console.print(f"\nplot   {plot}\nmodel  {saved}", soft_wrap=True)
    console.print(f"next   echo 'A. Lovelace. Notes on an engine. 1843.' | semistruct predict {saved}", soft_wrap=True)


def _coloured(example: Example, labels: list[str]) -> Text:
    """The text with its fields in colours, each followed by its name."""
    out = Text()
    for k, span in enumerate(spans(labels, "plain")):
        words = " ".join(map(word_of, example.tokens[span.start : span.end]))
        out.append(words, style=COLOURS[k % len(COLOURS)]).append(f" [{span.label}] ", style="dim")
    return out
