"""What rules cost, written down a second time as plainly as possible.

Slow on purpose, and independent: nothing here is imported from semistruct.  A rule is described as in a rules file,
`{"at_most_once": ["author"], "counting": "labels", "weight": 5}`; labels and words are strings.
"""

import re
from math import inf

LINE_BREAKS = ["*NEWLINE*", "\\n", "<br>", "⏎"]
LIKE_A_COUNT = {"level": "corpus", "penalty": "square"}
DEFAULTS = {"weight": 1000, "level": "instance", "penalty": "absolute"}
DEFAULTS_OF = {"proportion": {**LIKE_A_COUNT, "unit": "percent"}, "count": LIKE_A_COUNT}


# one sequence ----------------------------------------------------------------------------------------------


def blocks(y):
    """[label, number of tokens] of each run of equal labels."""
    found = []
    for label in y:
        if found and found[-1][0] == label:
            found[-1][1] += 1
        else:
            found.append([label, 1])
    return found


def n_blocks(y, label):
    return [name for name, _ in blocks(y)].count(label)


def starts_with(y, which):
    return 0 if y[0] in which else 1


def ends_with(y, which):
    return 0 if y[-1] in which else 1


def further_blocks(y, label):
    """The blocks of a label but for the first."""
    return max(0, n_blocks(y, label) - 1)


def repeated_labels(y, which):
    """How many labels appear more than once as disjoint lists."""
    return len({label for label in which if n_blocks(y, label) > 1})


def not_exactly_one(y, label):
    return abs(n_blocks(y, label) - 1)


def absent(y, label):
    return 0 if label in y else 1


def short_blocks(y, which, least):
    return len([n for label, n in blocks(y) if label in which and n < least])


def long_blocks(y, which, most):
    return len([n for label, n in blocks(y) if label in which and n > most])


def disorder(y, order):
    """For every block the number of labels that should come after it, but are there before it."""
    names, total = [name for name, _ in blocks(y)], 0
    for i, name in enumerate(names):
        if name in order:
            total += len({other for other in names[:i] if other in order and order.index(other) > order.index(name)})
    return total


def wrong_followers(y, follows):
    """Blocks right after a block that is not one of those they may follow."""
    names = [name for name, _ in blocks(y)]
    return len([1 for i in range(1, len(names)) if names[i] in follows and names[i - 1] not in follows[names[i]]])


def forbidden_followers(y, never):
    names = [name for name, _ in blocks(y)]
    return len([1 for i in range(1, len(names)) if names[i] in never and names[i - 1] in never[names[i]]])


def is_mark(word, marks):
    for mark in marks:
        if mark == "punctuation":
            if not [c for c in word if c.isalpha() or c.isdigit()]:
                return True
        elif mark == "newline":
            if word in LINE_BREAKS:
                return True
        elif re.fullmatch(mark, word):
            return True
    return False


def changes(y):
    """The positions of the tokens before which the label changes."""
    return [t for t in range(1, len(y)) if y[t] != y[t - 1]]


def changes_elsewhere(words, y, marks, side):
    """Changes that do not follow a mark; if the side is "either", nor come before one."""
    found = [t for t in changes(y) if not is_mark(words[t - 1], marks)]
    return [t for t in found if side == "after" or not is_mark(words[t], marks)]


def is_listed(word, listed):
    """Capitals must be as in the list, unless the entry has none."""
    return any(word.lower() == entry if entry == entry.lower() else word == entry for entry in listed)


def places_of_words(words, rule):
    """The tokens that a rule about words speaks of."""
    found = []
    for t, word in enumerate(words):
        hit = is_listed(word, rule["words"]) if "words" in rule else re.fullmatch(rule["pattern"], word)
        if "before" in rule:
            hit = hit and t > 0 and re.fullmatch(rule["before"], words[t - 1])
        if "after" in rule:
            hit = hit and t + 1 < len(words) and re.fullmatch(rule["after"], words[t + 1])
        if hit:
            found.append(t)
    return found


def obeys(label, rule):
    return label in rule["are"] if "are" in rule else label not in rule["are_not"]


# a corpus --------------------------------------------------------------------------------------------------


def outside(value, target):
    """How far a value is from a number, or from a range with None for a side that is open."""
    if not isinstance(target, tuple):
        return abs(value - target)
    low, high = target
    if low is not None and value < low:
        return low - value
    if high is not None and value > high:
        return value - high
    return 0


def complete(rule):
    """A description with what is meant if nothing is said; its first entry is the kind of rule."""
    key = next(iter(rule))
    return {key: rule[key], **DEFAULTS, **DEFAULTS_OF.get(key, {}), **rule}


def violations(rule, X, y, labels):
    """The sizes of all the violations that each have a penalty; of a rule for sequences, those of every sequence."""
    if rule["level"] == "corpus":
        return corpus_violations(rule, X, y)
    return [v for words, row in zip(X, y, strict=True) for v in sequence_violations(rule, words, row, labels)]


def sequence_violations(rule, words, y, labels):
    key, of = next(iter(rule.items()))
    factor = 100 if rule.get("unit") == "percent" else 1
    some = rule.get("labels", labels)
    if key == "at_most_once":
        which = labels if of == "all" else of
        if rule.get("counting") == "labels":
            return [repeated_labels(y, which)]
        return [further_blocks(y, label) for label in which]
    if key == "count":
        number = n_blocks if rule.get("of", "blocks") == "blocks" else list.count
        return [outside(number(list(y), label), target) for label, target in of.items()]
    if key == "proportion":
        return [factor * outside(list(y).count(label) / len(y), share) for label, share in of.items()]
    if key == "function":
        return [outside(of(words, y), (rule.get("low", -inf), rule.get("high", 0)))]
    if key in ("words", "pattern"):
        return [len([t for t in places_of_words(words, rule) if not obeys(y[t], rule)])]
    return {
        "starts_with": lambda: [starts_with(y, of)],
        "ends_with": lambda: [ends_with(y, of)],
        "exactly_once": lambda: [not_exactly_one(y, label) for label in of],
        "present": lambda: [absent(y, label) for label in of],
        "min_length": lambda: [short_blocks(y, some, of)],
        "max_length": lambda: [long_blocks(y, some, of)],
        "order": lambda: [disorder(y, of)],
        "follows": lambda: [wrong_followers(y, of)],
        "never_follows": lambda: [forbidden_followers(y, of)],
        "change_only_on": lambda: [len(changes_elsewhere(words, y, of, rule.get("side", "after")))],
    }[key]()


def corpus_violations(rule, X, y):
    key, of = next(iter(rule.items()))
    factor = 100 if rule.get("unit") == "percent" else 1
    pairs = list(zip(X, y, strict=True))
    if key == "proportion":
        every = [label for row in y for label in row]
        return [factor * outside(every.count(label) / len(every), share) for label, share in of.items()]
    if key == "count":
        number = n_blocks if rule.get("of", "blocks") == "blocks" else list.count
        means = {label: sum(number(list(row), label) for row in y) / len(y) for label in of}
        return [outside(means[label], target) for label, target in of.items()]
    if key == "function":
        mean = sum(of(words, row) for words, row in pairs) / len(pairs)
        return [outside(mean, (rule.get("low", -inf), rule.get("high", 0)))]
    if key == "change_only_on":
        some = sum(len(changes_elsewhere(words, row, of, rule.get("side", "after"))) for words, row in pairs)
        every = sum(len(changes(row)) for row in y)
    elif key in ("words", "pattern"):
        spoken = [row[t] for words, row in pairs for t in places_of_words(words, rule)]
        some, every = len([label for label in spoken if obeys(label, rule)]), len(spoken)
    else:
        raise ValueError(f"{key} is no rule for a corpus")
    return [factor * outside(some / every, rule.get("fraction", 1))] if every else [0]


def price(rules, X, y, labels, hard):
    """What a labelled corpus costs; X holds lists of words, y lists of labels; `hard` is the weight of a hard rule."""
    total = 0
    for rule in map(complete, rules):
        weight = hard if rule["weight"] == "hard" else rule["weight"]
        sizes = violations(rule, X, y, labels)
        total += sum(weight * (v * v if rule["penalty"] == "square" else v) for v in sizes)
    return total
