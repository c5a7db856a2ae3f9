"""Labelling large files: lines per second on one core and on all, the memory that it takes, and CRFsuite beside.

    python benchmarks/labelling.py                     40,000 and 160,000 lines
    python benchmarks/labelling.py -n 10000
    python benchmarks/labelling.py --short 10000000    one file of short lines, and how much memory that takes when

`semistruct predict` labels made-up references, N and 4 N lines of plain text; every run is a process of its own.
`busy` is the time of all cores.  MiB is the peak of the process that reads and writes, `others` that of each process
that helps it.  CRFsuite tags the first lines (`--peer`) in one process, with the features of semistruct: once with the
time it takes to make them, as strings, and once without.  It is compared in lines per busy second, from which the start
of semistruct is taken off.

Short lines are made-up addresses of about nine tokens in which new words keep coming.  The table has the largest memory
of each tenth of the run, of the process that reads and writes and of the largest one that helps it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from semistruct import SSVM, make_citations
from semistruct.base import threads
from semistruct.data.formats import write
from semistruct.data.tokens import tokenize
from semistruct.features import Encoder

LEARNED, PIECE = 300, 5000
MEASURED = """
import json, resource, sys, time
from semistruct.app.cli import main
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


def word(rng):
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randint(2, 3))).title()


def address(rng):
    """The fields of one line, as (text, label)."""
    street = f"{rng.randint(1, 99)} {word(rng)} {rng.choice(('Road', 'Street', 'Lane'))},"
    town = f"{word(rng)} {rng.randint(10000, 99999)}"
    return [(f"{word(rng)} {word(rng)},", "name"), (street, "street"), (town, "town")]


def resident(pid):
    """MiB of a process now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def look(pid):
    """MiB of a process, and of the largest of those that it started."""
    with suppress(OSError):
        others = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return resident(pid), max(map(resident, others), default=0.0)
    return 0.0, 0.0


def short(folder, n):
    """Label n short lines, and look at the memory every second."""
    rng = random.Random(0)
    few = [address(rng) for _ in range(200)]
    X = [[token for text, _ in one for token in tokenize(text)[0]] for one in few]
    y = [[label for text, label in one for _ in tokenize(text)[0]] for one in few]
    SSVM(C=0.5).fit(X, y).save(folder / "short.model")
    with open(folder / "short.txt", "w", encoding="utf-8") as file:
        file.writelines(" ".join(text for text, _ in address(rng)) + "\n" for _ in range(n))
    began, seen = time.perf_counter(), []
    command = [sys.executable, "-m", "semistruct", "predict", "short.model", "short.txt", "-o", "out.txt", "--resume"]
    with subprocess.Popen(command, cwd=folder) as process:
        while process.poll() is None:
            time.sleep(1)
            seen.append(look(process.pid))
    assert process.returncode == 0
    seconds = time.perf_counter() - began
    with open(folder / "out.txt", "rb") as file:
        assert sum(1 for _ in file) == n
    size = (folder / "short.txt").stat().st_size / 1e6
    print(f"{n:,} lines, {size:.0f} MB: {seconds:.0f} s, {n / seconds:,.0f} lines per second")
    print(f"{'share of the run':>20}{'MiB':>8}{'others':>8}")
    for k in range(10):
        part = seen[k * len(seen) // 10 : (k + 1) * len(seen) // 10] or [(0.0, 0.0)]
        print(f"{(k + 1) * 10:>19}%{max(own for own, _ in part):>8.0f}{max(other for _, other in part):>8.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=40_000, help="lines of the small file")
    parser.add_argument("--peer", type=int, default=10_000, help="lines that CRFsuite tags; 0 for none")
    parser.add_argument("--short", type=int, help="lines of a file of short lines")
    args = parser.parse_args()
    if args.short:
        with tempfile.TemporaryDirectory() as name:
            short(Path(name), args.short)
        return
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
