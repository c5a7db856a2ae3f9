"""One table of all methods per corpus, from the folders that `semistruct reproduce` has written.

    semistruct reproduce names --data names --features default -o out/names
    python benchmarks/methods.py out/names out/citations > docs/results/defaults.md

Each cell is the token accuracy in percent, plain / under the rules, mean of the draws, with the standard deviation of
the latter.  The best under the rules is bold, and so are those that a paired bootstrap of the reported sequences does
not tell from it (p >= 0.05).  Methods that count words use the features `hmm`.  Seconds are of processor time, the
median of the draws, with the scores of all points.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
from pathlib import Path

from semistruct.experiments.lineup import LINEUP

TITLES = {
    "names": "Names of people and companies",
    "citations": "References",
    "headers": "Title pages",
    "apartments": "Synthetic adverts, which say nothing about real ones",
}
CHANCE = 0.05


def rows_of(folder):
    """The rows of the table of a folder whose points were chosen on dev data."""
    with (folder / "tables.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["select"] == "dev" and row["peeks"] == "0"]


def busy(folder, method, size):
    """The median of the processor seconds of the runs of a method."""
    runs = map(json.loads, (folder / "results.jsonl").read_text(encoding="utf-8").splitlines())
    whole = [run for run in runs if run["config"]["method"] == method and run["config"]["pool"] is None]
    return statistics.median(run["cpu_seconds"] for run in whole if str(run["data"]["labelled"]) == size)


def table(folder):
    """The lines of its table."""
    rows = rows_of(folder)
    corpus, features, sizes = rows[0]["corpus"], rows[0]["features"], list(dict.fromkeys(r["labelled"] for r in rows))
    found = {(row["method"], row["labelled"], row["decoding"]): row for row in rows}
    draws = sorted({int(row["draws"]) for row in rows})
    methods = [name for name in LINEUP if (name, sizes[0], "plain") in found]
    own = " and ".join(f"`{name}`" for name in methods if LINEUP[name].line.own_features)
    used = f"features `{features}`" + (f", but `hmm` for {own}" if own else "")
    yield f"**{TITLES.get(corpus, corpus)}** ({used}; draws: {' to '.join(map(str, draws))}):\n"
    yield f"| | {' | '.join(sizes)} labelled | seconds, {sizes[1]} labelled |"
    yield "|---" * (len(sizes) + 2) + "|"
    for method in methods:
        cells = []
        for size in sizes:
            plain, ruled = (found[method, size, decoding] for decoding in ("plain", "rules"))
            bold = "**" * (ruled["best"] == "1" or float(ruled["p_sequences"]) >= CHANCE)
            spread = f" ± {100 * float(ruled['spread']):.1f}" if ruled["spread"] else ""  # none of one draw
            plain, ruled = (100 * float(row["mean"]) for row in (plain, ruled))
            cells.append(f"{plain:.1f} / {bold}{ruled:.1f}{bold}{spread}")
        yield f"| `{method}` | {' | '.join(cells)} | {busy(folder, method, sizes[1]):.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    blocks = ["\n".join(table(folder)) for folder in parser.parse_args().folders]
    sys.stdout.write("\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()
