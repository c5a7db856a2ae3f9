"""How far probabilities are right, and whether promises are kept.

    python benchmarks/calibration.py errors --sizes 5 20 100
    python benchmarks/calibration.py promises --draws 100

`errors`: a model learns from some sequences of the training part (C is fixed, there is no dev data), and the
calibration error is measured on 200 others, under the rules, beside what it would be by chance if the probabilities
were perfect and errors independent.

`promises`: a model learns from 60 sequences and is calibrated on 120 others as dev data; it accepts answers to the rest
at the level 0.9.  Told is in how many draws more of those were wrong than promised.  The rest of a real corpus is so
small that this happens by chance too, so the mean share of wrong ones is told beside it.
"""

from __future__ import annotations

import statistics

import numpy as np

from harness import CORPORA, draw, material, parser, records_of, rules_of, table
from semistruct import CRF, SSVM, AnnealedSSVM
from semistruct.base.errors import ParameterError
from semistruct.data.labels import scheme_of
from semistruct.model.answers import LEVELS, cases
from semistruct.model.calibration import by_chance, calibration_error, reliability
from semistruct.model.promises import ACCEPTED_BY, CONFIDENCE

METHODS = {"ssvm": SSVM, "crf": CRF, "annealed": AnnealedSSVM}
FIRST_SEED = 100  # priors were set on other draws
LEARN, HELD_OUT, LEVEL = 60, 120, 0.9  # of `promises`


def run(cell):
    corpus, size = cell["corpus"], cell["size"] if cell["part"] == "errors" else LEARN + HELD_OUT
    (X, y), (Z, z) = draw(corpus, min(size, len(material(corpus).train) - 30), FIRST_SEED + cell["seed"])
    model = METHODS[cell["method"]](rules=rules_of(corpus), n_jobs=1)
    further = {"pool": material(corpus).pool.tokens[:200]} if cell["method"] == "annealed" else {}
    if cell["part"] == "errors":
        model.fit(X, y, **further)
        Z, z = Z[:200], z[:200]
        labels = model.predict(Z)
        known = cases(model.sureness(Z, labels), labels, z, scheme_of(model.classes_))
        found = {
            level: [calibration_error(reliability(case.score, case.right)), by_chance(case.score)]
            for level, case in known.items()
        }
        return {"cell": cell, "labels": len(X), "errors": found}
    model.fit(X[:LEARN], y[:LEARN], dev=(X[LEARN:], y[LEARN:]), **further)
    labels = model.predict(Z)
    scores = model.model_.sureness(Z, labels, rules=model.model_.rules)
    known, found = cases(scores, labels, z, scheme_of(model.classes_)), {}
    for by, level in ACCEPTED_BY.items():
        try:
            sure = known[level].score >= model.promise(LEVEL, by=by).score
        except ParameterError:  # nothing can be promised
            continue
        found[by] = [float(sure.mean()), float((~known[level].right[sure]).mean()) if sure.any() else 0.0]
    return {"cell": cell, "accepted": found}


def errors(group, records):
    pairs = [(level, k) for level in LEVELS for k in (0, 1)]
    means = [statistics.mean(100 * record["errors"][level][k] for record in records) for level, k in pairs]
    yield [group["corpus"], records[0]["labels"], *(f"{mean:.1f}" for mean in means)]


def promises(group, records):
    for by in ACCEPTED_BY:
        kept, wrong = np.array([r["accepted"][by] for r in records if by in r["accepted"]]).reshape(-1, 2).T
        means = [f"{100 * column.mean():.1f}%" if len(kept) else "-" for column in (kept, wrong)]
        broken = f"{np.sum(wrong > 1 - LEVEL)} of {len(records)}"
        yield [group["corpus"], by, f"{len(kept)} of {len(records)}", *means, broken, f"{1 - CONFIDENCE:.0%}"]


PARTS = {
    "errors": (errors, ["corpus", "labels", "tokens", "by chance", "fields", "by chance", "sequences", "by chance"]),
    "promises": (promises, ["corpus", "by", "made", "accepted", "wrong", "more than promised", "stated"]),
}


def main():
    options = parser(__doc__)
    options.add_argument("part", choices=PARTS)
    options.add_argument("--method", choices=METHODS, default="ssvm")
    args = options.parse_args()
    sizes = (args.sizes or (5, 20, 100)) if args.part == "errors" else (None,)
    groups = [
        {"part": args.part, "corpus": corpus, "size": size, "method": args.method}
        for corpus in args.corpus or CORPORA
        for size in sizes
    ]
    found = records_of(run, [{**group, "seed": seed} for seed in range(args.draws) for group in groups], args)
    rows, head = PARTS[args.part]
    own = [(group, [r for r in found if group.items() <= r["cell"].items()]) for group in groups]
    table(head, (row for group, records in own for row in rows(group, records)))


if __name__ == "__main__":
    main()
