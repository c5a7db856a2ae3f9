"""Features of users: dictionaries, features beside words, Python functions."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from feature_cases import rewritten, values_by_token
from semistruct import CODL, CRF, SSVM, AnnealedSSVM, Rules, load
from semistruct.app.cli import main
from semistruct.base.errors import DataError, ModelError, ParameterError
from semistruct.features import Encoder, Features
from semistruct.learning.data import Data
from semistruct.rules import StartsWith, Words

light = settings(deadline=None, max_examples=60)
X = [["A", ".", "Turing"], ["K", ".", "Gödel", "1931"], ["1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"]]


def encoded(X, features="identity"):
    encoder = Encoder.for_data(X, features)
    return values_by_token(encoder, encoder.fit(X))


def title(tokens, t):
    """A function that tests use as features."""
    return {"title": tokens[t].istitle(), "length": len(tokens[t]) / 8, "last": {"word": tokens[t - 1] if t else ""}}


def listing(tokens, t):
    return ["digits"] * tokens[t].isdigit()


def word_and_tag(tokens, t):
    return ["+".join(tokens[t])]


def failing(tokens, t):
    return [tokens[t + 1]]


def saying_nothing(tokens, t):
    return None


def odd_value(tokens, t):
    return {"size": float("inf")}


# dictionaries ----------------------------------------------------------------------------------------------


def test_lists_and_dictionaries_inside_of_dictionaries():
    token = {"a": {"b": 1.5, "c": "x", "d": {"e": True}}, "f": ["x", "y"], "g": {"p"}, "h": True, "i": False, "j": []}
    wanted = {"a:b": 1.5, "a:c:x": 1.0, "a:d:e": 1.0, "f:x": 1.0, "f:y": 1.0, "g:p": 1.0, "h": 1.0}
    assert encoded([[token]]) == [wanted]


texts = st.sampled_from(["", "a", "b", "a:b", "é", "=", "[0]"])
numbers = st.booleans() | st.integers(-3, 3) | st.floats(-1e6, 1e6)
dictionaries = st.recursive(
    st.dictionaries(texts, numbers | texts | st.lists(texts, unique=True) | st.sets(texts), max_size=4),
    lambda inner: st.dictionaries(texts, inner | numbers | texts, max_size=4),
    max_leaves=12,
)


@light
@given(dictionaries)
def test_dictionaries_mean_what_they_mean_to_crfsuite(token):
    crfsuite = pytest.importorskip("pycrfsuite")
    names = list(_flat(token))
    assume(len(names) == len(set(names)))  # a name that is made twice has the last value there and the sum here
    theirs = {name: value for name, value in crfsuite.ItemSequence([token]).items()[0].items() if value}
    assert encoded([[token]]) == [theirs]


def _flat(value, name=""):
    """The names that a dictionary makes, one after the other."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(part, f"{name}:{key}" if name else f"{key}")
    elif isinstance(value, str):
        yield f"{name}:{value}"
    elif isinstance(value, list | set):
        yield from (f"{name}:{text}" for text in value)
    else:
        yield name


def test_arrays_have_a_row_for_each_number():
    tokens = [{"v": np.array([1.0, 0.0, -2.0]), "w": "x"}, {"v": np.arange(3, dtype=np.float32)}, {"w": "x"}]
    wanted = [{"v:0": 1.0, "v:2": -2.0, "w:x": 1.0}, {"v:1": 1.0, "v:2": 2.0}, {"w:x": 1.0}]
    encoder = Encoder(None)
    assert values_by_token(encoder, encoder.fit([tokens])) == wanted
    assert encoder.vocabulary.widths == {"v": 3}
    again = Encoder(None, list(encoder.vocabulary), encoder.vocabulary.widths)
    assert values_by_token(again, again.transform([tokens])) == wanted
    other = again.transform([[{"new": np.ones(2), "v": np.ones(3)}]])
    assert values_by_token(again, other) == [{"v:0": 1.0, "v:1": 1.0, "v:2": 1.0}]
    assert again.vocabulary.widths == {"v": 3}


def test_an_array_stays_whole_when_features_without_weight_are_left_out():
    encoder = Encoder(None)
    encoder.fit([[{"a": 1, "v": np.ones(3), "w": np.ones(2)}]])
    assert encoder.feature_names() == ["a", "v:0", "v:1", "v:2", "w:0", "w:1"]
    smaller, kept = encoder.without(np.array([True, True, False, True, True, True]))
    assert (smaller.feature_names(), kept.tolist()) == (["v:0", "v:1", "v:2"], [1, 2, 3])
    assert smaller.vocabulary.widths == {"v": 3}


BAD = {
    "width": ({"v": np.ones(4)}, "sequence 0, token 0: feature 'v' has 4 numbers, expected 3"),
    "a number": ({"v": 2.0}, "the feature 'v' is a vector, but this data has it as a name or number"),
    "nan": ({"v": np.array([1, np.nan, 2])}, "feature 'v' holds nan at place 1, expected finite numbers"),
    "large": ({"v": np.array([1, 2, 1e31])}, "feature 'v' holds 1e.31 at place 2"),
    "matrix": ({"v": np.ones((3, 1))}, r"feature 'v' is an array of shape \(3, 1\), expected \(n,\)"),
    "nothing": ({"v": np.ones(0)}, r"an array of shape \(0,\)"),
    "texts": ({"v": np.array(["a"])}, "expected an array of numbers"),
    "list of numbers": ({"v": [1, 2]}, r"feature 'v' is \[1, 2\], expected a string, a finite number"),
    "deep": ({"a": {"b": {"c": None}}}, "sequence 0, token 0: feature 'a:b:c' is None"),
    "key": ({"a": {1: "x"}}, "sequence 0, token 0: a feature is 1, expected a string"),
}


@pytest.mark.parametrize("case", BAD)
def test_values_that_cannot_be(case):
    token, message = BAD[case]
    encoder = Encoder(None)
    encoder.fit([[{"v": np.ones(3)}]])
    for call in (encoder.fit, encoder.transform):
        with pytest.raises(DataError, match=message):
            call([[token]])


def test_a_dictionary_that_contains_itself():
    token = {}
    token["a"] = token
    with pytest.raises(DataError, match="nested too deeply"):
        Encoder(None).fit([[token]])


def test_the_digest_of_data_sees_all_numbers_of_an_array():
    def digest(last):
        return Data.of([[("a", {"v": np.append(np.ones(5000), last), "s": {"x", "y"}})]], [["l"]]).origin["sha256"]

    assert digest(1.0) == digest(1.0) != digest(1.0 + 1e-12)


# features beside words -------------------------------------------------------------------------------------


def test_features_beside_words():
    x = [("The", {"cap": True}), "cat", ("sat", "VB", {"v": np.array([2.0, 0.5])}), ("on", ["lower=the", "f"])]
    wanted = [{"lower=the": 1, "given=cap": 1}, {"lower=cat": 1}, {"lower=sat": 1, "given=v:0": 2, "given=v:1": 0.5}]
    wanted.append({"lower=on": 1, "given=lower=the": 1, "given=f": 1})
    assert encoded([x], ["lower"]) == wanted
    columns = [("The", "DT", {"a": 2.0}), ("cat", "NN", {})]
    assert encoded([columns], ["column(1)"]) == [{"column(1)=DT": 1, "given=a": 2}, {"column(1)=NN": 1}]


def beside(X):
    return [[(word, {"year": word.isdigit(), "v": np.array([len(word), 1.0])}) for word in x] for x in X]


@pytest.mark.parametrize("method", [SSVM, CRF, AnnealedSSVM])
def test_rules_look_at_the_words_of_tokens_with_features(method, tmp_path):
    rules = Rules([Words(["turing"], are="date", weight="hard"), StartsWith("author")])
    pool = {"pool": beside(X)} if method is AnnealedSSVM else {}
    model = method(C=1.0, features=["word"], rules=rules).fit(beside(X), Y, **pool)
    new = beside([["Alan", "Turing"]])
    assert model.predict(new, rules=True)[0][1] == "date"
    model.save(tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert again.predict(new, rules=True) == model.predict(new, rules=True)
    assert_array_equal(again.decision_function(new), model.decision_function(new))


@pytest.mark.parametrize("form", [lambda word: {"w": word}, lambda word: [f"w={word}"]], ids=["dictionaries", "lists"])
@pytest.mark.parametrize("method", [SSVM, CRF, AnnealedSSVM])
def test_rules_about_words_are_refused_at_once_without_words(method, form):
    data = [[form(word) for word in x] for x in X]
    with pytest.raises(DataError, match=r"rules about words need tokens.*give each token as \(word, features\)"):
        method(C=1.0, rules=Rules([Words(["turing"], are="author")])).fit(data, Y)
    method(C=1.0, rules=Rules([StartsWith("author")])).fit(data, Y).predict(data, rules=True)


@pytest.mark.parametrize("token", [("a", 1), ("a", None), ({"f": 1},), ("a", {"f": 1}, "b"), ("a", [], [])])
def test_tuples_that_are_no_tokens(token):
    with pytest.raises(DataError, match="expected a tuple of strings, whose last part may be a list or dictionary"):
        SSVM().fit([[token]], [["l"]])


# functions -------------------------------------------------------------------------------------------------


def test_functions_give_features_with_values():
    for features in (["lower", title], ["lower", f"python({__name__}:title)"]):
        label = f"python({__name__}:title)"
        assert encoded([["The", "cat"]], features) == [
            {"lower=the": 1, f"{label}=title": 1, f"{label}=length": 3 / 8, f"{label}=last:word:": 1},
            {"lower=cat": 1, f"{label}=length": 3 / 8, f"{label}=last:word:The": 1},
        ]
    assert encoded([["a", "7"]], [listing]) == [{}, {f"python({__name__}:listing)=digits": 1}]
    columns = [("a", "DT", {"f": 1}), ("b", "NN")]
    assert encoded([columns], [word_and_tag])[0] == {f"python({__name__}:word_and_tag)=a+DT": 1, "given=f": 1}


def test_functions_are_saved_by_name_and_loaded_with_trust(tmp_path):
    model = SSVM(features=["word", title]).fit(X, Y)
    model.save(tmp_path / "m.model")
    with pytest.raises(ModelError, match=rf"calls the function '{__name__}:title'.*--trust {__name__}"):
        load(tmp_path / "m.model")
    again = load(tmp_path / "m.model", trust=[__name__])
    assert again.predict(X) == model.predict(X)
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.get_params()["features"] == ["word", f"python({__name__}:title)"]
    assert again.fit(X, Y).predict(X) == model.predict(X)
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)


def test_functions_inside_of_another_estimator(tmp_path):
    CODL(base=SSVM(features=[title], C=1.0), rounds=1, select="last").fit(X, Y, pool=X).save(tmp_path / "m.model")
    with pytest.raises(ModelError, match="trust"):
        load(tmp_path / "m.model")
    load(tmp_path / "m.model", trust=__name__)
    for trust in (3, None, [3], {"a": 1}):
        with pytest.raises(ParameterError, match="must be a list of names of modules"):
            load(tmp_path / "m.model", trust=trust)


class Callable:
    def __call__(self, tokens, t):
        return []

    def method(self, tokens, t):
        return []

    @staticmethod
    def static(tokens, t):
        return ["here"]


def test_functions_that_cannot_be_found_again():
    def local(tokens, t):
        return []

    for function in (local, lambda tokens, t: [], Callable(), Callable().method, len, Callable):
        with pytest.raises(ParameterError, match="expected a function that can be found by its name"):
            SSVM(features=["word", function]).fit(X, Y)
    assert encoded([["a"]], [Callable.static]) == [{f"python({__name__}:Callable.static)=here": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python(nowhere_at_all:f)", r"cannot import 'nowhere_at_all' \(ModuleNotFoundError"),
        (f"python({__name__}:nope)", rf"the module '{__name__}' \(.*\) has no 'nope'"),
        (f"python({__name__}:X)", "has a list, not a function, 'X'"),
        (f"python({__name__}:subprocess.run)", "this function is 'subprocess:run'; name it so"),
        ("python(json)", "expected module:function"),
        ("python", "python: expected a function"),
        (f"python({__name__}:title)[-1..1]", "takes no window"),
    ],
)
def test_texts_that_name_no_function(text, message):
    with pytest.raises(ParameterError, match=message):
        Features.of(["word", text])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (failing, r"sequence 0, token 2 \('Turing'\): the function .*:failing\) failed with IndexError: list index"),
        (saying_nothing, r"token 0 \('A'\): the function .*:saying_nothing\) returned None, expected a list"),
        (odd_value, r"sequence 0, token 0: python\(.*:odd_value\): feature 'size' is inf"),
    ],
)
def test_functions_that_fail(function, message):
    with pytest.raises(DataError, match=message):
        SSVM(features=[function]).fit(X, Y)


CALLING = """
import sys
from semistruct import load
from semistruct.base.errors import ModelError
try:
    load("b.model", trust={trust}).fit([["touch", "called"]], [["a", "b"]]).predict([["touch", "called"]])
except ModelError as err:
    print(err)
assert "harm" not in sys.modules
"""


@pytest.mark.parametrize("place", ["features", "parameters"])
@pytest.mark.parametrize("text", ["harm:f", "subprocess:call", "json:codecs.open"])
def test_a_model_cannot_have_code_run(tmp_path, place, text):
    """Not that of a file beside it, nor what is imported already."""
    (tmp_path / "harm.py").write_text("raise SystemExit('imported')\n")
    SSVM(features=["word"]).fit(X, Y).save(tmp_path / "a.model")

    def change(about):
        where, key = (about["features"], "specs") if place == "features" else (about["params"], "features")
        where[key] = ["word", f"python({text})"]

    rewritten(tmp_path / "a.model", tmp_path / "b.model", change)
    for trust in ([], ["json"]):
        code = CALLING.format(trust=trust)
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "b.model" in done.stdout
        assert not (tmp_path / "called").exists()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    rows = ["".join(f"{w}\t{y}\n" for w, y in zip(x, labels, strict=True)) for x, labels in zip(X, Y, strict=True)]
    (tmp_path / "data.tsv").write_text("\n".join(rows * 4), encoding="utf-8")
    return tmp_path


def run(*words):
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return stop.value.code or 0


@pytest.mark.filterwarnings("ignore::semistruct.base.errors.DataWarning")
def test_functions_on_the_command_line(folder, capsys):
    (folder / "features_here.py").write_text("def f(tokens, t):\n    return {'year': tokens[t].isdigit()}\n")
    path = list(sys.path)
    assert run("train", "data.tsv", "-o", "m.model", "-C", "1", "-q", "-f", "python(features_here:f)") == 0
    assert sys.path == path
    capsys.readouterr()
    del sys.modules["features_here"]
    (folder / "rules.yaml").write_text("rules:\n- present: author\n")
    commands = [
        "predict m.model data.tsv",
        "evaluate m.model data.tsv",
        "rules rules.yaml --model m.model --on data.tsv",
    ]
    for command in map(str.split, [*commands, "dump m.model"]):
        assert run(*command) == 2
        assert "if you trust that module, say so" in capsys.readouterr().err
        assert "features_here" not in sys.modules
        assert run(*command, "--trust", "features_here") == 0
        del sys.modules["features_here"]
    assert "python(features_here:f)=year" in capsys.readouterr().out
    assert run("curve", "data.tsv", "-q", "--folds", "2", "--sizes", "2", "-f", "python(features_here:f)") == 0


@pytest.mark.filterwarnings("ignore::semistruct.base.errors.DataWarning")
def test_columns_in_all_commands(folder, capsys):
    text = (folder / "data.tsv").read_text(encoding="utf-8")
    lines = [line.replace("\t", "\tNUM\t" if line[:1].isdigit() else "\tWORD\t") for line in text.split("\n")]
    (folder / "tagged.tsv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "rules.yaml").write_text("rules:\n  - words: [turing]\n    are: author\n")
    train = ["train", "tagged.tsv", "-r", "rules.yaml", "-C", "1", "-q", "-o", "m.model", "-f", "column(1)[-1..1]"]
    assert run(*train) == 0
    assert run(*train, "-u", "tagged.tsv", "-p", "rounds=1") == 0
    capsys.readouterr()
    assert run("predict", "m.model", "tagged.tsv") == 0
    assert "Turing\tWORD\tauthor" in capsys.readouterr().out
    assert run("evaluate", "m.model", "tagged.tsv") == 0
    assert "token accuracy     100.00%" in capsys.readouterr().out
    assert run("rules", "rules.yaml", "--on", "tagged.tsv") == 0
    assert run("curve", "tagged.tsv", "-q", "--folds", "2", "--sizes", "2", "-f", "column(1)", "-r", "rules.yaml") == 0
