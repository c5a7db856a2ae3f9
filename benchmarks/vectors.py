"""Vectors of words as features: what they are worth, and what they cost.

    python benchmarks/vectors.py worth    citations, 5 and 20 labels, vectors made from the pool
    python benchmarks/vectors.py cost     the first 1,000 sentences of conll2000, vectors of 50 and 300 random numbers

The vectors are made of how often words of the pool stand beside each other: singular vectors of the positive pointwise
mutual information of words and places up to two words away.  C is chosen on the dev part of the citations.  Every
row of the table of costs is a process of its own.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from harness import DATA, alone, dev_of, draw, material, memory, parser, percent, records_of, table
from semistruct import SSVM, read

WINDOW = (-2, -1, 1, 2)
SCALES = (0.5, 2.0, 4.0)
WIDTHS = {f"vectors of {width}{window}": width for width in (50, 100) for window in ("", "[-1..1]")}
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


@cache
def pool_vectors(width):
    return vectors_of(material("citations").pool.tokens, width)


@cache
def scaled():
    """{name: vectors of 50 numbers in other lengths}."""
    vectors = pool_vectors(50)
    lengths = {word: float(np.linalg.norm(vector)) for word, vector in vectors.items()}
    mean = statistics.mean(lengths.values())
    out = {f"50, length {f:g}": {w: f / lengths[w] * v for w, v in vectors.items()} for f in SCALES}
    return {**out, "50, mean length 1": {w: v / mean for w, v in vectors.items()}}


def run(cell):
    (X, y), (Z, z) = draw("citations", cell["size"], cell["seed"])
    dev, features, name = dev_of("citations"), ["default"], cell["features"]
    parts = [X, dev[0], Z]
    with tempfile.TemporaryDirectory() as folder:
        if name in WIDTHS:
            write(f"{folder}/v.txt", pool_vectors(WIDTHS[name]))
            features.append(f"vectors({folder}/v.txt)" + ("[-1..1]" if "-1..1" in name else ""))
        elif name != "default":
            parts = [beside(part, scaled()[name]) for part in parts]
            features = "default"
        model = SSVM(C="auto", features=features, n_jobs=1).fit(parts[0], y, dev=(parts[1], dev[1]))
    return {"cell": cell, "dev": model.score(parts[1], dev[1]), "held out": model.score(parts[2], z)}


def worth(args):
    rows = ["default", *WIDTHS, *(f"50, length {f:g}" for f in SCALES), "50, mean length 1"]
    cells = [{"features": f, "size": n, "seed": s} for s in range(args.draws) for n in (5, 20) for f in rows]
    found = records_of(run, cells, args)

    def row(name):
        for n in (5, 20):
            own = [r for r in found if (r["cell"]["features"], r["cell"]["size"]) == (name, n)]
            yield from (percent([r[part] for r in own]) for part in ("dev", "held out"))

    table(
        ["features", "5 labels, dev", "held out", "20 labels, dev", "held out"], ([name, *row(name)] for name in rows)
    )


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
        held, began = memory(), time.perf_counter()
        model = SSVM(C=0.1, features=features).fit(X, y)
        seconds, held = time.perf_counter() - began, (memory() - held) / 2**20
        began = time.perf_counter()
        model.predict(X)
        tagging = time.perf_counter() - began
        model.save(f"{folder}/m.model")
        size = Path(f"{folder}/m.model").stat().st_size / 2**20
    return {"seconds": seconds, "MiB": held, "predict": tagging, "file": size, "passes": model.history_[-1]["count"]}


def costs():
    found = {name: alone(cost, width) for name, width in COSTS.items()}
    base = found["default"]
    rows = (
        [
            *(name, f"{row['seconds']:.2f}", f"{row['seconds'] / base['seconds']:.1f}", row["passes"]),
            *(f"{row['MiB']:.0f}", f"{row['predict']:.2f}", f"{row['predict'] / base['predict']:.1f}"),
            f"{row['file']:.1f}",
        ]
        for name, row in found.items()
    )
    table(["features", "fit, s", "ratio", "passes", "MiB more", "predict, s", "ratio", "model, MiB"], rows)


def main():
    options = parser(__doc__)
    options.add_argument("what", choices=["worth", "cost"])
    args = options.parse_args()
    costs() if args.what == "cost" else worth(args)


if __name__ == "__main__":
    main()
