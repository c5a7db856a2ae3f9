"""Calls from Python: values of wrong shapes and types, and decoding under rules against enumeration."""

import json
import random

import numpy as np

import semistruct
from fuzz.files import DATA, POOL, X, Y
from fuzz.part import Input, JsonPart, Part
from matching_cases import near, not_above, random_case
from rule_strategies import AMOUNTS, MARKS, PATTERNS, SHARES
from semistruct.prediction import decode_under
from semistruct.rules import Rules
from semistruct.rules.vocabulary import VOCABULARY

VALUES = """
None|True|0|-1|3|1.5|nan|inf|10**400|''|'x'|'abc'|b'x'|[]|[[]]|[[[]]]|[None]|[[None]]|[['a']]|[['']]|[[' ']]|[[1]]
[[1.5]]|[[True]]|[[{}]]
[[{'f': 1.0}]]|[[{'f': nan}]]|[[{'f': 'x'}]]|[[{1: 2.0}]]|[[{'f': None}]]|[[['f', 'g']]]|[[['f', 1]]]
[[('a', 'b')]]|[[('a',)], [('a', 'b')]]
[[{'f': np.ones(2)}]]|[[{'f': np.ones(2)}], [{'f': np.ones(3)}]]|[[{'f': np.zeros((2, 0))}]]
[[{'f': {'g': {'h': 'x'}}}]]|[[{'f': ['x', 'y']}]]|[[{'f': [1]}]]|[[('a', {'f': 1})]]
[[('a', {'f': np.ones(2)})], ['b']]|[[('a', [])]]|[[('a', 1)]]
[[()]]|{}|{'a': 1}|{'a': [1]}|set()|object()|X|Y|X[:1]|Y[:1]|[*X, []]|[*Y, []]|[*Y[:-1], None]
[[None] * len(x) for x in X]|tuple(X)|tuple(map(tuple, Y))
np.zeros(3)|np.zeros((2, 2))|np.array(X, dtype=object)|np.array(['a', 'b'])|iter(X)|['abc']|[['a', 'b'], 'cd']
Corpus.of(X, Y)|rules|Rules([])
[['\\ud800']]|[['\\0']]|[['a\\nb']]|range(3)|len|float|np.float32(1)|np.int64(2)|[[np.str_('a')]]|'/nowhere/x'|'.'
'author'|['author']|['author', 'author']
{'author': 0.5}|{'author': (0.1, None)}|{'author': (2, 1)}|{'author': nan}|(0.1, 0.9)|'hard'|'all'|'('|'(a+)+$'
['(']|[1.0, 10.0]|[1.0, 'a']|[nan]|(X, Y)|(X,)|POOL
[0.1, -1]|1e-300|1e300|2**31|2**63|-2**63|'word'|'default'|['word', 'shape']|['lower[-1..1]']|['word[-9999..9999]']
['word', len]|['python(json:dumps)']|'python(x)'|'vectors(/nowhere)'|[lambda tokens, t: []]
'auto'|'dev'|'last'|'bio'|'tsv'|'jsonl'|'none'
"""
ESTIMATORS = {
    "SSVM": {"features": "['word']"},
    "CRF": {"features": "['word']"},
    "HMM": {},
    "AnnealedSSVM": {"features": "['word']", "schedule": "[1.0]", "rounds": "1", "C": "1.0"},
    "TransductiveSSVM": {"features": "['word']", "C": "1.0"},
    "PosteriorRegularization": {"features": "['word']", "C": "1.0"},
    "GeneralizedExpectation": {"features": "['word']", "C": "1.0"},
}
LONG_RUNNING = {"n_jobs", "max_iter", "max_passes", "rounds", "learn_iterations", "tol"}  # large values are obeyed
CALLS = """
ssvm.predict(@)|ssvm.predict(X, rules=@)|ssvm.predict(X, rules=rules, corpus=@)|ssvm.predict(X, n_best=@)
ssvm.predict(@, rules=rules)|ssvm.predict(@, n_best=2)
ssvm.confidence(@)|ssvm.confidence(X, @)|ssvm.confidence(@, @)|ssvm.score(@, Y)|ssvm.score(X, @)
ssvm.score(X, Y, rules=@)|ssvm.decision_function(@)|ssvm.confidence(X, rules=@)|crf.confidence(X, rules=@)
ssvm.decision_function(X, rules=@)|crf.predict_marginals(@)|crf.confidence(@)|crf.confidence(X, @)|hmm.predict(@)
load(@)|load('m', trust=@)|evaluate(@, Y)|evaluate(Y, @)|evaluate(@, @)
Rules(@)|Rules(@, @)|Rules([], @)|Rules.from_text(@)|Rules.from_file(@)|Rules.from_dict(@)
Rules.from_dict({'rules': @})|Rules.from_dict({'rules': [], 'labels': @})
read(@)|read('data', format=@)|read('data', scheme=@)|read('data', label_column=@)|read('data', outside=@)
read('data', encoding=@)|list(stream(@))
write(@, 'out', 'tsv')|write(corpus, 'out', @)|write(corpus, 'out', 'jsonl', scheme=@)
write(corpus, 'out', 'tsv', encoding=@)|tokenize(@)|Corpus.of(@)|Corpus.of(X, @)
Example(@)|Example(['a'], @)|Features(@)|make_citations(2, seed=@)|ssvm.save('m', card=@)
"""


def _listed(text):
    return [part for line in text.strip().splitlines() for part in line.split("|")]


class Calls(Part):
    """Every public function with values that are not meant for it."""

    name = "calls"
    share = 2.0
    batch = 200
    values = _listed(VALUES)
    calls = _listed(CALLS)

    def warm(self, folder):
        super().warm(folder)
        rules = Rules.from_text("rules:\n - starts_with: author\n - proportion: {date: 0.3}\n")
        names = {name: getattr(semistruct, name) for name in semistruct.__all__}
        fitted = {
            "ssvm": semistruct.SSVM(features=["word"], rules=rules),
            "crf": semistruct.CRF(features=["word"]),
            "hmm": semistruct.HMM(),
        }
        self.names = {
            **names, **{rule.__name__: rule for rule in VOCABULARY.values()},
            **{name: estimator.fit(X, Y) for name, estimator in fitted.items()},
            "X": X, "Y": Y, "POOL": POOL, "rules": rules, "np": np, "nan": float("nan"), "inf": float("inf"),
            "corpus": semistruct.Corpus.of(X, Y),
        }  # fmt: skip
        (self.folder / "data").write_text(DATA["tsv"])
        for name, further in ESTIMATORS.items():  # compiles what they need
            pool = ", pool=POOL" if hasattr(getattr(semistruct, name), "axis") else ""
            self.run(Input(f"{_call(name, further)}.fit(X, Y{pool})".encode()))
        for call in ("predict(X, rules=rules, n_best=2)", "decision_function(X, rules=rules)", "confidence(X)"):
            self.run(Input(f"ssvm.{call}".encode()))

    def make(self, rng):
        kind, values = rng.random(), self.values
        if kind < 0.55:
            text = rng.choice(self.calls)
        elif kind < 0.75:
            rule = rng.choice(sorted(VOCABULARY.values(), key=lambda r: r.__name__))
            extra = rng.choice(sorted(rule.model_fields))
            text = f"Rules([{rule.__name__}({rng.choice(['@', repr('author'), repr(['author', 'date'])])}, {extra}=@)])"
        elif kind < 0.9:
            name = rng.choice(list(ESTIMATORS))
            further = rng.choice(["", "", "", ", dev=@", ", pool=@" if name not in ("SSVM", "CRF", "HMM") else ""])
            text = f"{_call(name, ESTIMATORS[name])}.fit({rng.choice(['@, Y', 'X, @', '@, @', 'X, Y'])}{further})"
        else:
            name = rng.choice(list(ESTIMATORS))
            own = getattr(semistruct, name)().get_params(deep=False)
            choice = rng.choice(sorted(set(own) - LONG_RUNNING))
            text = f"{_call(name, {**ESTIMATORS[name], choice: '@'})}.fit(X, Y)"
        while "@" in text:
            text = text.replace("@", rng.choice(values), 1)
        return Input(text.encode())

    def run(self, given):
        names = dict(self.names)
        code = compile(given.content.decode().replace("'data'", repr(str(self.folder / "data"))), "<call>", "eval")
        eval(code, names)
        return "accepted"

    def smaller(self, content):
        return ()


def _call(name, params):
    return f"{name}({', '.join(f'{key}={value}' for key, value in params.items())})"


class Decoding(JsonPart):
    """The best labellings of random small models under random rules, against all labellings."""

    name = "decoding"
    share = 2.0
    batch = 20

    def warm(self, folder):
        super().warm(folder)
        for i in range(30):  # compiles all kernels
            self.run(self.make(random.Random(i)))

    def make(self, rng):
        labels = "abcd"[: rng.choice([1, 2, 3, 3, 3, 4])]
        longest = 5 if len(labels) < 4 else 4
        value = {
            "labels": labels, "lengths": [rng.randint(1, longest) for _ in range(rng.choice([1, 2]))],
            "rules": [random_rule(rng, list(labels)) for _ in range(rng.randint(1, 4))],
            "seed": rng.getrandbits(32), "whole": rng.random() < 0.5, "size": rng.choice([0.0, 0.1, 3.0, 50.0]),
            "k": rng.choice([1, 1, 2, 5]),
        }  # fmt: skip
        return Input(json.dumps(value).encode())

    def smaller(self, content):
        value = json.loads(content)
        for i in range(len(value["rules"])):
            yield json.dumps({**value, "rules": value["rules"][:i] + value["rules"][i + 1 :]}).encode()

    def run(self, given):
        value = json.loads(given.content)
        rules = [{key: _ranges(entry) for key, entry in rule.items()} for rule in value["rules"]]
        rng = np.random.default_rng(value["seed"])
        case = random_case(rng, value["lengths"], value["labels"], rules, size=value["size"], whole=value["whole"])
        k = value["k"]
        found = decode_under(case.batch, case.weights, case.tables, k=k, n_jobs=1)
        for i in range(len(case.X)):
            worth = {path: score - case.instance(i, path) for path, score in case.scores[i].items()}
            best = sorted(worth.values(), reverse=True)
            paths = [tuple(row[case.tokens(i)].tolist()) for row in found.labels]
            there = found.values[i] > -np.inf
            assert there.sum() == min(k, len(best)), f"{there.sum()} labellings, not {min(k, len(best))}"
            assert near(found.values[i][there], [worth[path] for path, y in zip(paths, there, strict=True) if y]), (
                "values are wrong"
            )
            assert not_above(best[0], found.ceiling[i]), "there is a better labelling than the ceiling says"
            if found.exact[i]:
                assert near(found.values[i][there], best[: there.sum()]), "not the best labellings"
        if len(case.tables.corpus):
            one, switched = (
                decode_under(case.batch, case.weights, case.tables, corpus=corpus, n_jobs=1) for corpus in (False, True)
            )  # the best of k may be another one of equals
            before, after = (case.objective(f.labels[0], np.ones(len(case.X)), 0.0) for f in (one, switched))
            assert not_above(after, before), "corpus rules made it worse"
        return "accepted"


def _ranges(entry):
    """Ranges are lists in JSON, and tuples in descriptions of rules."""
    if isinstance(entry, dict):
        return {key: _ranges(inner) for key, inner in entry.items()}
    is_range = (
        isinstance(entry, list) and len(entry) == 2 and all(x is None or isinstance(x, int | float) for x in entry)
    )
    return tuple(entry) if is_range else entry


def random_rule(rng, labels):
    """A description of a rule, as in `rule_strategies`."""

    def some(values=labels, least=1):
        return rng.sample(values, rng.randint(least, min(3, len(values))))

    def target(values):
        low, high = sorted(rng.choices(values, k=2))
        return rng.choice([low, high, [low, high], [low, None], [None, high]])

    def about_words(key, value):
        rule = {key: value, rng.choice(["are", "are_not"]): some()}
        if rng.random() < 0.3:
            rule[rng.choice(["before", "after"])] = rng.choice(PATTERNS)
        if rng.random() < 0.3:
            rule |= {"level": "corpus", "fraction": target(SHARES)}
        return rule

    def length(key):
        return {key: rng.randint(1, 5), **({"labels": some()} if rng.random() < 0.5 else {})}

    kinds = [
        lambda: {"starts_with": some()}, lambda: {"ends_with": some()}, lambda: {"exactly_once": some()},
        lambda: {"present": some()},
        lambda: {"at_most_once": rng.choice(["all", some()]), "counting": rng.choice(["blocks", "labels"])},
        lambda: {"change_only_on": some(MARKS), "side": rng.choice(["after", "either"])},
        lambda: {"change_only_on": some(MARKS), "level": "corpus", "fraction": target(SHARES)},
        lambda: about_words("words", some(["pp", "PP", "CA", "1984", "ß", "nothing"])),
        lambda: about_words("pattern", rng.choice(PATTERNS)),
        lambda: length("min_length"), lambda: length("max_length"),
        lambda: {"order": rng.sample(labels, rng.randint(2,
        len(labels)))} if len(labels) > 1 else {"present": some()},
        lambda: {"follows": {label: some() for label in some()}},
        lambda: {"never_follows": {label: some() for label in some()}},
        lambda: {"proportion": {rng.choice(labels): target(SHARES)}, "level": rng.choice(["instance", "corpus"]),
                 "unit": rng.choice(["fraction", "percent"])},
        lambda: {"count": {label: target(AMOUNTS) for label in some()}, "level": rng.choice(["instance", "corpus"]),
                 "of": rng.choice(["blocks", "tokens"])},
    ]  # fmt: skip
    rule = rng.choice(kinds)()
    if rng.random() < 0.7:
        rule["weight"] = rng.choice(["hard", 0.25, 1, 7.5])
    if rng.random() < 0.5:
        rule["penalty"] = rng.choice(["absolute", "square"])
    return rule
