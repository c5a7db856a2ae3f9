"""What choosing the sequences to label is worth: accuracy against the number of labels, by simulated labelling.

    python benchmarks/pick.py                        all corpora, ten draws: hours
    python benchmarks/pick.py --corpus names --draws 3 --candidates 150 --pool 60

In each draw the training part is cut into candidates, whose labels are known to the simulation only, and sequences to
report on.  A strategy chooses from the candidates, a model is learned from what is labelled, rules and a pool (other
unlabelled sequences, and candidates), C is fixed and there is no dev data; the model is reported on, under the rules,
and proposes the labels of the next sequences.  Strategies:

    random       in the order of the draw
    coverage     `pick` without a model
    uncertainty  the largest sum of doubt over the root of the length
    pick         `pick` with the model

The last two take the first two sequences by coverage, and the next ones, up to 5, one by one.

"corrections" is how many labels, per sequence, a person had to correct in what was proposed.  Test parts are not used.
Finished runs are kept in the file of --records, one line each, and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from semistruct import SSVM, AnnealedSSVM, Rules, make_apartments, read
from semistruct.picking.choice import Choice, Worth
from semistruct.picking.door import best
from semistruct.picking.signals import Signals
from semistruct.picking.traits import Traits

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CORPORA = ("citations", "headers", "names", "adverts")
STRATEGIES = ("random", "coverage", "uncertainty", "pick")
FIRST = (2, 3, 4)  # numbers of labels at which strategies with a model learn one before 5
STEPS = (5, 8, 11, 14, 17, 20)
MORE = (10, 40, 60, 80, 100)  # sizes for random besides 5 and 20
TARGETS = (20, 50, 100)
DOUBT_ONLY = Worth(cover=0.0, rare=0.0, doubt=1.0)


class Draw:
    """A corpus cut into candidates, a pool and sequences to report on."""

    def __init__(self, corpus, seed, candidates, report, pool):
        if corpus == "adverts":
            made = make_apartments(candidates + report + pool, seed=1000 + seed)
            X, y, others = made.tokens[: candidates + report], made.labels, made.tokens[candidates + report :]
        else:
            cut = {"tokens": "whitespace"} if corpus == "names" else {}
            train, others = read(DATA / corpus / "train.tsv"), read(DATA / corpus / "unlabeled.txt", **cut).tokens
            order = random.Random(seed).sample(range(len(train)), len(train))
            X, y = [train.tokens[i] for i in order], [train.labels[i] for i in order]
        candidates = min(candidates, len(X) - report)
        self.X, self.y = X[:candidates], y[:candidates]
        self.report = X[candidates:][:report], y[candidates : candidates + report]
        self.pool = random.Random(seed).sample(others, min(pool, len(others)))
        self.rules = Rules.from_file({"adverts": "apartments"}.get(corpus, corpus))

    def model(self, chosen, fit):
        """Learned from what is labelled."""
        rest = [x for i, x in enumerate(self.X) if i not in set(chosen)]
        unlabelled = (self.pool + rest)[: fit["pool"]]
        settings = {"schedule": [1.0, 10.0], "rounds": 2} if fit["quick"] else {}
        labelled = [self.X[i] for i in chosen], [self.y[i] for i in chosen]
        if fit["supervised"]:
            return SSVM(rules=self.rules, n_jobs=1).fit(*labelled)
        return AnnealedSSVM(rules=self.rules, n_jobs=1, **settings).fit(*labelled, pool=unlabelled)

    def accuracy(self, model):
        return model.score(*self.report, rules=True)

    def corrections(self, model, chosen):
        """Labels per sequence that differ from what the model proposes."""
        proposed = model.predict([self.X[i] for i in chosen], rules=True)
        wrong = [
            sum(a != b for a, b in zip(row, self.y[i], strict=True)) for row, i in zip(proposed, chosen, strict=True)
        ]
        return statistics.mean(wrong)

    def choose(self, strategy, chosen, n, model):
        """The next n candidates."""
        if strategy == "random":
            return [i for i in range(len(self.X)) if i not in set(chosen)][:n]
        everything = [*self.X, *self.pool]
        labelled, size = [self.X[i] for i in chosen], len(everything)
        traits = Traits.of(everything, np.ones(size), labelled, self.rules)
        free, lengths = np.arange(size) < len(self.X), np.array([len(x) for x in everything], float)
        free[list(chosen)] = False
        if strategy == "coverage" or model is None:
            return [one.number for one in best(Choice(traits, lengths, free, None, np.zeros(0)), n)]
        signals = Signals.of(model, everything, np.arange(len(self.X)), None)
        seen = signals.seen([self.y[i] for i in chosen], np.arange(0), None)
        worth = DOUBT_ONLY if strategy == "uncertainty" else Worth()
        choice = Choice(traits, lengths, free, signals, seen, worth=worth, doubtful=signals.wrong)
        return [one.number for one in best(choice, n)]


def simulate(draw, strategy, fit, steps):
    """{number of labels: {accuracy, tokens labelled, corrections}}."""
    chosen, model, out = [], None, {}
    sizes = sorted({*FIRST, *steps}) if strategy in ("uncertainty", "pick") else steps
    for size in (n for n in sizes if n <= len(draw.X)):
        new = draw.choose(strategy, chosen, size - len(chosen), model)
        corrected = None if model is None else draw.corrections(model, new)
        chosen += new
        model = draw.model(chosen, fit)
        if size in steps:
            tokens = sum(len(draw.X[i]) for i in chosen)
            out[size] = {"accuracy": draw.accuracy(model), "tokens": tokens, "corrections": corrected}
    return out


class Records:
    """Finished runs, in a file of JSON lines."""

    def __init__(self, path):
        self.path, self.runs = path, {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, found = json.loads(line)
                self.runs[key] = {int(n): row for n, row in found.items()}

    def __call__(self, key, run):
        if key not in self.runs:
            self.runs[key] = run()
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    print(json.dumps([key, self.runs[key]]), file=file, flush=True)
        return self.runs[key]


def cell(runs, n, key="accuracy", scale=100):
    values = [scale * run[n][key] for run in runs if n in run and run[n][key] is not None]
    return f"{statistics.mean(values):.1f} ± {statistics.pstdev(values):.1f}" if values else "-"


def mean(runs, n):
    return statistics.mean(run[n]["accuracy"] for run in runs)


def needed(runs, target):
    """The smallest number of labels at which the mean accuracy reaches the target."""
    sizes = sorted(set.intersection(*(set(run) for run in runs)))
    return next((str(n) for n in sizes if mean(runs, n) >= target), f"more than {sizes[-1]}")


def tell(corpus, results):
    """The tables of a corpus."""
    sizes = sorted({n for runs in results.values() for run in runs for n in run})
    print(f"\n### {corpus}, {len(next(iter(results.values())))} draws: token accuracy under the rules\n")
    print("| labelled | " + " | ".join(map(str, sizes)) + " |\n" + "|---" * (len(sizes) + 1) + "|")
    for strategy, runs in results.items():
        print(f"| {strategy} | " + " | ".join(cell(runs, n) for n in sizes) + " |")
    print("\n| corrections per sequence | " + " | ".join(map(str, sizes)) + " |\n" + "|---" * (len(sizes) + 1) + "|")
    for strategy, runs in results.items():
        print(f"| {strategy} | " + " | ".join(cell(runs, n, "corrections", 1) for n in sizes) + " |")
    if "random" not in results:
        return
    print("\n| labels needed for what random reaches at | " + " | ".join(map(str, TARGETS)) + " |")
    print("|---" * (len(TARGETS) + 1) + "|")
    reached = sorted(set.intersection(*(set(run) for run in results["random"])))
    at = {t: float(np.interp(t, reached, [mean(results["random"], n) for n in reached])) for t in TARGETS}
    for strategy, runs in results.items():
        cells = [needed(runs, at[t]) if t <= reached[-1] else "-" for t in TARGETS]
        print(f"| {strategy} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--strategy", choices=STRATEGIES, action="append")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--report", type=int, default=100, help="sequences to report on; at most 35 of the headers")
    parser.add_argument("--pool", type=int, default=300, help="unlabelled sequences to learn from")
    parser.add_argument("--steps", default=",".join(map(str, STEPS)), help="numbers of labels")
    parser.add_argument("--random-steps", help="numbers of labels for random; default: more of them")
    parser.add_argument("--quick", action="store_true", help="a short schedule, as `pick` learns itself")
    parser.add_argument("--supervised", action="store_true", help="learn without the pool: much faster, less accurate")
    parser.add_argument("--records", type=Path, help="file in which finished runs are kept")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    fit = {"pool": args.pool, "quick": args.quick, "supervised": args.supervised}
    steps = tuple(map(int, args.steps.split(",")))
    many = tuple(map(int, args.random_steps.split(","))) if args.random_steps else tuple(sorted({*steps, *MORE}))
    records, began = Records(args.records), time.perf_counter()
    for corpus in args.corpus or CORPORA:
        report = min(args.report, 35) if corpus == "headers" else args.report
        results = {}
        for strategy in args.strategy or STRATEGIES:
            results[strategy] = []
            for seed in range(args.draws):
                sizes = many if strategy == "random" else steps
                key = json.dumps([corpus, strategy, seed, args.candidates, report, fit, sizes])

                def run(corpus=corpus, strategy=strategy, seed=seed, report=report, sizes=sizes):
                    return simulate(Draw(corpus, seed, args.candidates, report, args.pool), strategy, fit, sizes)

                results[strategy].append(records(key, run))
        tell(corpus, results)
    print(f"\n{time.perf_counter() - began:.0f} seconds")


if __name__ == "__main__":
    main()
