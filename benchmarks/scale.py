"""How time and memory grow with the pool: 20 labelled synthetic references, the shipped rules, pools of given sizes.

    python benchmarks/scale.py 2000 10000
    python benchmarks/scale.py 1000000

Each size is fitted in a process of its own, from a file, as `semistruct train few.tsv -u pool.txt -r citations` does
(with C given; `--choose` leaves its choice to cross-validation).  Seconds are by step, after a small fit; memory is the
peak of the process less what it had before the pool was read.  Accuracy is of tokens, on other references, without and
under the rules.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from harness import alone, memory, table
from semistruct import AnnealedSSVM, Rules
from semistruct.data import metrics
from semistruct.data.datasets import make_citations
from semistruct.data.formats import sharing_words, stream
from semistruct.features.encoder import Encoder
from semistruct.learning.choice import Judge
from semistruct.learning.held_out import Uncalibrated
from semistruct.learning.learners import MarginLearner
from semistruct.learning.solvers import sdm
from semistruct.methods import annealed

LABELLED, HELD_OUT, WARM = 20, 500, 200
CHUNK = 1000  # references that are made at once
STEPS = {
    "encoding": [(Encoder, "fit")],
    "rules": [(Rules, "compile")],
    "matching": [(annealed.PoolMatcher, step) for step in ("match", "search", "price")],
    "learning": [(MarginLearner, "solve_each"), (sdm, "solve")],
    "judging": [(Judge, "point")],
    "calibrating": [(Uncalibrated, "calibration")],
}


class Clock:
    """Seconds by step, and those of all cores together; a step within another one is counted as the outer one."""

    def __init__(self) -> None:
        self.seconds, self.worked, self.busy = {}, {}, False

    @contextmanager
    def step(self, name):
        outer, began, idle = self.busy, time.perf_counter(), time.process_time()
        self.busy = True
        yield
        self.busy = outer
        if not outer:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            self.worked[name] = self.worked.get(name, 0.0) + time.process_time() - idle

    def wrap(self, owner, attribute, name):
        call = getattr(owner, attribute)

        def timed(*args, **kwargs):
            with self.step(name):
                return call(*args, **kwargs)

        setattr(owner, attribute, timed)


def write_pool(target, size, seed):
    """References as lines of text, made in chunks, each with a seed of its own."""
    with target.open("w") as file:
        for chunk in range(-(-size // CHUNK)):
            for example in make_citations(min(CHUNK, size - chunk * CHUNK), seed=seed + 1 + chunk):
                file.write(f"{example.text}\n")


def fitted(labelled, pool, C):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AnnealedSSVM(C=C, rules=Rules.from_file("citations"))
        return model.fit(labelled.tokens, labelled.labels, pool=pool).calibrate()


def one(file, size, seed, C):
    """The record of one fit."""
    labelled, others = make_citations(LABELLED, seed=-seed - 1), make_citations(HELD_OUT, seed=-seed - 2)
    fitted(labelled, make_citations(WARM, seed=-seed - 3).tokens, C)
    gc.collect()
    before, clock = memory("VmRSS"), Clock()
    for name, calls in STEPS.items():
        for owner, attribute in calls:
            clock.wrap(owner, attribute, name)
    began, idle = time.perf_counter(), time.process_time()
    with clock.step("reading"):
        pool = [example.tokens for example in sharing_words(stream(file))]
    model = fitted(labelled, pool, C)
    seconds, worked = time.perf_counter() - began, time.process_time() - idle
    peak = memory()
    accuracy = [metrics.token_accuracy(others.labels, model.predict(others.tokens, rules=on)) for on in (False, True)]
    return {
        "size": size, "seconds": seconds, "steps": clock.seconds, "core seconds": worked,
        "core seconds of steps": clock.worked, "peak": peak, "bytes": (peak - before) / size, "accuracy": accuracy,
        "mistakes": [round(point["mistakes"], 3) for point in model.path_],
        "chosen": next(i for i, point in enumerate(model.path_) if point["chosen"]),
        "tokens": sum(map(len, pool)) / size, "features": model.model_.encoder.n_features,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--choose", action="store_true", help="choose C, too")
    parser.add_argument("--folder", type=Path, help="where to keep the pools")
    args = parser.parse_args()
    C = "auto" if args.choose else AnnealedSSVM().C
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        rows = []
        for size in args.sizes:
            pool = folder / f"{size}-{args.seed}.txt"
            if not pool.exists():
                write_pool(pool, size, 1000 * args.seed)
            rows.append(alone(one, pool, size, args.seed, C))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    report(rows)


def cells_of(row, steps):
    parts = [row["steps"].get(step, 0.0) for step in steps[:-1]]
    cells = [f"{part:.1f}" for part in (*parts, row["seconds"] - sum(parts), row["seconds"])]
    cells += [f"{1000 * row[key] / row['size']:.2f}" for key in ("seconds", "core seconds")]
    cells += [f"{row['peak'] / 2**30:.2f}", f"{row['bytes'] / 1000:.1f}"]
    return cells + [f"{share:.2%}" for share in row["accuracy"]]


def report(rows):
    steps = ["reading", *STEPS, "rest"]
    totals = ("all, s", "ms each", "core ms each", "peak, GiB", "KB each", "accuracy", "under rules")
    table(["pool", *steps, *totals], ([row["size"], *cells_of(row, steps)] for row in rows))
    for small, large in pairwise(rows):
        exponent = math.log(large["seconds"] / small["seconds"]) / math.log(large["size"] / small["size"])
        print(f"from {small['size']} to {large['size']}: time grows with the power {exponent:.2f} of the pool")


if __name__ == "__main__":
    main()
