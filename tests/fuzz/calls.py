"""Calls from Python: every public function with values that are not meant for it."""

import numpy as np
from hypothesis import strategies as st

import semistruct
from fuzz.campaign import Part
from fuzz.files import DATA, POOL, X, Y
from semistruct.rules import Rules
from vocabulary_strategies import kinds

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
    name = "calls"
    share = 2.0

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
            **names, **{rule.__name__: rule for rule in kinds()},
            **{name: estimator.fit(X, Y) for name, estimator in fitted.items()},
            "X": X, "Y": Y, "POOL": POOL, "rules": rules, "np": np, "nan": float("nan"), "inf": float("inf"),
            "corpus": semistruct.Corpus.of(X, Y),
        }  # fmt: skip
        (self.folder / "data").write_text(DATA["tsv"])
        for name, further in ESTIMATORS.items():  # compiles what they need
            pool = ", pool=POOL" if hasattr(getattr(semistruct, name), "axis") else ""
            self.run(f"{_call(name, further)}.fit(X, Y{pool})")
        for call in ("predict(X, rules=rules, n_best=2)", "decision_function(X, rules=rules)", "confidence(X)"):
            self.run(f"ssvm.{call}")

    def inputs(self):
        return st.one_of(
            st.sampled_from(_listed(CALLS)), st.sampled_from(_listed(CALLS)), of_rules(), of_estimators()
        ).flatmap(filled)

    def run(self, given):
        code = compile(given.replace("'data'", repr(str(self.folder / "data"))), "<call>", "eval")
        eval(code, dict(self.names))


@st.composite
def of_rules(draw):
    rule = draw(st.sampled_from(kinds()))
    first = draw(st.sampled_from(["@", repr("author"), repr(["author", "date"])]))
    return f"Rules([{rule.__name__}({first}, {draw(st.sampled_from(sorted(rule.model_fields)))}=@)])"


@st.composite
def of_estimators(draw):
    """What is learned from odd data, or with an odd parameter."""
    name = draw(st.sampled_from(list(ESTIMATORS)))
    if draw(st.booleans()):
        own = sorted(set(getattr(semistruct, name)().get_params(deep=False)) - LONG_RUNNING)
        return f"{_call(name, {**ESTIMATORS[name], draw(st.sampled_from(own)): '@'})}.fit(X, Y)"
    pool = ", pool=@" if hasattr(getattr(semistruct, name), "axis") else ""
    further = draw(st.sampled_from(["", ", dev=@", pool]))
    return f"{_call(name, ESTIMATORS[name])}.fit({draw(st.sampled_from(['@, Y', 'X, @', '@, @', 'X, Y']))}{further})"


@st.composite
def filled(draw, text):
    while "@" in text:
        text = text.replace("@", draw(st.sampled_from(_listed(VALUES))), 1)
    return text


def _call(name, params):
    return f"{name}({', '.join(f'{key}={value}' for key, value in params.items())})"
