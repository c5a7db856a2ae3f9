"""Feature sets compared: token accuracy and whole sequences, with CRFsuite beside.

    python benchmarks/features.py                    all corpora
    python benchmarks/features.py --corpus names --draws 3

n labelled sequences are drawn from the training part, C is chosen on the dev part, and at most 200 others of the
training part are reported on.  CRFsuite learns from the features that people write for it by hand: the word without
punctuation, its length, digits, vowels and case, of the token and of its neighbours, and where the sequence begins and
ends; its c2 is chosen on the same dev data.
"""

from __future__ import annotations

import string
import tempfile

import pycrfsuite

from harness import CORPORA, SIZES, dev_of, draw, parser, percent, records_of, table
from semistruct import SSVM
from semistruct.data.metrics import evaluate

REPORTED = 200
SETS = {
    "default": "default",
    "former default": (
        "lower[-1..1]", "shape[-1..1]", "digits[-1..1]", "classes[-1..1]", "prefix(2-4)", "suffix(2-4)",
        "begin", "end", "enclosed", "steps(punctuation)",
    ),
    "paper": "paper",
}  # fmt: skip
BY_HAND = "CRFsuite, by hand"


def by_hand(x):
    """The features of one sequence, as in many programs that use CRFsuite."""

    def of(word):
        core = word.strip(string.punctuation) or word
        kind = "number" if core.isdigit() else "mixed" if any(c.isdigit() for c in core) else "word"
        return [
            f"word={kind if kind == 'number' else core.lower()}", f"kind={kind}", f"length={kind}{len(core)}",
            f"vowels={not set(core.lower()).isdisjoint('aeiou')}", f"abbreviation={word.endswith('.')}",
            f"ends={'' if word[-1].isalnum() else word[-1]}", f"title={core.istitle()}", f"upper={core.isupper()}",
        ]  # fmt: skip

    own = [of(word) for word in x]
    out = []
    for t, features in enumerate(own):
        row = list(features)
        row += [f"-1:{f}" for f in own[t - 1]] if t else ["begin"]
        row += [f"+1:{f}" for f in own[t + 1]] if t + 1 < len(x) else ["end"]
        row += ["second"] * (t == 1) + ["last but one"] * (t == len(x) - 2)
        out.append(row)
    return out


def crfsuite(learn, c2):
    """A function that labels sequences."""
    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": c2})
    for x, y in zip(*learn, strict=True):
        trainer.append(by_hand(x), y)
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
    return lambda X: [tagger.tag(by_hand(x)) for x in X]


def run(cell):
    learn, report = draw(cell["corpus"], cell["size"], cell["seed"], REPORTED)
    dev = dev_of(cell["corpus"])
    if cell["set"] == BY_HAND:
        models = [crfsuite(learn, c2) for c2 in (0.01, 0.1, 1.0)]
    else:
        grid = (0.03, 0.1, 0.3, 1.0, 3.0)
        models = [SSVM(C=C, features=SETS[cell["set"]], n_jobs=1).fit(*learn).predict for C in grid]
    scores = [[evaluate(y, predict(X)) for X, y in (dev, report)] for predict in models]
    best = max(scores, key=lambda pair: (pair[0]["token_accuracy"], pair[0]["sequence_accuracy"]))[1]
    return {"cell": cell, "tokens": best["token_accuracy"], "whole": best["sequence_accuracy"]}


def main():
    args = parser(__doc__).parse_args()
    groups = [
        {"corpus": corpus, "set": name, "size": size}
        for corpus in args.corpus or CORPORA
        for name in (*SETS, BY_HAND)
        for size in args.sizes or SIZES[corpus]
    ]
    found = records_of(run, [{**group, "seed": seed} for seed in range(args.draws) for group in groups], args)

    def row(group):
        own = [record for record in found if group.items() <= record["cell"].items()]
        return [*group.values(), *(percent([record[key] for record in own]) for key in ("tokens", "whole"))]

    table(["corpus", "features", "labels", "tokens", "whole sequences"], map(row, groups))


if __name__ == "__main__":
    main()
