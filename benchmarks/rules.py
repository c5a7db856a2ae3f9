"""What rules are worth: when they are partly false, without labels, if nobody wrote them; and how fast they are.

    python benchmarks/rules.py trust         true rules, a third of them corrupted, that third left out, none
    python benchmarks/rules.py unlabelled    rules and a pool without a label, beside 5 labels
    python benchmarks/rules.py suggestions   only suggested rules: `suggestions.py`, which takes the further words
    python benchmarks/rules.py speed         decoding under rules: `obeying.py`, likewise

trust and unlabelled draw labelled sequences from the training part and report on at most 150 others of it; C is 0.5,
the point of the path and the weights of rules are chosen without dev data.  A corrupted rule has a wrong label, says
the opposite, or is too general.
"""

from __future__ import annotations

import argparse
import os
import random
import runpy
import statistics
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from semistruct import CODL, SSVM, AnnealedSSVM, GeneralizedExpectation, PosteriorRegularization, Rules, read
from semistruct.rules.base import VOCABULARY

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SEMISTRUCT_DATA", HERE.parents[1] / "shared" / "data"))
CORPORA = ("citations", "headers", "names")
ALL = {"citations": 200, "headers": 70, "names": 200}
REPORTED = 150
ELSEWHERE = {"suggestions": "suggestions.py", "speed": "obeying.py"}


@dataclass(frozen=True)
class Bench:
    """One corpus: its training part, its pool, and the rules that come for it."""

    name: str
    size: int  # of the pool

    @cached_property
    def train(self) -> Any:
        return read(DATA / self.name / "train.tsv")

    @cached_property
    def pool(self) -> list[Any]:
        cut = {"tokens": "whitespace"} if self.name == "names" else {}
        return read(DATA / self.name / "unlabeled.txt", **cut).tokens[: self.size]

    @cached_property
    def rules(self) -> Rules:
        return Rules.from_file(self.name)

    @property
    def labels(self) -> list[str]:
        return sorted({*self.rules.all_labels(self.train.label_set)})

    def draw(self, n: int, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """((X, y) to learn from, (X, y) to report on)."""
        order = list(range(len(self.train)))
        random.Random(seed).shuffle(order)
        learn, report = order[:n], order[n:][-REPORTED:]
        return tuple(
            ([self.train.tokens[i] for i in part], [self.train.labels[i] for i in part]) for part in (learn, report)
        )

    def corrupted(self, seed: int) -> tuple[Rules, Rules]:
        """(the rules, of which a third of the instance rules is false; only those that are left true)."""
        rng, rules = random.Random(seed), list(self.rules)
        instance = [i for i, rule in enumerate(rules) if rule.level == "instance"]
        words = Counter(w.lower() for x in self.pool for w in x if w.isalpha())
        frequent = tuple(word for word, _ in words.most_common(12))
        false = rng.sample(instance, max(1, round(len(instance) / 3)))
        left = [rule for i, rule in enumerate(rules) if i not in false]
        for i in false:
            rules[i] = corrupt(rules[i], rng, self.labels, frequent)
        return Rules(rules, self.labels), Rules(left, self.labels)


def corrupt(rule: Any, rng: random.Random, labels: list[str], frequent: tuple[str, ...]) -> Any:
    """A rule that says something else: wrong labels, the opposite, or too much."""

    def others(used: Any, n: int = 1) -> tuple[str, ...]:
        left = [label for label in labels if label not in used]
        return tuple(rng.sample(left, min(n, len(left))))

    how = rng.choice(["wrong", "opposite", "general"])
    entries = {key: getattr(rule, key) for key in rule.model_fields_set}
    match rule.key:
        case "words" | "pattern" if how == "wrong" or rule.are is None:
            entries["are"] = others(rule.are or rule.are_not, len(rule.are or (1,)))
            entries.pop("are_not", None)
        case "words" | "pattern" if how == "opposite":
            entries["are_not"] = entries.pop("are")
        case "words":
            entries["words"] = (*rule.words, *frequent)
        case "pattern":
            entries["pattern"] = ".*[0-9a-m].*"
        case "starts_with" | "ends_with":
            entries[rule.key] = others(getattr(rule, rule.key))
        case "present" | "exactly_once":
            entries[rule.key] = others(getattr(rule, rule.key), 2)
        case "at_most_once" if tuple(rule.at_most_once) == ("all",):
            return VOCABULARY["exactly_once"](tuple(rng.sample(labels, 3)))
        case "at_most_once":
            entries[rule.key] = "all" if how == "general" else others(rule.at_most_once, 2)
        case "order":
            entries["order"] = tuple(reversed(rule.order))
        case "follows":
            entries["follows"] = {z: others((*before, z), 2) for z, before in rule.follows.items()}
        case "never_follows":
            pairs = rule.never_follows.items()
            entries[rule.key] = {z: tuple(y for y in labels if y not in before and y != z) for z, before in pairs}
        case "change_only_on":
            entries[rule.key] = ("[a-z]+",) if how == "opposite" else ("newline",)
        case "min_length":
            entries[rule.key] = rule.min_length + 4
        case "max_length":
            entries["labels"] = others(rule.labels or (), 4)
        case _:
            raise ValueError(f"how is {rule.key} to be corrupted?")
    return VOCABULARY[rule.key](**entries)


def cell(values: list[float]) -> str:
    return f"{100 * statistics.mean(values):.1f} ± {100 * statistics.pstdev(values):.1f}"


def trust(args: argparse.Namespace) -> None:
    print("| corpus | labels | supervised | no rules | true rules | a third corrupted | that third left out |")
    print("|---|---|---|---|---|---|---|")
    for name in args.corpora:
        bench = Bench(name, args.pool)
        for n in (5, 20, ALL[name]):
            found: list[list[float]] = []
            for seed in range(args.draws):
                learn, report = bench.draw(n, seed)
                scores = [SSVM(C=0.5).fit(*learn).score(*report)]
                for rules in (Rules([], bench.labels), bench.rules, *bench.corrupted(seed)):
                    model = AnnealedSSVM(C=0.5, rules=rules).fit(*learn, pool=bench.pool)
                    scores.append(model.score(*report, rules=True))
                found.append(scores)
                print(f"{name}, {n} labels, draw {seed + 1} of {args.draws}:", *scores, file=sys.stderr)
            print(
                f"| {name} | {n} | " + " | ".join(cell(list(column)) for column in zip(*found, strict=True)) + " |",
                flush=True,
            )


def unlabelled(args: argparse.Namespace) -> None:
    print("| corpus | method | no label | 5 labels |")
    print("|---|---|---|---|")
    methods = {
        "annealed": AnnealedSSVM(C=0.5),
        "CODL": CODL(),
        "PR": PosteriorRegularization(C=0.5),
        "GE": GeneralizedExpectation(C=0.5),
    }
    for name in args.corpora:
        bench = Bench(name, args.pool)
        for title, method in methods.items():
            none, five = [], []
            for seed in range(args.draws):
                learn, report = bench.draw(5, seed)
                model = method.set_params(rules=bench.rules)
                none.append(model.fit([], [], pool=bench.pool).score(*report, rules=True))
                five.append(model.fit(*learn, pool=bench.pool).score(*report, rules=True))
            print(f"| {name} | {title} | {cell(none)} | {cell(five)} |", flush=True)


def main() -> None:
    parts = {"trust": trust, "unlabelled": unlabelled}
    if sys.argv[1:2] and sys.argv[1] in ELSEWHERE:
        sys.argv[:2] = [str(HERE / ELSEWHERE[sys.argv[1]])]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=parts)
    parser.add_argument("corpora", nargs="*", default=CORPORA, help=", ".join(CORPORA))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--pool", type=int, default=300, help="how many sequences of the pool to use")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    parts[args.part](args)


if __name__ == "__main__":
    main()
