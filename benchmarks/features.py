"""Feature sets compared: token accuracy and whole sequences, five corpora, five draws, with CRFsuite beside.

    python benchmarks/features.py                          all corpora
    python benchmarks/features.py names -o features.md     one of them, the table also into a file

n labelled sequences are drawn from the training part, C is chosen on the dev part, and the rest of the training part
(at most 200 sequences) is reported on.  CRFsuite learns from the features that people write for it by hand: the word
without punctuation, its length, digits, vowels and case, of the token and of its neighbours, and where the sequence
begins and ends; its c2 is chosen on the same dev data.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import string
import sys
import warnings
from pathlib import Path

import pycrfsuite

from semistruct import SSVM, make_apartments, read
from semistruct.metrics import evaluate

DATA = Path(os.environ.get("SEMISTRUCT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ALL = {"citations": 200, "headers": 70, "names": 200, "conll2000": 200, "apartments": 102}
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
GRID = (0.03, 0.1, 0.3, 1.0, 3.0)


def corpus(name):
    """((X, y) to draw from, (X, y) of the dev part)."""
    if name == "apartments":
        made = make_apartments(402, seed=11)
        return (made.tokens[:302], made.labels[:302]), (made.tokens[302:], made.labels[302:])
    if name == "conll2000":
        found = read(DATA / name / "train.txt")
        words, y = [[token[0] for token in x] for x in found.tokens], found.labels
        return (words[:1000], y[:1000]), (words[1000:1100], y[1000:1100])
    train, dev = (read(DATA / name / f"{part}.tsv") for part in ("train", "dev"))
    return (train.tokens, train.labels), (dev.tokens, dev.labels)


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


def crfsuite(learn, dev, report, path):
    """(tokens, whole sequences) in percent."""
    best = None
    for c2 in (0.01, 0.1, 1.0):
        trainer = pycrfsuite.Trainer(verbose=False, params={"c2": c2})
        for x, y in zip(*learn, strict=True):
            trainer.append(by_hand(x), y)
        trainer.train(str(path))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        there = scores(dev[1], [tagger.tag(by_hand(x)) for x in dev[0]])
        if best is None or there > best[0]:
            best = there, scores(report[1], [tagger.tag(by_hand(x)) for x in report[0]])
    return best[1]


def ours(learn, dev, report, features):
    best = None
    for C in GRID:
        model = SSVM(C=C, features=features).fit(*learn)
        there = scores(dev[1], model.predict(dev[0]))
        if best is None or there > best[0]:
            best = there, scores(report[1], model.predict(report[0]))
    return best[1]


def scores(gold, predicted):
    found = evaluate(gold, predicted)
    return 100 * found["token_accuracy"], 100 * found["sequence_accuracy"]


def cells(name, draws, scratch):
    """For every set and size the pairs of the draws."""
    (X, y), dev = corpus(name)
    found = {}
    for n in (5, 20, ALL[name]):
        for seed in range(draws):
            order = list(range(len(X)))
            random.Random(seed).shuffle(order)
            learn, report = (
                ([X[i] for i in part], [y[i] for i in part]) for part in (order[:n], order[n : n + REPORTED])
            )
            for label, features in SETS.items():
                found.setdefault((label, n), []).append(ours(learn, dev, report, features))
            found.setdefault((BY_HAND, n), []).append(crfsuite(learn, dev, report, scratch))
            print(f"{name}: {n} labels, draw {seed + 1} of {draws}", file=sys.stderr)
    return found


def table(results, draws):
    yield f"Token accuracy / whole sequences, mean of {draws} draws ± spread of the token accuracy."
    for name, found in results.items():
        yield ""
        yield f"| {name} | " + " | ".join(f"{n} labels" for n in (5, 20, ALL[name])) + " |"
        yield "|---|---|---|---|"
        for label in (*SETS, BY_HAND):
            row = []
            for n in (5, 20, ALL[name]):
                tokens, whole = zip(*found[label, n], strict=True)
                mean, spread = statistics.mean(tokens), statistics.pstdev(tokens)
                row.append(f"{mean:.1f} ± {spread:.1f} / {statistics.mean(whole):.1f}")
            yield f"| {label} | " + " | ".join(row) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", default=list(ALL), help=", ".join(ALL))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, help="file for the table")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / f"features-{os.getpid()}.crfsuite"
    try:
        results = {name: cells(name, args.draws, scratch) for name in args.corpora}
    finally:
        scratch.unlink(missing_ok=True)
    text = "\n".join(table(results, args.draws)) + "\n"
    print(text, end="")
    if args.output:
        args.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
