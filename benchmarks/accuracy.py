"""What unlabelled data and rules are worth: token accuracy, five draws, in one table.

    python benchmarks/accuracy.py                      four corpora, the main table
    python benchmarks/accuracy.py --no-dev             the same, where nothing is chosen on dev data
    python benchmarks/accuracy.py --table paper        the paper's features and settings
    python benchmarks/accuracy.py --table ablation     what each part contributes
    python benchmarks/accuracy.py --table ranker       the same models with and without their ranker
    python benchmarks/accuracy.py --table C --no-dev   methods without a ranker, by C

n labelled sequences are drawn from the training part, parameters (C, the point of the path, the weight of rules in
prediction) are chosen on the dev part, and the rest of the training part is reported on; "all" learns from 200 of 300
citations (or 70 of 100 headers).  Adverts are synthetic.
Tables go to standard output and, with -o, to a file.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from semistruct import CRF, SSVM, AnnealedSSVM, PosteriorRegularization, Rules, metrics, read
from semistruct.datasets import make_apartments
from semistruct.fitting.points import fewest_mistakes

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SIZES = {"citations": (5, 20, 200), "headers": (5, 20, 70), "names": (5, 20, 200), "adverts": (5, 20, 200)}
POOLED_C = {AnnealedSSVM: (0.03, 0.1, 0.3, 1.0), PosteriorRegularization: (1.0, 3.0, 10.0)}
ADVERTS = 300, 100, 300  # to learn from, of dev data, in the pool


class Bench:
    """One corpus and its draws."""

    def __init__(self, corpus, rules, use_dev):
        if corpus == "adverts":
            parts = [make_apartments(n, seed=seed) for seed, n in enumerate(ADVERTS)]
        else:
            parts = [read(DATA / corpus / file) for file in ("train.tsv", "dev.tsv", "unlabeled.txt")]
        self.train, dev, self.pool = parts
        self.dev = (dev.tokens, dev.labels) if use_dev else None
        self.rules = Rules.from_file(rules or {"adverts": "apartments"}.get(corpus, corpus))

    def draw(self, n, seed):
        """((X, y) to learn from, (X, y) to report on)."""
        order = list(range(len(self.train)))
        random.Random(seed).shuffle(order)
        return tuple(
            ([self.train.tokens[i] for i in part], [self.train.labels[i] for i in part])
            for part in (order[:n], order[n:])
        )

    def supervised(self, n, seed, **params):
        """{name: accuracy} of the supervised model, plain and under the rules."""
        learn, report = self.draw(n, seed)
        params = {"C": "auto", "rules": self.rules, **params}
        return scores(SSVM(**params).fit(*learn, dev=self.dev), report)

    def annealed(self, n, seed, rules=None, pool=None, **params):
        """The same for the annealed model, and what other choices of the point of its path would have given."""
        learn, report = self.draw(n, seed)
        params = {"C": "auto", "rules": rules or self.rules, **params}
        began = time.perf_counter()
        model = AnnealedSSVM(**params)
        model.keep_models = True
        model.fit(*learn, pool=self.pool.tokens[:pool], dev=self.dev)
        out = {**scores(model, report), "seconds": time.perf_counter() - began}
        chosen, along = model.model_, []
        for point in model.models_:
            model.model_ = point
            along.append(model.score(*report, rules=True))
        model.model_ = chosen
        free = fewest_mistakes([point["mistakes"] for point in model.path_])
        return {**out, "labels-free": along[free], "last": along[-1], "hindsight": max(along)}

    def ranked(self, method, n, seed):
        """Under the rules, without a ranker, and what the ranker adds; 1 if there is one."""
        learn, report = self.draw(n, seed)
        model = method(C="auto", rules=self.rules)
        pool = {"pool": self.pool.tokens} if method is AnnealedSSVM else {}
        model.fit(*learn, dev=self.dev, **pool)
        whole, model.model_ = model.model_, replace(model.model_, ranker=None)
        bare = scores(model, report)
        model.model_ = whole
        full = scores(model, report)
        gain = {f"{key} gain": full[key] - bare[key] for key in ("rules", "whole")}
        return {"rules": bare["rules"], "whole": bare["whole"], **gain, "kept": float(whole.ranker is not None)}

    def by_C(self, method, C, n, seed):
        """The accuracy of a method with this C, without a ranker."""
        learn, report = self.draw(n, seed)
        model = method(C=C, rules=self.rules)
        model.ranks = False
        pool = {"pool": self.pool.tokens} if method in POOLED_C else {}
        return scores(model.fit(*learn, dev=self.dev, **pool), report)


def scores(model, report):
    """Token accuracy, plain and under the rules, and the share of sequences all of whose labels are right."""
    X, y = report
    found = model.predict(X, rules=True)
    under = {"rules": metrics.token_accuracy(y, found), "whole": metrics.evaluate(y, found)["sequence_accuracy"]}
    return {"plain": model.score(X, y, rules=False), **under}


def summary(runs):
    """`mean ± spread` of each column over the draws."""
    columns = {}
    for key in runs[0]:
        values = [run[key] for run in runs]
        if key == "seconds":
            columns[key] = f"{statistics.mean(values):.1f}"
        else:
            columns[key] = f"{100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}"
    return columns


class Report:
    """Writes lines to standard output and to a file as they come."""

    def __init__(self, path):
        self.file = None if path is None else path.open("a", encoding="utf-8")

    def __call__(self, line=""):
        print(line, flush=True)
        if self.file:
            print(line, file=self.file, flush=True)

    def table(self, title, rows, run):
        """One line per row (name, arguments of run) as soon as it is there."""
        self(f"\n### {title}\n")
        header = None
        for name, *arguments in rows:
            columns = summary(run(*arguments))
            if header != list(columns):
                header = list(columns)
                self("| | " + " | ".join(header) + " |")
                self("|---" * (len(header) + 1) + "|")
            self(f"| {name} | " + " | ".join(columns.values()) + " |")


def main_table(bench, corpus, draws, report, sizes=None):
    for n in sizes or SIZES[corpus]:
        name = "all" if n == SIZES[corpus][-1] else str(n)
        report.table(
            f"{corpus}, {name} labelled ({n}), {len(bench.pool)} unlabelled",
            [("supervised", "supervised"), ("annealed", "annealed")],
            lambda method, n=n: [getattr(bench, method)(n, seed) for seed in range(draws)],
        )


def paper_table(bench, corpus, draws, report):
    settings = {"features": "paper", "match_by": "slack", "rules": Rules.from_file(f"{corpus}-codl")}
    rows = [
        ("its schedule, single labels", {**settings, "schedule": "printed", "moves": "tokens", "rounds": 10}),
        ("its schedule, spans", {**settings, "schedule": "printed", "rounds": 10}),
        ("our schedule, spans", settings),
    ]
    for n in SIZES[corpus]:
        report.table(
            f"{corpus}, paper features, CODL's rules, {n} labelled",
            rows,
            lambda params, n=n: [bench.annealed(n, seed, **params) for seed in range(draws)],
        )


def ablation_table(bench, corpus, draws, report):
    n = 20
    rows = [
        ("default", {}),
        ("one model", {"match_by": "score"}),
        ("one model, single-label switching", {"match_by": "score", "moves": "tokens"}),
        ("one model, matched by slack", {"match_by": "slack"}),
        ("schedule of the paper", {"schedule": "printed"}),
        ("schedule 1, 3, 10, 30, 100", {"schedule": [1.0, 3.0, 10.0, 30.0, 100.0]}),
        ("one model, one round per temperature", {"rounds": 1}),
        *[(f"{u} unlabelled", {"pool": u}) for u in (100, 300)],
    ]
    for left_out in bench.rules.rules:
        rest = Rules([rule for rule in bench.rules.rules if rule is not left_out], bench.rules.labels)
        rows.append((f"without: {left_out.text:.60}", {"rules": rest}))
    report.table(
        f"{corpus}, {n} labelled: what each part contributes",
        rows,
        lambda params: [bench.annealed(n, seed, **params) for seed in range(draws)],
    )


def ranker_table(bench, corpus, draws, report, sizes=None):
    for n in sizes or SIZES[corpus][1:]:
        report.table(
            f"{corpus}, {n} labelled: what the ranker adds",
            [("supervised", SSVM), ("annealed", AnnealedSSVM)],
            lambda method, n=n: [bench.ranked(method, n, seed) for seed in range(draws)],
        )


def C_table(bench, corpus, draws, report, sizes=None):
    given = [(SSVM, 0.03), (SSVM, 0.1), (SSVM, 0.3), (SSVM, 1.0), (CRF, 0.3), (CRF, 1.0), (CRF, 3.0), (CRF, 10.0)]
    pooled = [(method, C) for method, values in POOLED_C.items() for C in values]
    for n in sizes or SIZES[corpus]:
        report.table(
            f"{corpus}, {n} labelled: methods by C",
            [(f"{method.name}, C = {C:g}", method, C) for method, C in [*given, *pooled]],
            lambda method, C, n=n: [bench.by_C(method, C, n, seed) for seed in range(draws)],
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=list(SIZES), action="append")
    parser.add_argument("--table", choices=["main", "paper", "ablation", "ranker", "C"], default="main")
    parser.add_argument("--no-dev", action="store_true", help="choose without labels")
    parser.add_argument("--sizes", type=int, nargs="*", help="numbers of labelled sequences")
    parser.add_argument("--rules", help="a rules file or name instead of that of the corpus")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--output", "-o", type=Path)
    args = parser.parse_args()
    report = Report(args.output)
    report(f"\n`{' '.join(['python', *sys.argv])}`")
    for corpus in args.corpus or SIZES:
        if args.table == "paper" and corpus != "citations":
            continue
        bench = Bench(corpus, args.rules, not args.no_dev)
        if args.table in ("main", "ranker", "C"):
            table = {"main": main_table, "ranker": ranker_table, "C": C_table}[args.table]
            table(bench, corpus, args.draws, report, args.sizes)
        else:
            {"paper": paper_table, "ablation": ablation_table}[args.table](bench, corpus, args.draws, report)


if __name__ == "__main__":
    main()
