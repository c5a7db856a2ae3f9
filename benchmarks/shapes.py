"""How time and memory depend on what the data is like: the number of labels, the length of sequences, rules, examples.

    python benchmarks/shapes.py                  one row for each, with a pool of 1,000
    python benchmarks/shapes.py --pool 5000 --only rules

Records are made up: fields in a fixed order, some left out, each with words of its own and some that all share, and a
comma at the end of each field.  One thing is changed at a time.  The rules are `at_most_once: all`, `change_only_on:
punctuation` and one for each of some words.  Every row is a process of its own, in which a small fit comes first; C is
given, and nothing is calibrated.  Memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings

from harness import alone, memory, table
from semistruct import AnnealedSSVM, Rules
from semistruct.learning.fitting import Effort

USUAL = {"labels": 13, "length": 35, "rules": 10, "labelled": 20}
TRIED = {
    "labels": (5, 13, 30, 60),
    "length": (10, 35, 100),
    "rules": (0, 10, 100, 1000),
    "labelled": (20, 100, 500),
}
WORDS, SHARED = 60, 0.2  # of each field, and how many of its words are of all fields
FIELDS = 9  # of a record, on average, or 70% of all if there are fewer


def record(rng, labels, length):
    """(tokens, labels) of one record."""
    fields = [y for y in range(labels) if rng.random() < min(0.7, FIELDS / labels)] or [0]
    x, row = [], []
    for y in fields:
        n = max(2, round(rng.gauss(length / len(fields), length / len(fields) / 4)))
        own = [
            f"all{rng.randrange(WORDS)}" if rng.random() < SHARED else f"f{y}w{rng.randrange(WORDS)}"
            for _ in range(n - 1)
        ]
        x += [*own, ","]
        row += [f"label{y:02}"] * n
    return x, row


def rules(labels, n):
    """Two rules about blocks, and n about words."""
    about = [{"words": f"f{k % labels}w{k // labels}", "are": f"label{k % labels:02}"} for k in range(n)]
    blocks = [{"at_most_once": "all"}, {"change_only_on": "punctuation"}]
    return Rules.from_dict({"labels": [f"label{y:02}" for y in range(labels)], "rules": blocks + about})


def one(shape, pool):
    """The record of one fit."""
    rng, given = random.Random(0), rules(shape["labels"], shape["rules"])
    few, free = ([record(rng, shape["labels"], shape["length"]) for _ in range(n)] for n in (shape["labelled"], pool))
    X, y = [x for x, _ in few], [row for _, row in few]

    def fit(size):
        model = AnnealedSSVM(C=0.3, rules=given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit_with(Effort(ranker=False), X, y, pool=[x for x, _ in free[:size]])

    fit(50)
    began, idle = time.perf_counter(), time.process_time()
    model = fit(pool)
    seconds, worked = time.perf_counter() - began, time.process_time() - idle
    steps = {name: sum(row["spent"] for row in model.history_ if row["step"] == name) for name in ("match", "learn")}
    return {**shape, "seconds": seconds, "worked": worked, "peak": memory(), **steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=1000)
    parser.add_argument("--only", choices=list(TRIED), action="append")
    args = parser.parse_args()
    shapes = [{**USUAL, name: value} for name in args.only or TRIED for value in TRIED[name]]

    def rows():
        for shape in [shape for i, shape in enumerate(shapes) if shape not in shapes[:i]]:
            row = alone(one, shape, args.pool)
            times = [f"{row[key]:.1f}" for key in ("seconds", "match", "learn")]
            yield [*shape.values(), *times, f"{1000 * row['worked'] / args.pool:.2f}", f"{row['peak'] / 2**30:.2f}"]

    head = (*USUAL, "seconds", "matching", "learning", "core ms each", "peak, GiB")
    table(head, rows())


if __name__ == "__main__":
    main()
