"""What the benchmarks share: corpora and draws, cells that are run side by side, and tables.

Corpora of other people are looked for in the folder that SEMISTRUCT_DATA names.  "adverts" are synthetic.  A cell says
what one run is about; its record is a line of the file of --records, so that an interrupted benchmark goes on where it
ended.  Test parts are not used: what is reported on are sequences of the training part that were not drawn.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from semistruct import Rules, make_apartments
from semistruct.app.experiments.cells import Records, run_cells
from semistruct.app.experiments.runner import material_of
from semistruct.data.formats import write

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CORPORA = ("citations", "headers", "names", "adverts")
SIZES = {"citations": (5, 20, 200), "headers": (5, 20, 70), "names": (5, 20, 200), "adverts": (5, 20, 200)}
ADVERTS = {"train": 300, "dev": 100, "unlabeled": 300}  # sequences of each part; its number is the seed


@cache
def folder(corpus):
    """The folder of a corpus; that of the adverts is made once, in the temporary folder."""
    if corpus != "adverts":
        return str(DATA / corpus)
    parts = {part: make_apartments(n, seed=seed) for seed, (part, n) in enumerate(ADVERTS.items())}
    made = Path(tempfile.gettempdir()) / f"semistruct-adverts-{parts['train'].digest[:12]}"
    if not made.exists():
        unfinished = Path(tempfile.mkdtemp(dir=made.parent))
        for part in ("train", "dev"):
            write(parts[part], unfinished / f"{part}.tsv", "tsv")
        text = "".join("\n".join(x) + "\n\n" for x in parts["unlabeled"].tokens)
        (unfinished / "unlabeled.txt").write_text(text, encoding="utf-8")
        unfinished.rename(made)
    return str(made)


def material(corpus):
    """The parts of a corpus."""
    return material_of(corpus, folder(corpus))


def rules_of(corpus):
    return Rules.from_file({"adverts": "apartments"}.get(corpus, corpus))


def draw(corpus, n, seed, most=None):
    """((X, y) to learn from, (X, y) to report on: `most` sequences at most)."""
    found = material(corpus).draw(str(n), seed)
    parts = found.learn, found.report[-most:] if most else found.report
    return tuple(([e.tokens for e in part], [e.labels for e in part]) for part in parts)


def dev_of(corpus):
    dev = material(corpus).dev
    return dev.tokens, dev.labels


def parser(description, draws=5, corpora=CORPORA):
    """The options that all benchmarks of accuracy have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--corpus", choices=corpora, action="append", help="may be given several times; default: all")
    found.add_argument("--sizes", type=int, nargs="+", help="numbers of labelled sequences")
    found.add_argument("--draws", type=int, default=draws)
    found.add_argument("--jobs", type=int, help="runs side by side, one thread each; default: one per core")
    found.add_argument("--records", type=Path, help="file of finished runs, which are not run again")
    return found


def records_of(run, cells, args):
    """The records of the cells, made by `run`, which gets a cell and returns a dict of results."""
    warnings.simplefilter("ignore")
    for cell in cells:
        folder(cell.get("corpus", "citations"))  # made here, before several processes need it

    def show(done, total, cell):
        print(f"{done} of {total} runs {'' if cell is None else cell}", file=sys.stderr, flush=True)

    return run_cells(cells, run, Records(args.records), jobs=args.jobs, show=show)


def alone(function, *args):
    """The result of a function in a process of its own, for times and memory that nothing else disturbs."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def memory(field="VmHWM"):
    """VmHWM (peak) or VmRSS (now) of this process, in bytes; 0 where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else ()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def percent(values, digits=1):
    """`mean ± spread` of shares, in percent."""
    values = [100 * value for value in values]
    return f"{statistics.mean(values):.{digits}f} ± {statistics.pstdev(values):.{digits}f}"


def table(head, rows, title=None):
    """Print a table, a row as soon as it is there."""
    if title:
        print(f"\n### {title}\n")
    print(f"| {' | '.join(map(str, head))} |")
    print("|---" * len(head) + "|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)
