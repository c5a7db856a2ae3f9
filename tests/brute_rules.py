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


def is_word(word, entry, rule):
    """Capitals must be as in the entry, unless it has none; `case` may say otherwise."""
    if "punctuation" in rule:
        word, entry = core(word) or word, core(entry) or entry
    if rule.get("case") == "any" or (rule.get("case") != "exact" and entry == entry.lower()):
        return word.lower() == entry.lower()
    return word == entry


def stays(words, y, marks, which):
    """Tokens after a mark that have the label of the mark."""
    return len([t for t in range(1, len(y)) if is_mark(words[t - 1], marks) and y[t] == y[t - 1] and y[t] in which])


def wrong_edges(words, y, marks, last):
    """Blocks whose first, or last, token is no mark of theirs."""
    ends = [t for t in range(len(y)) if t + 1 == len(y) or y[t + 1] != y[t]]
    starts = [t for t in range(len(y)) if t == 0 or y[t - 1] != y[t]]
    return len([t for t in (ends if last else starts) if y[t] in marks and not is_mark(words[t], marks[y[t]])])


def unheard(tokens, y, column, only=None):
    """Tokens whose column holds another label; `only`: the one label whose votes count."""
    votes = [token[column] if isinstance(token, tuple) and column < len(token) else "" for token in tokens]
    votes = ["" if only is not None and vote != only else vote for vote in votes]
    return len([1 for vote, label in zip(votes, y, strict=True) if vote not in ("", "?", label)])


def words_of(words, y, label):
    """The words of a label, without case, outer punctuation and what has neither letter nor digit."""
    return {core(word).lower() for word, z in zip(words, y, strict=True) if z == label and core(word)}


def same_words(words, y, pair):
    first, second = (words_of(words, y, label) for label in pair)
    return len([word for word in first if word in second])


def other_words(words, y, pair):
    first, second = (words_of(words, y, label) for label in pair)
    both = all(label in y for label in pair)
    return len([w for w in first if w not in second] + [w for w in second if w not in first]) if both else 0


def core(word):
    """Without what is neither letter nor digit at either end."""
    while word and not word[0].isalnum():
        word = word[1:]
    while word and not word[-1].isalnum():
        word = word[:-1]
    return word


def is_phrase(words, entry, rule):
    """An entry is one word, or words with blanks between them; its signs may be tokens of their own."""
    cuts = [entry.split()] + ([re.findall(r"\w+|[^\w\s]", entry)] if len(entry.split()) > 1 else [])
    return any(
        len(cut) == len(words) and all(is_word(w, e, rule) for w, e in zip(words, cut, strict=True)) for cut in cuts
    )


def match_in_a_row(words, patterns, rule):
    patterns = [patterns] if isinstance(patterns, str) else patterns
    some = [core(word) or word for word in words] if "punctuation" in rule else words
    flags = re.IGNORECASE if rule.get("case") == "any" else 0
    return len(some) == len(patterns) and all(
        re.fullmatch(pattern, word, flags) for pattern, word in zip(patterns, some, strict=True)
    )


def spoken_of(words, rule):
    """(first, after the last) of all that a rule about words speaks of."""
    for a in range(len(words)):
        for b in range(a + 1, len(words) + 1):
            if "words" in rule:
                hit = any(is_phrase(words[a:b], entry, rule) for entry in rule["words"])
            else:
                hit = match_in_a_row(words[a:b], rule["pattern"], rule)
            if hit:
                yield a, b


def places_of_words(words, rule):
    """The tokens that a rule about words speaks of."""
    found, reach = set(), rule.get("within", 1)
    for a, b in spoken_of(words, rule):
        before, after = words[:a][-reach:], words[b:][:reach]
        if "before" in rule and not any(re.fullmatch(rule["before"], word) for word in before):
            continue
        if "after" in rule and not any(re.fullmatch(rule["after"], word) for word in after):
            continue
        if (rule.get("place") == "first" and a > 0) or (rule.get("place") == "last" and b < len(words)):
            continue
        found |= set(range(a, b))
    return sorted(found)


def obeys(label, rule):
    return label in rule["are"] if "are" in rule else label not in rule["are_not"]


def holds(condition, words, y):
    """Whether a condition holds in a sequence."""

    def some(**entry):
        return any(True for _ in spoken_of(words, entry))

    tests = {
        "present": lambda labels: any(label in y for label in labels),
        "absent": lambda labels: not any(label in y for label in labels),
        "words": lambda entries: some(words=entries),
        "no_words": lambda entries: not some(words=entries),
        "pattern": lambda patterns: some(pattern=patterns),
        "no_pattern": lambda patterns: not some(pattern=patterns),
    }
    return all(tests[name](value) for name, value in condition.items())


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
    of_share = {"level": "corpus"} if "fraction" in rule else {}
    return {key: rule[key], **DEFAULTS, **DEFAULTS_OF.get(key, {}), **of_share, **rule}


def violations(rule, X, y, labels):
    """The sizes of all the violations that each have a penalty; of a rule for sequences, those of every sequence."""
    if rule["level"] == "corpus":
        return corpus_violations(explicit(rule, labels), X, y)
    return [v for words, row in zip(X, y, strict=True) for v in sequence_violations(rule, words, row, labels)]


def explicit(value, labels):
    """The same with lists of labels in place of `all_except`."""
    if isinstance(value, dict) and list(value) == ["all_except"]:
        return [label for label in labels if label not in value["all_except"]]
    return {key: explicit(inside, labels) for key, inside in value.items()} if isinstance(value, dict) else value


def words_in(tokens):
    """Without further columns."""
    return [token[0] if isinstance(token, tuple) else token for token in tokens]


def sequence_violations(rule, tokens, y, labels):
    words = words_in(tokens)
    if not holds(rule.get("if", {}), words, y):
        return []
    rule = explicit(rule, labels)
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
        return [outside(of(tokens, y), (rule.get("low", -inf), rule.get("high", 0)))]
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
        "change_after": lambda: [stays(words, y, of, some)],
        "block_starts_with": lambda: [wrong_edges(words, y, of, last=False)],
        "block_ends_with": lambda: [wrong_edges(words, y, of, last=True)],
        "votes": lambda: [unheard(tokens, y, of["column"], rule.get("label"))],
        "differ": lambda: [same_words(words, y, of)],
        "agree": lambda: [other_words(words, y, of)],
        "change_only_on": lambda: [len(changes_elsewhere(words, y, of, rule.get("side", "after")))],
    }[key]()


def corpus_violations(rule, X, y):
    key, of = next(iter(rule.items()))
    factor = 100 if rule.get("unit") == "percent" else 1
    pairs = [(words_in(tokens), row) for tokens, row in zip(X, y, strict=True)]
    if key == "proportion":
        every = [label for row in y for label in row]
        return [factor * outside(every.count(label) / len(every), share) for label, share in of.items()]
    if key == "count":
        number = n_blocks if rule.get("of", "blocks") == "blocks" else list.count
        means = {label: sum(number(list(row), label) for row in y) / len(y) for label in of}
        return [outside(means[label], target) for label, target in of.items()]
    if key == "function":
        mean = sum(of(tokens, row) for tokens, row in zip(X, y, strict=True)) / len(X)
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
