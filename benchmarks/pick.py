"""What choosing the sequences to label is worth: accuracy against the number of labels, by simulated labelling.

    python benchmarks/pick.py --records pick.jsonl     all corpora, ten draws: hours
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

"corrections" is how many labels, per sequence, a person had to correct in what was proposed; "tokens" is what
was labelled.
"""

from __future__ import annotations

import random
import statistics

import numpy as np

from harness import CORPORA, material, parser, records_of, rules_of, table
from semistruct import SSVM, AnnealedSSVM
from semistruct.app.picking.choice import Choice, Signals, Worth
from semistruct.app.picking.picker import best
from semistruct.app.picking.traits import Traits

STRATEGIES = ("random", "coverage", "uncertainty", "pick")
FIRST = (2, 3, 4)  # numbers of labels at which strategies with a model learn one before 5
STEPS = (5, 8, 11, 14, 17, 20)
MORE = (10, 40, 60, 80, 100)  # sizes for random besides those of the others
TARGETS = (20, 50, 100)
DOUBT_ONLY = Worth(cover=0.0, rare=0.0, doubt=1.0)


class Draw:
    """A corpus cut into candidates, a pool and sequences to report on."""

    def __init__(self, cell):
        parts, seed, n, report = material(cell["corpus"]), cell["seed"], cell["candidates"], cell["report"]
        order = random.Random(seed).sample(range(len(parts.train)), len(parts.train))
        X, y = [parts.train.tokens[i] for i in order], [parts.train.labels[i] for i in order]
        n = min(n, len(X) - report)
        self.X, self.y, self.report = X[:n], y[:n], (X[n:][:report], y[n:][:report])
        self.pool = random.Random(seed).sample(parts.pool.tokens, min(cell["pool"], len(parts.pool)))
        self.rules, self.supervised = rules_of(cell["corpus"]), cell["supervised"]

    def model(self, chosen):
        """Learned from what is labelled."""
        labelled = [self.X[i] for i in chosen], [self.y[i] for i in chosen]
        if self.supervised:
            return SSVM(rules=self.rules, n_jobs=1).fit(*labelled)
        rest = [x for i, x in enumerate(self.X) if i not in set(chosen)]
        unlabelled = (self.pool + rest)[: max(len(self.pool), 1)]
        return AnnealedSSVM(rules=self.rules, n_jobs=1).fit(*labelled, pool=unlabelled)

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
        free = np.arange(size) < len(self.X)
        free[list(chosen)] = False
        if strategy == "coverage" or model is None:
            return [one.number for one in best(Choice(traits, free), n)]
        signals = Signals.of(model, everything, np.arange(len(self.X)), None)
        seen = signals.seen([self.y[i] for i in chosen], np.arange(0), None)
        worth = DOUBT_ONLY if strategy == "uncertainty" else Worth()
        choice = Choice(traits, free, signals, seen, worth, signals.wrong)
        return [one.number for one in best(choice, n)]


def run(cell):
    """{number of labels: {accuracy, tokens labelled, corrections}}."""
    draw, strategy, steps = Draw(cell), cell["strategy"], cell["steps"]
    chosen, model, out = [], None, {}
    sizes = sorted({*FIRST, *steps}) if strategy in ("uncertainty", "pick") else steps
    for size in (n for n in sizes if n <= len(draw.X)):
        new = draw.choose(strategy, chosen, size - len(chosen), model)
        corrected = None if model is None else draw.corrections(model, new)
        chosen += new
        model = draw.model(chosen)
        if size in steps:
            tokens = sum(len(draw.X[i]) for i in chosen)
            out[str(size)] = {"accuracy": draw.accuracy(model), "tokens": tokens, "corrections": corrected}
    return {"cell": cell, "sizes": out}


def shown(runs, n, key="accuracy", scale=100):
    values = [scale * run[n][key] for run in runs if n in run and run[n][key] is not None]
    return f"{statistics.mean(values):.1f} ± {statistics.pstdev(values):.1f}" if values else "-"


def tell(corpus, results):
    """The tables of a corpus; results: {strategy: [{size: row} of each draw]}."""
    sizes = sorted({n for runs in results.values() for run in runs for n in run})
    titles = {"token accuracy": (), "corrections per sequence": ("corrections", 1), "tokens": ("tokens", 1)}
    for title, how in titles.items():
        rows = ([strategy, *(shown(runs, n, *how) for n in sizes)] for strategy, runs in results.items())
        table(["labelled", *sizes], rows, f"{corpus}: {title}")
    if "random" not in results:
        return
    means = {
        strategy: {n: statistics.mean(run[n]["accuracy"] for run in runs) for n in sorted(runs[0])}
        for strategy, runs in results.items()
    }
    reached = means["random"]
    at = {t: float(np.interp(t, list(reached), list(reached.values()))) for t in TARGETS if t <= max(reached)}

    def needed(strategy):
        for target in at.values():
            yield next((n for n, mean in means[strategy].items() if mean >= target), f"> {max(means[strategy])}")

    table(["as good as random with", *at], ([strategy, *needed(strategy)] for strategy in results), f"{corpus}: labels")


def main():
    options = parser(__doc__, draws=10)
    options.add_argument("--strategy", choices=STRATEGIES, action="append")
    options.add_argument("--candidates", type=int, default=200)
    options.add_argument("--report", type=int, default=100, help="sequences to report on; at most 35 of the headers")
    options.add_argument("--pool", type=int, default=300, help="unlabelled sequences to learn from")
    options.add_argument("--supervised", action="store_true", help="learn without the pool: much faster, less accurate")
    args = options.parse_args()
    steps = tuple(args.sizes or STEPS)
    common = {"candidates": args.candidates, "pool": args.pool, "supervised": args.supervised}
    cells = [
        {
            "corpus": corpus, "strategy": strategy, "seed": seed, **common,
            "report": min(args.report, 35) if corpus == "headers" else args.report,
            "steps": sorted({*steps, *(() if args.sizes else MORE)}) if strategy == "random" else list(steps),
        }
        for corpus in args.corpus or CORPORA
        for seed in range(args.draws)
        for strategy in args.strategy or STRATEGIES
    ]  # fmt: skip
    results = {}
    for record in records_of(run, cells, args):
        runs = results.setdefault(record["cell"]["corpus"], {}).setdefault(record["cell"]["strategy"], [])
        runs.append({int(n): row for n, row in record["sizes"].items()})
    for corpus, found in results.items():
        tell(corpus, found)


if __name__ == "__main__":
    main()
