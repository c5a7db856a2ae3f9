"""`semistruct demo`: how far a few labels go, on synthetic references."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from semistruct.corpus import Example
from semistruct.datasets import make_citations
from semistruct.errors import DataError
from semistruct.labels import spans
from semistruct.methods import SSVM
from semistruct.report.plots import learning_curve

SIZES, DRAWS, N_TEST = (5, 20, 100, 300), 3, 300
COLOURS = {
    "author": "cyan", "title": "green", "booktitle": "yellow", "journal": "yellow", "date": "magenta",
    "pages": "blue", "volume": "red", "publisher": "bright_cyan", "location": "bright_blue",
}  # fmt: skip


def run(folder: Path, seed: int, threads: int | None) -> None:
    """Train on growing parts of a synthetic corpus, print a table, save a plot and the last model."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise DataError.at(folder, None, f"cannot write: {(err.strerror or str(err)).lower()}") from None
    console = Console(highlight=False)
    console.print("[bold]semistruct[/bold] learns to cut references into fields: author, title, journal, date ...")
    console.print(f"Synthetic data, {DRAWS} draws of each size, scored on {N_TEST} other references.")
    console.print("The first fit compiles the kernels; this happens once and takes some seconds.\n")
    test = make_citations(N_TEST, seed=seed + 1000)
    model = SSVM(n_jobs=threads)
    table = Table("labelled references", box=None, pad_edge=False)
    for title in ("token accuracy", "lowest - highest", "references all right", "seconds to learn"):
        table.add_column(title, justify="right")
    runs: list[list[float]] = []
    for size in SIZES:
        scores, whole, seconds = [], [], []
        for draw in range(DRAWS):
            data = make_citations(size, seed=seed + 1 + draw)
            began = time.perf_counter()
            with console.status(f"{size} labelled references, draw {draw + 1} of {DRAWS}"):
                model.fit(data.tokens, data.labels)
            seconds.append(time.perf_counter() - began)
            predicted = model.predict(test.tokens)
            scores.append(model.score(test.tokens, test.labels))
            whole.append(statistics.mean(p == g for p, g in zip(predicted, test.labels, strict=True)))
        runs.append(scores)
        table.add_row(
            str(size),
            f"{statistics.mean(scores):.1%}",
            f"{min(scores):.1%} - {max(scores):.1%}",
            f"{statistics.mean(whole):.1%}",
            f"{min(seconds):.2f}",
        )
    console.print(table)
    console.print("\nA reference the last model has never seen, as it labels it:")
    console.print(_coloured(test.examples[0], model.predict(test.tokens[:1])[0]))
    plot, saved = folder / "learning-curve.png", folder / "citations.model"
    learning_curve(plot, SIZES, runs, title="Synthetic references, supervised structural SVM")
    model.save(saved, card={"data": {"synthetic": "citations", "sequences": SIZES[-1], "sha256": data.digest}})
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
