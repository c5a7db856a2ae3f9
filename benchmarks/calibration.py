"""How far probabilities are right, and whether promises are kept.

    python benchmarks/calibration.py errors                        all corpora, five draws
    python benchmarks/calibration.py errors --corpus names --sizes 20 --method annealed --draws 2
    python benchmarks/calibration.py promises                      a hundred splits of each corpus
    python benchmarks/calibration.py promises --corpus references --level 0.95 --held-out 300

`errors`: in each draw some sequences of the training part are labelled, a model is learned from them (C is fixed, there
is no dev data), and the calibration error is measured on others of the training part, under the rules, beside what it
would be by chance if the probabilities were perfect and errors independent.

`promises`: in each split a model is learned from some sequences and calibrated on others (--held-out) as dev data, or
with --held-out 0 by cross-fitting; it accepts answers to the rest at a level.  Told is in how many splits more of those
were wrong than promised.  The rest of a real corpus is so small that this happens by chance too, so the mean share of
wrong ones is told beside it; "references" are synthetic, and the rest is large.  Test parts are not used.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from semistruct import CRF, SSVM, AnnealedSSVM, Rules, make_apartments, make_citations, read
from semistruct.calibration.cases import LEVELS, cases
from semistruct.calibration.promises import CONFIDENCE
from semistruct.calibration.reliability import by_chance, calibration_error, reliability
from semistruct.errors import ParameterError
from semistruct.labels import scheme_of

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CORPORA = ("citations", "headers", "names", "adverts")
RULES = {"adverts": "apartments", "references": "citations"}
METHODS = {"ssvm": SSVM, "crf": CRF, "annealed": AnnealedSSVM}
SEED = 100  # of the first draw; priors were set on others


class Draw:
    """A corpus in another order: the first sequences are labelled, others are asked about."""

    def __init__(self, corpus, seed, size=400):
        self.pool = []
        if corpus in ("adverts", "references"):
            made = (make_apartments if corpus == "adverts" else make_citations)(size, seed=1000 + seed)
            self.X, self.y = made.tokens, made.labels
        else:
            train = read(DATA / corpus / "train.tsv")
            order = random.Random(seed).sample(range(len(train)), len(train))
            self.X, self.y = [train.tokens[i] for i in order], [train.labels[i] for i in order]
            self.pool = random.Random(seed).sample(read(DATA / corpus / "unlabeled.txt").tokens, 200)
        self.rules = Rules.from_file(RULES.get(corpus, corpus))

    def part(self, start, end):
        return self.X[start:end], self.y[start:end]


def fitted(draw, n, method, rules, dev=None):
    model = METHODS[method](rules=draw.rules if rules else None)
    further = {"pool": draw.pool or draw.X[-100:]} if method == "annealed" else {}
    return model.fit(*draw.part(0, n), dev=dev, **further)


def measure(model, X, y, rules):
    """{level: (calibration error, by chance)}."""
    found = model.predict(X, rules=rules)
    seen = cases(model.sureness(X, found, rules=rules), found, y, scheme_of(model.classes_))
    return {
        level: (calibration_error(reliability(one.score, one.right)), by_chance(one.score))
        for level, one in seen.items()
    }


def errors(args):
    print("| corpus | labels | tokens | by chance | fields | by chance | sequences | by chance |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus in args.corpus or CORPORA:
        for size in args.sizes:
            found = []
            for seed in range(SEED, SEED + args.draws):
                draw = Draw(corpus, seed)
                n = min(size, len(draw.X) - 30)
                model = fitted(draw, n, args.method, not args.no_rules)
                found.append(measure(model, *draw.part(n, n + 200), not args.no_rules))
            cells = [f"{100 * statistics.mean(one[level][k] for one in found):.1f}" for level in LEVELS for k in (0, 1)]
            print(f"| {corpus} | {n} | {' | '.join(cells)} |", flush=True)


def promises(args):
    print("| corpus | by | level | made | accepted | wrong | more than promised | stated |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus in args.corpus or ("names", "references"):
        found = {by: [] for by in ("sequence", "field")}
        for seed in range(SEED, SEED + args.splits):
            draw = Draw(corpus, seed, args.labels + args.held_out + 500)
            n, m = args.labels, args.labels + args.held_out
            model = fitted(draw, n, args.method, not args.no_rules, draw.part(n, m) if args.held_out else None)
            X, y = draw.part(m, len(draw.X))
            labels = model.predict(X, rules=not args.no_rules)
            scheme = scheme_of(model.classes_)
            scores = model.model_.sureness(X, labels, rules=None if args.no_rules else model.model_.rules)
            known = cases(scores, labels, y, scheme)
            for by, level in (("sequence", "sequence"), ("field", "block")):
                try:
                    made = model.promise(args.level, by=by, rules=not args.no_rules)
                except ParameterError:
                    continue
                sure = known[level].score >= made.score
                found[by].append((sure.mean(), (~known[level].right[sure]).mean() if sure.any() else 0.0))
        for by, rows in found.items():
            kept, wrong = np.array(rows).reshape(-1, 2).T
            broken = f"{np.sum(wrong > 1 - args.level)} of {args.splits}"
            means = [f"{100 * np.mean(one):.1f}%" if len(rows) else "-" for one in (kept, wrong)]
            made = f"{len(rows)} of {args.splits}"
            cells = [corpus, by, f"{args.level:g}", made, *means, broken, f"{1 - CONFIDENCE:.0%}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("errors", "promises"))
    parser.add_argument("--corpus", action="append", choices=(*CORPORA, "references"))
    parser.add_argument("--method", choices=METHODS, default="ssvm")
    parser.add_argument("--no-rules", action="store_true")
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=[5, 20, 100])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--labels", type=int, default=60, help="that models of `promises` learn from")
    parser.add_argument("--held-out", type=int, default=120)
    parser.add_argument("--level", type=float, default=0.9)
    args = parser.parse_args()
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors(args) if args.what == "errors" else promises(args)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
