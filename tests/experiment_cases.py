"""Records of runs that never were, to test tables and pages without learning anything."""

from dataclasses import asdict

from semistruct.app.experiments.corpora import Material
from semistruct.app.experiments.runner import Run, versions
from semistruct.data.corpus import Corpus, Example

LENGTHS = [4, 2, 3, 1]  # of the reported sequences


def outcome(right):
    return {
        "token_accuracy": sum(right) / sum(LENGTHS),
        "sequence_accuracy": 0.5,
        "span_f1": 0.5,
        "macro_f1": 0.5,
        "right": list(right),
    }


def record(method, size, seed, points, *, corpus="citations", synthetic=False, left_out=(), **cell):
    """points: of each point of the path, the right tokens of the sequences plainly and under the rules; the first is
    chosen on dev data, the last without labels."""
    best = {
        decoding: max(range(len(points)), key=lambda i: (sum(points[i][k]), i))
        for k, decoding in enumerate(("plain", "rules"))
    }
    chosen = {d: {"dev": 0, "labels-free": len(points) - 1, "best-test": best[d]} for d in ("plain", "rules")}
    return {
        "cell": asdict(Run(corpus, method, size, seed, **cell)),
        "digest": "d" * 64,
        "data": {
            "labelled": 200 if size == "all" else int(size),
            "dev": 9,
            "unlabelled": 99,
            "reported": len(LENGTHS),
            "reported_on": "the rest of the training part",
            "synthetic": synthetic,
        },
        "rules": {"learning": "citations-codl", "left_out": list(left_out), "predicting": "citations-codl"},
        "features": "paper",
        "params": {},
        "C": 1.0,
        "stop": "finished",
        "axis": "C_u" if len(points) > 1 else None,
        "sequences": [10, 11, 12, 13],
        "tokens": LENGTHS,
        "points": [
            {
                "place": None if i == 0 else float(i),
                "dev_accuracy": 0.5,
                "mistakes": 1.0,
                "plain": sum(plain) / sum(LENGTHS),
                "rules": sum(rules) / sum(LENGTHS),
            }
            for i, (plain, rules) in enumerate(points)
        ],
        "chosen": chosen,
        "outcomes": {
            decoding: {str(i): outcome(points[i][k]) for i in sorted(set(chosen[decoding].values()))}
            for k, decoding in enumerate(("plain", "rules"))
        },
        "history": [{"place": float(i), "objective": 9.0 - i} for i in range(1, len(points))],
        "seconds": {"fit": 2.0 + seed, "plain": 0.1, "rules": 0.2},
        "cpu_seconds": 1.0,
        "warnings": [],
        "versions": versions(),
    }


def some_records(**how):
    """Two methods, two sizes, three draws; annealed is better everywhere, and has a path of two points."""
    weak, strong = ([2, 1, 1, 0], [3, 1, 2, 0]), ([3, 2, 2, 1], [4, 2, 3, 0])
    out = []
    for seed in range(3):
        for size in ("5", "20"):
            out.append(record("ssvm", size, seed, [weak], **how))
            out.append(record("annealed", size, seed, [strong, ([4, 2, 3, 1], [4, 2, 2, 1])], **how))
    return out


def numbered(n, part):
    """A corpus of n sequences that tell where they come from."""
    return Corpus([Example([part, str(i)], ["author", "date"]) for i in range(n)], f"{part}.tsv")


def material(test=None):
    pool = Corpus.of(numbered(8, "pool").tokens)
    return Material("citations", numbered(9, "train"), numbered(4, "dev"), pool, test and numbered(test, "test"))
