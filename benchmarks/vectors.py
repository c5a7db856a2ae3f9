"""Vectors of words as features: what they are worth, and what they cost.

    python benchmarks/vectors.py worth    citations, 5 and 20 labels, vectors made from the pool
    python benchmarks/vectors.py cost     the first 1,000 sentences of conll2000, vectors of 50 and 300 random numbers

The vectors are made of how often words of the pool stand beside each other: singular vectors of the positive pointwise
mutual information of words and places up to two words away.  Draws and parts are those of accuracy.py; C is chosen on
the dev part.  Every row of the table of costs is a process of its own, after compilation.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from accuracy import DATA, Bench
from semistruct import SSVM, read

WINDOW = (-2, -1, 1, 2)
SCALES = (0.5, 2.0, 4.0)
COSTS = {"default": 0, "50 numbers": 50, "300 numbers": 300}


def vectors_of(sequences, width, least=2):
    """{word in lower case: vector}, for words that occur at least twice."""
    sequences = [[word.lower() for word in x] for x in sequences]
    counts = Counter(word for x in sequences for word in x)
    number = {word: i for i, word in enumerate(w for w, n in counts.most_common() if n >= least)}
    pairs = Counter()
    for x in sequences:
        for t, word in enumerate(x):
            for place, o in enumerate(WINDOW):
                if word in number and 0 <= t + o < len(x) and x[t + o] in number:
                    pairs[number[word], place * len(number) + number[x[t + o]]] += 1
    rows, columns = np.array(list(pairs)).T
    table = csr_array((np.array(list(pairs.values()), float), (rows, columns)))
    total = table.sum()
    chance = table.sum(axis=1)[rows] * table.sum(axis=0)[columns] / total
    information = np.maximum(np.log(np.array(list(pairs.values())) / chance), 0)
    u, s, _ = svds(csr_array((information, (rows, columns)), shape=table.shape), k=width, random_state=0)
    return dict(zip(number, u * np.sqrt(s), strict=True))


def write(path, vectors):
    lines = (f"{word} {' '.join(f'{value:.6g}' for value in vector)}\n" for word, vector in vectors.items())
    Path(path).write_text("".join(lines), encoding="utf-8")


def beside(X, vectors):
    """Words with their vectors beside them."""
    return [[(w, {"v": vectors[w.lower()]} if w.lower() in vectors else {}) for w in x] for x in X]


def scaled(vectors):
    """{name: the vectors in other lengths}."""
    lengths = {word: float(np.linalg.norm(vector)) for word, vector in vectors.items()}
    mean = statistics.mean(lengths.values())
    out = {f"length {f:g}": {w: f / lengths[w] * v for w, v in vectors.items()} for f in SCALES}
    return {**out, "mean length 1": {w: v / mean for w, v in vectors.items()}}


def worth(draws):
    bench = Bench("citations", None)
    dev = bench.dev.tokens, bench.dev.labels
    rows = {"default": (["default"], None)}
    with tempfile.TemporaryDirectory() as folder:
        for width in (50, 100):
            path, vectors = f"{folder}/v{width}.txt", vectors_of(bench.pool.tokens, width)
            write(path, vectors)
            rows[f"vectors of {width}"] = (["default", f"vectors({path})"], None)
            rows[f"vectors of {width}[-1..1]"] = (["default", f"vectors({path})[-1..1]"], None)
            if width == 50:
                rows |= {f"50, {name}": ("default", other) for name, other in scaled(vectors).items()}
        print("| features | 5 labels, dev | held out | 20 labels, dev | held out |\n|---|---|---|---|---|")
        for name, (features, vectors) in rows.items():
            cells = []
            for n in (5, 20):
                scores = []
                for seed in range(draws):
                    (X, y), (Z, z) = bench.draw(n, seed)
                    parts = [X, dev[0], Z] if vectors is None else [beside(p, vectors) for p in (X, dev[0], Z)]
                    model = SSVM(C="auto", features=features).fit(parts[0], y, dev=(parts[1], dev[1]))
                    scores.append((model.score(parts[1], dev[1]), model.score(parts[2], z)))
                for column in zip(*scores, strict=True):
                    cells.append(f"{100 * statistics.mean(column):.1f} ± {100 * statistics.pstdev(column):.1f}")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def cost(width):
    """{what: number} of one fit, in this process."""
    corpus = read(DATA / "conll2000" / "train.txt")
    X, y = corpus.tokens[:1000], corpus.labels[:1000]
    rng, features = np.random.default_rng(0), ["default", "column(1)[-1..1]"]
    with tempfile.TemporaryDirectory() as folder:
        if width:
            words = dict.fromkeys(word.lower() for x in X for word, _ in x)
            write(f"{folder}/v.txt", {word: rng.normal(size=width) for word in words})
            features.append(f"vectors({folder}/v.txt)")
        SSVM(features=features).fit(X[:3], y[:3])  # compiles
        memory, began = peak_memory(), time.perf_counter()
        model = SSVM(C=0.1, features=features).fit(X, y)
        seconds = time.perf_counter() - began
        held = peak_memory() - memory
        began = time.perf_counter()
        model.predict(X)
        tagging = time.perf_counter() - began
        model.save(f"{folder}/m.model")
        size = Path(f"{folder}/m.model").stat().st_size / 2**20
    return {"seconds": seconds, "MiB": held, "predict": tagging, "file": size, "passes": model.history_[-1]["count"]}


def peak_memory():
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def costs():
    print("| features | fit, s | ratio | passes | MiB more | predict, s | ratio | model, MiB |")
    print("|---|---|---|---|---|---|---|---|")
    base = None
    for name, width in COSTS.items():
        done = subprocess.run([sys.executable, __file__, "one", str(width)], capture_output=True, text=True, check=True)
        row = json.loads(done.stdout)
        base = base or row
        fit, predict = (f"{row[key]:.2f} | {row[key] / base[key]:.1f}" for key in ("seconds", "predict"))
        line = f"| {name} | {fit} | {row['passes']} | {row['MiB']:.0f} | {predict} | {row['file']:.1f} |"
        print(line.replace("| 1.0 |", "| 1 |"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["worth", "cost", "one"])
    parser.add_argument("width", nargs="?", type=int)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(cost(options.width)))
    elif options.what == "cost":
        costs()
    else:
        worth(options.draws)


if __name__ == "__main__":
    main()
