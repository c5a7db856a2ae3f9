"""Labelling large files: lines per second on one core and on all, the memory that it takes, and CRFsuite beside.

    python benchmarks/labelling.py                     40,000 and 160,000 lines
    python benchmarks/labelling.py -n 10000

`semistruct predict` labels made-up references, N and 4 N lines of plain text; every run is a process of its own, and
the first one, which compiles, does not count.  `busy` is the time of all cores.  MiB is the peak of the process that
reads and writes, `others` that of each process that helps it.  CRFsuite tags the first lines (`--peer`) in one process,
with the features of semistruct: once with the time it takes to make them, as strings, and once without.  It is compared
in lines per busy second, from which the start of semistruct is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from semistruct import SSVM, make_citations, threads
from semistruct.features import Encoder
from semistruct.formats import write
from semistruct.tokens import tokenize

LEARNED, PIECE = 300, 5000
MEASURED = """
import json, resource, sys, time
from semistruct.cli import main
began = time.perf_counter()
try:
    main(sys.argv[1:])
except SystemExit as done:
    assert not done.code, done.code
seconds = time.perf_counter() - began
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
busy = sum(one.ru_utime + one.ru_stime for one in (own, others))
print(json.dumps({"seconds": seconds, "busy": busy, "memory": own.ru_maxrss / 1024, "others": others.ru_maxrss / 1024}))
"""


def make(path, n):
    """n lines of references, made piece by piece."""
    with open(path, "w", encoding="utf-8") as file:
        for seed, first in enumerate(range(0, n, PIECE)):
            write(make_citations(min(PIECE, n - first), seed=1000 + seed), file, "text")


def predict(folder, lines, jobs):
    """Seconds and MiB of one command, from its start to its end."""
    command = ["predict", "refs.model", f"{lines}.txt", "-o", f"out-{jobs}.txt", "--jobs", str(jobs)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def strings(encoder, names, X):
    """The features of semistruct as strings."""
    batch = encoder.transform(X)
    rows = [[names[j] for j in batch.indices[a:b]] for a, b in pairwise(batch.indptr)]
    return [rows[a:b] for a, b in pairwise(batch.offsets)]


def crfsuite(folder, lines, learned):
    """(lines per busy second with the making of features, without)."""
    import pycrfsuite

    encoder = Encoder.for_data(learned.tokens, "default")
    encoder.fit(learned.tokens)
    names = encoder.feature_names()
    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 0.1, "max_iterations": 60})
    for x, y in zip(strings(encoder, names, learned.tokens), learned.labels, strict=True):
        trainer.append(x, y)
    trainer.train(str(folder / "crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "crfsuite"))
    began, tagging = time.process_time(), 0.0
    for first in range(0, len(lines), 2000):
        X = strings(encoder, names, [tokenize(line)[0] for line in lines[first : first + 2000]])
        start = time.process_time()
        for x in X:
            tagger.tag(x)
        tagging += time.process_time() - start
    return len(lines) / (time.process_time() - began), len(lines) / tagging


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=40_000, help="lines of the small file")
    parser.add_argument("--peer", type=int, default=10_000, help="lines that CRFsuite tags; 0 for none")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, learned = Path(name), make_citations(LEARNED, seed=1)
        SSVM(C=0.5).fit(learned.tokens, learned.labels).save(folder / "refs.model")
        for n in (10, args.n, 4 * args.n):
            make(folder / f"{n}.txt", n)
        predict(folder, 10, 1)
        start = predict(folder, 10, 1)
        taken = f"{start['seconds']:.1f} s, {start['busy']:.1f} s busy"
        print(f"{os.cpu_count()} cores; starting and loading the model takes {taken}, which is counted")
        print(f"{'lines':>10}{'cores':>7}{'seconds':>10}{'busy':>8}{'lines/s':>10}{'ratio':>8}{'MiB':>7}{'others':>8}")
        alone = own = 0.0
        for n in (args.n, 4 * args.n):
            for jobs in dict.fromkeys((1, threads.available())):
                run = predict(folder, n, jobs)
                speed = n / run["seconds"]
                if jobs == 1:
                    alone, own = speed, n / (run["busy"] - start["busy"])
                cells = f"{n:>10,}{jobs:>7}{run['seconds']:>10.1f}{run['busy']:>8.1f}{speed:>10,.0f}"
                print(f"{cells}{speed / alone:>8.2f}{run['memory']:>7.0f}{run['others']:>8.0f}", flush=True)
            same = (folder / "out-1.txt").read_bytes() == (folder / f"out-{threads.available()}.txt").read_bytes()
            assert same, "the labels depend on the number of cores"
        if args.peer:
            lines = (folder / f"{args.n}.txt").read_text(encoding="utf-8").splitlines()[: args.peer]
            whole, tagging = crfsuite(folder, lines, learned)
            print(f"lines per busy second: semistruct {own:,.0f}")
            print(f"CRFsuite {whole:,.0f} with the making of features, {tagging:,.0f} without")
            print(f"semistruct, with everything, is {own / whole:.2f} and {own / tagging:.2f} times as fast")


if __name__ == "__main__":
    main()
