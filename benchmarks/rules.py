"""What rules are worth: when they are partly false, without labels, and if nobody wrote them.

    python benchmarks/rules.py trust         true rules, a third of them corrupted, that third left out, none
    python benchmarks/rules.py unlabelled    rules and a pool without a label, beside 5 labels
    python benchmarks/rules.py suggestions   rules from the labels: none, own (the default), all suggested, written

Labelled sequences are drawn from the training part; trust and unlabelled report on at most 150 others of it, with
C = 0.5 and nothing chosen on dev data; suggestions on all others, with C, the point of the path and the weight of rules
chosen on the dev part.  A corrupted rule has a wrong label, says the opposite, or is too general.
"""

from __future__ import annotations

import random
from collections import Counter

from harness import CORPORA, SIZES, dev_of, draw, material, parser, percent, records_of, rules_of, table
from semistruct import CODL, SSVM, AnnealedSSVM, GeneralizedExpectation, PosteriorRegularization, Rules, suggest
from semistruct.rules.base import VOCABULARY

REPORTED, POOL = 150, 300
CORRUPTIBLE = (
    *("words", "pattern", "starts_with", "ends_with", "present", "exactly_once", "at_most_once", "order", "follows"),
    *("never_follows", "change_only_on", "min_length", "max_length"),
)
METHODS = {
    "annealed": AnnealedSSVM(C=0.5, n_jobs=1),
    "CODL": CODL(n_jobs=1),
    "PR": PosteriorRegularization(C=0.5, n_jobs=1),
    "GE": GeneralizedExpectation(C=0.5, n_jobs=1),
}


def corrupted(rules, labels, pool, seed):
    """(the rules, of which a third of the instance rules is false; only those that are left true)."""
    rng, rules = random.Random(seed), list(rules)
    instance = [i for i, rule in enumerate(rules) if rule.level == "instance" and rule.key in CORRUPTIBLE]
    words = Counter(w.lower() for x in pool for w in x if w.isalpha())
    frequent = tuple(word for word, _ in words.most_common(12))
    false = rng.sample(instance, max(1, round(len(instance) / 3)))
    left = [rule for i, rule in enumerate(rules) if i not in false]
    for i in false:
        rules[i] = corrupt(rules[i], rng, labels, frequent)
    return Rules(rules, labels), Rules(left, labels)


def corrupt(rule, rng, labels, frequent):
    """A rule that says something else: wrong labels, the opposite, or too much."""

    def others(used, n=1):
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
    return VOCABULARY[rule.key](**entries)


def trust(cell, pool, rules):
    learn, report = draw(cell["corpus"], cell["size"], cell["seed"], REPORTED)
    labels = sorted(rules.all_labels(material(cell["corpus"]).train.label_set))
    out = {"supervised": SSVM(C=0.5, n_jobs=1).fit(*learn).score(*report)}
    false, left = corrupted(rules, labels, pool, cell["seed"])
    lists = {"no rules": Rules([], labels), "true rules": rules, "a third false": false, "that third left out": left}
    for name, given in lists.items():
        out[name] = AnnealedSSVM(C=0.5, rules=given, n_jobs=1).fit(*learn, pool=pool).score(*report, rules=True)
    return out


def unlabelled(cell, pool, rules):
    learn, report = draw(cell["corpus"], 5, cell["seed"], REPORTED)
    out = {}
    for name, method in METHODS.items():
        method.set_params(rules=rules)
        for n, given in (("no label", ([], [])), ("5 labels", learn)):
            out[f"{name}, {n}"] = method.fit(*given, pool=pool).score(*report, rules=True)
    return out


def suggestions(cell, pool, rules):
    learn, report = draw(cell["corpus"], cell["size"], cell["seed"])
    lists = {"none": Rules([]), "own": None, "suggested": suggest(*learn, pool=pool).rules, "written": rules}
    out = {}
    for name, given in lists.items():
        model = AnnealedSSVM(C="auto", rules=given, n_jobs=1).fit(*learn, pool=pool, dev=dev_of(cell["corpus"]))
        if name == "own":
            out["own, plain"] = model.score(*report, rules=False)
        out[name] = model.score(*report)
    return out


PARTS = {"trust": trust, "unlabelled": unlabelled, "suggestions": suggestions}


def run(cell):
    pool, rules = material(cell["corpus"]).pool.tokens[:POOL], rules_of(cell["corpus"])
    return {"cell": cell, "scores": PARTS[cell["part"]](cell, pool, rules)}


def main():
    options = parser(__doc__)
    options.add_argument("part", choices=PARTS)
    args = options.parse_args()
    sizes = {"trust": SIZES, "unlabelled": dict.fromkeys(CORPORA, (5,)), "suggestions": dict.fromkeys(CORPORA, (5, 20))}
    groups = [
        {"part": args.part, "corpus": corpus, "size": size}
        for corpus in args.corpus or (CORPORA if args.part == "suggestions" else CORPORA[:3])
        for size in args.sizes or sizes[args.part][corpus]
    ]
    found = records_of(run, [{**group, "seed": seed} for seed in range(args.draws) for group in groups], args)
    columns = list(found[0]["scores"])

    def row(group):
        own = [record["scores"] for record in found if group.items() <= record["cell"].items()]
        return [group["corpus"], group["size"], *(percent([scores[column] for scores in own]) for column in columns)]

    table(["corpus", "labels", *columns], map(row, groups))


if __name__ == "__main__":
    main()
