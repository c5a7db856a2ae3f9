"""What suggested rules are worth: accuracy of the annealed method with them, without rules, and with written ones.

    python benchmarks/suggestions.py                   three corpora, 5 and 20 labels, three draws
    python benchmarks/suggestions.py --first 100       other draws, for choosing thresholds

n labelled sequences are drawn from the training part.  Rules are suggested from these and a pool of 300 without labels,
by a model trained on the n sequences.  C, the point of the path and the weight of rules in prediction are chosen on the
dev part, and the rest of the training part is reported on, obeying the rules.  `rules` is the number of rules suggested
as certain, `true` the mean share of their cases that obey on the sequences reported on.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import warnings
from pathlib import Path

from accuracy import DATA, Report
from semistruct import AnnealedSSVM, Rules, read, suggest
from semistruct.rules.checking import check_rules
from semistruct.rules.files import shipped

CORPORA, SIZES = ("names", "citations", "headers"), (5, 20)
COLUMNS = ("none", "suggested", "written")


class Draw:
    """n labelled sequences of a corpus, the pool, and the sequences to report on."""

    def __init__(self, corpus, n, seed, pool):
        train, dev, free = (read(DATA / corpus / f) for f in ("train.tsv", "dev.tsv", "unlabeled.txt"))
        order = list(range(len(train)))
        random.Random(seed).shuffle(order)
        self.learn, self.report = (
            ([train.tokens[i] for i in part], [train.labels[i] for i in part]) for part in (order[:n], order[n:])
        )
        self.dev, self.pool = (dev.tokens, dev.labels), free.tokens[:pool]

    def accuracy(self, rules):
        model = AnnealedSSVM(C="auto", rules=rules)
        model.fit(*self.learn, pool=self.pool, dev=self.dev)
        return model.score(*self.report, rules=rules is not None and len(rules) > 0)

    def suggested(self):
        return suggest(*self.learn, pool=self.pool).rules

    def truth(self, rules):
        """The share of the cases of rules that obey, on the sequences reported on."""
        found = check_rules(rules, *self.report, n_examples=0).rules
        shares = [rule.share for rule in found if rule.share is not None]
        return statistics.mean(shares) if shares else 1.0


def run(draw, written, columns):
    suggested = draw.suggested()
    lists = {"none": None, "suggested": suggested, "written": written}
    skipped = {key for key in lists if key not in columns or (key == "written" and written is None)}
    out = {key: None if key in skipped else draw.accuracy(rules) for key, rules in lists.items()}
    return {**out, "rules": len(suggested), "true": draw.truth(suggested)}


def cell(key, values):
    if None in values:
        return "-"
    if key == "rules":
        return f"{statistics.mean(values):.1f}"
    return f"{100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--pool", type=int, default=300)
    parser.add_argument("--columns", nargs="+", default=COLUMNS, help="what to measure")
    parser.add_argument("--output", "-o", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report(args.output)
    report(f"\n`{' '.join(['python', *sys.argv])}`\n")
    columns = (*COLUMNS, "rules", "true")
    report("| corpus, labelled | no rules | suggested | written | rules | true |")
    report("|---" * 6 + "|")
    for corpus in args.corpus or CORPORA:
        written = Rules.from_file(corpus) if corpus in shipped() else None
        for n in args.sizes:
            runs = [run(Draw(corpus, n, args.first + k, args.pool), written, args.columns) for k in range(args.draws)]
            report(f"| {corpus}, {n} | " + " | ".join(cell(key, [r[key] for r in runs]) for key in columns) + " |")


if __name__ == "__main__":
    main()
