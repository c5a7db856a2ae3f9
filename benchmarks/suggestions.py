"""What rules from the labels are worth: the annealed method with them, without rules, and with written ones.

    python benchmarks/suggestions.py                   four corpora, 5 and 20 labels, five draws
    python benchmarks/suggestions.py --no-dev          the same without dev data
    python benchmarks/suggestions.py --first 100       other draws, for choosing thresholds

n labelled sequences are drawn from the training part, the pool has 300.  `none` is without rules, `own` the default
where none are given, `suggested` all that `suggest` calls certain, and `written` the rules that come with semistruct.
C, the point of the path and the weight of rules in prediction are chosen on the dev part, and the rest of the training
part is reported on: token accuracy, obeying the rules; for `own, plain` not obeying them in prediction.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from pathlib import Path

from accuracy import SIZES, Bench, Report
from semistruct import AnnealedSSVM, Rules, suggest

COLUMNS = ("none", "own, plain", "own", "suggested", "written")


def accuracy(bench, learn, report, rules, pool):
    """Token accuracy, plain and under the rules, if there are some."""
    model = AnnealedSSVM(C="auto", rules=rules)
    model.fit(*learn, pool=pool, dev=bench.dev)
    return model.score(*report, rules=False), model.score(*report)


def run(bench, n, seed, size):
    """{column: token accuracy}."""
    (learn, report), pool = bench.draw(n, seed), bench.pool.tokens[:size]
    lists = {"none": Rules([]), "own": None, "suggested": suggest(*learn, pool=pool).rules, "written": bench.rules}
    found = {name: accuracy(bench, learn, report, rules, pool) for name, rules in lists.items()}
    return {"own, plain": found["own"][0], **{name: ruled for name, (_, ruled) in found.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=list(SIZES), action="append")
    parser.add_argument("--sizes", type=int, nargs="+", default=(5, 20))
    parser.add_argument("--no-dev", action="store_true")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--pool", type=int, default=300)
    parser.add_argument("--output", "-o", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report(args.output)
    report(f"\n`{' '.join(['python', *sys.argv])}`\n")
    report(f"| corpus, labelled | {' | '.join(COLUMNS)} |")
    report("|---" * (1 + len(COLUMNS)) + "|")
    for corpus in args.corpus or SIZES:
        bench = Bench(corpus, None, not args.no_dev)
        for n in args.sizes:
            runs = [run(bench, n, args.first + k, args.pool) for k in range(args.draws)]
            values = ([100 * one[column] for one in runs] for column in COLUMNS)
            cells = (f"{statistics.mean(each):.1f} ± {statistics.pstdev(each):.1f}" for each in values)
            report(f"| {corpus}, {n} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
