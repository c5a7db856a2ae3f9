"""Supervised training and tagging beside CRFsuite, on the same feature strings, in one run.

    python3 dev.py bench                    both corpora, a few minutes
    python3 dev.py bench --corpus citations
    python3 dev.py bench --by-C             citations with C = 0.1, 1, 10 and 100, against L-BFGS with its best c2

Every training runs in a process of its own, one after the other; the peak memory is that of the
process less what it held before training.  `cpu` are seconds of processor time, which other work on the machine hardly
changes; ratios and tokens per second are of these.  semistruct has three rows: `SSVM.fit`; that and `calibrate`, which
learns five further models, by which confidences are calibrated; and `CRF.fit`.  C and c2 are chosen on the dev part,
scores are of the test part:

    citations   300 training references: 200 to learn from, 100 to report on, five draws; dev: the 100 dev references
    conll2000   the last 1,000 training sentences are dev; test: test.txt.  Window features over words and tags
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from functools import partial
from itertools import chain, pairwise

from harness import DATA, alone, memory

GRIDS = {
    "semistruct": [0.1, 0.3, 1.0],
    "and calibrate": [0.1, 0.3, 1.0],
    "CRF": [1.0, 10.0],
    "crfsuite-lbfgs": [0.1, 1.0],
    "crfsuite-ap": [0.0],
}
SCORES = {"citations": "token_accuracy", "conll2000": "span_f1"}
RUNS = 5  # of tagging, the fastest of which counts
TOL = 0.1  # the relative gap at which semistruct stops
BY_C = [0.1, 1.0, 10.0, 100.0]
DRAWS = {"citations": 5, "conll2000": 1}


def window_features(tokens):
    """Words and tags in a window of two, with their pairs and triples: the usual chunking features."""
    words = ["<2", "<1", *(w for w, _ in tokens), ">1", ">2"]
    tags = ["<2", "<1", *(p for _, p in tokens), ">1", ">2"]
    out = []
    for t in range(2, len(words) - 2):
        names = ["bias"]
        names += [f"w{o}={words[t + o]}" for o in range(-2, 3)]
        names += [f"w{o}:{o + 1}={words[t + o]} {words[t + o + 1]}" for o in (-1, 0)]
        names += [f"p{o}={tags[t + o]}" for o in range(-2, 3)]
        names += [f"p{o}:{o + 1}={tags[t + o]} {tags[t + o + 1]}" for o in range(-2, 2)]
        names += [f"p{o}::{o + 2}={tags[t + o]} {tags[t + o + 1]} {tags[t + o + 2]}" for o in range(-2, 1)]
        out.append(names)
    return out


def load(corpus, draw=0):
    """{part: (feature strings, labels)} for train, dev and test."""
    from semistruct import read
    from semistruct.features import Encoder

    if corpus == "conll2000":
        train, test = read(DATA / corpus / "train.txt"), read(DATA / corpus / "test.txt")
        X, Z = [window_features(x) for x in train.tokens], [window_features(x) for x in test.tokens]
        y = train.labels
        return {"train": (X[:-1000], y[:-1000]), "dev": (X[-1000:], y[-1000:]), "test": (Z, test.labels)}
    train, dev = read(DATA / corpus / "train.tsv"), read(DATA / corpus / "dev.tsv")
    encoder = Encoder.for_data(train.tokens, "default")

    def strings(tokens):
        batch = encoder.fit(tokens)
        names = encoder.feature_names()
        rows = [[names[j] for j in batch.indices[a:b]] for a, b in pairwise(batch.indptr)]
        return [rows[a:b] for a, b in pairwise(batch.offsets)]

    X, order = strings(train.tokens), random.Random(draw).sample(range(300), 300)
    X, y = [X[i] for i in order], [train.labels[i] for i in order]
    return {"train": (X[:200], y[:200]), "dev": (strings(dev.tokens), dev.labels), "test": (X[200:], y[200:])}


def train_semistruct(X, y, system, C):
    from semistruct import CRF, SSVM

    SSVM().fit(X[:2], y[:2])  # imports
    before, model = memory(), CRF(C=C) if system == "CRF" else SSVM(C=C, tol=TOL)
    with Stopwatch() as watch:
        model.fit(X, y)
        if system == "and calibrate":
            model.calibrate()
    last = model.history_[-1]
    extra = {} if system == "CRF" else {"relative_gap": last["gap"] / last["objective"]}
    return model.predict, watch, memory() - before, extra


def train_crfsuite(X, y, algorithm, c2):
    import pycrfsuite

    before = memory()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model"
        with Stopwatch() as watch:
            trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
            if algorithm == "lbfgs":
                trainer.set("c2", c2)
            for features, labels in zip(X, y, strict=True):
                trainer.append(features, labels)
            trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
    return (lambda Z: [tagger.tag(x) for x in Z]), watch, memory() - before, {}


class Stopwatch:
    """Seconds by the clock, and of processor time."""

    def __enter__(self):
        self.began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds, self.cpu = time.perf_counter() - self.began[0], time.process_time() - self.began[1]


def busy(predict, X):
    """Seconds of processor time, of all threads, to tag X."""
    began = time.process_time()
    predict(X)
    return time.process_time() - began


def work(corpus, draw, system, value):
    """The record of one training, in this process."""
    from semistruct import evaluate

    parts = load(corpus, draw)
    if system.startswith("crfsuite-"):
        predict, watch, held, extra = train_crfsuite(*parts["train"], system.removeprefix("crfsuite-"), value)
    else:
        predict, watch, held, extra = train_semistruct(*parts["train"], system, value)
    record = {
        "system": system,
        "value": value,
        "seconds": watch.seconds,
        "cpu": watch.cpu,
        "memory": held / 2**20,
        **extra,
    }
    for part in ("dev", "test"):
        X, y = parts[part]
        record[part] = evaluate(y, predict(X))[SCORES[corpus]]
    record["tagging"] = sum(map(len, X)) / min(busy(predict, X) for _ in range(RUNS))
    return record


run = partial(alone, work)


def best_runs(corpus, system):
    """For each draw the run whose parameter was best on dev."""
    tried = [[run(corpus, draw, system, value) for value in GRIDS[system]] for draw in range(DRAWS[corpus])]
    return [max(runs, key=lambda one: one["dev"]) for runs in tried]


def compare_by_C(corpus, draws):
    """A row for each C, and L-BFGS with the c2 that is best on dev."""
    print(f"\n{corpus}: {SCORES[corpus]}, mean of {draws} draws")
    print(f"{'system':16}" + "".join(f"{title:>10}" for title in ("C / c2", "dev", "test", "seconds", "cpu", "ratio")))
    peer = [[run(corpus, draw, "crfsuite-lbfgs", c2) for draw in range(draws)] for c2 in GRIDS["crfsuite-lbfgs"]]
    best = max(peer, key=lambda runs: sum(one["dev"] for one in runs))
    own = [(C, system) for C in BY_C for system in ("semistruct", "and calibrate")]
    for runs in chain([best], ([run(corpus, draw, system, C) for draw in range(draws)] for C, system in own)):
        dev, test, seconds, cpu = (statistics.mean(one[k] for one in runs) for k in ("dev", "test", "seconds", "cpu"))
        ratio = cpu / statistics.mean(one["cpu"] for one in best)
        cells = [f"{runs[0]['value']:g}", f"{dev:.2%}", f"{test:.2%}", f"{seconds:.2f}", f"{cpu:.2f}", f"{ratio:.2f}"]
        print(f"{runs[0]['system']:16}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


def compare(corpus):
    print(f"\n{corpus}: {SCORES[corpus]}, C or c2 chosen on dev, scores on test, mean of {DRAWS[corpus]} draws")
    columns = ("C / c2", "dev", "test", "spread", "seconds", "cpu", "ratio", "MiB", "tokens/s", "ratio")
    print(f"{'system':16}" + "".join(f"{title:>10}" for title in columns))
    results = {system: best_runs(corpus, system) for system in GRIDS}

    def mean(system, key):
        return statistics.mean(run[key] for run in results[system])

    for system, runs in results.items():
        values = "/".join(dict.fromkeys(f"{run['value']:g}" for run in runs))
        spread = statistics.pstdev(run["test"] for run in runs)
        cpu, tagging = mean(system, "cpu"), mean(system, "tagging")
        cells = [values, f"{mean(system, 'dev'):.2%}", f"{mean(system, 'test'):.2%}", f"{spread:.2%}"]
        cells += [
            f"{mean(system, 'seconds'):.2f}",
            f"{cpu:.2f}",
            f"{cpu / mean('crfsuite-lbfgs', 'cpu'):.2f}",
            f"{mean(system, 'memory'):.0f}",
        ]
        cells += [f"{tagging:.0f}", f"{tagging / mean('crfsuite-lbfgs', 'tagging'):.2f}"]
        print(f"{system:16}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    gaps = [run["relative_gap"] for run in results["semistruct"]]
    print(f"semistruct stopped at a certified relative gap of {max(gaps):.2%} or less")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=list(SCORES), action="append")
    parser.add_argument("--by-C", action="store_true", help="citations with several C")
    parser.add_argument("--draws", type=int, default=5, help="for --by-C")
    args = parser.parse_args()
    if args.by_C and args.corpus:
        parser.error("--by-C is about citations")
    for corpus in ["citations"] if args.by_C else args.corpus or SCORES:
        if not (DATA / corpus).is_dir():
            sys.exit(f"no corpus at {DATA / corpus}; set SEMISTRUCT_DATA")
        if args.by_C:
            compare_by_C(corpus, args.draws)
        else:
            compare(corpus)


if __name__ == "__main__":
    main()
