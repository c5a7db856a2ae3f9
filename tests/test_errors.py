"""Messages: one sentence of bearable length, whatever users give; and what used to end in a traceback."""

import json
import warnings
import zipfile

import numpy as np
import pytest

from semistruct import CODL, SSVM, Rules, load, read, write
from semistruct.base.errors import (
    LONGEST_MESSAGE,
    DataError,
    DataWarning,
    ModelError,
    ParameterError,
    RuleWarning,
    SemistructError,
    all_of,
    bearable,
    meant,
)
from semistruct.rules import Function, Order, Pattern, Present, Proportion, StartsWith, Votes, Words

LONG = "x" * 5000
MANY = [f"label-number-{i}-{'y' * 30}" for i in range(300)]
X, Y = [["a", "b"], ["c"]], [["x", "y"], ["x"]]


@pytest.fixture(scope="module")
def model():
    return SSVM(features=["word"], C=1.0).fit(X, Y)


def test_a_long_message_keeps_both_ends():
    message = f"file:3: {LONG}, expected a number"
    for one in (bearable(message), str(DataError(message)), str(DataWarning(message)), str(RuleWarning(message))):
        assert len(one) <= LONGEST_MESSAGE
        assert one.startswith("file:3: xxx")
        assert one.endswith("xxx, expected a number")
    assert bearable("a\nb") == "a b"


def test_a_list_ends_where_there_is_no_room():
    assert all_of(["a", "b"]) == "a, b"
    assert all_of([]) == ""
    assert all_of(map(str, range(1000))).endswith(", 30, 31 and 968 more")
    assert all_of([LONG, LONG]) == f"{'x' * 60}..., {'x' * 60}..."[:63] + " and 1 more"
    assert meant("q", MANY) == f"there are {MANY[0]}, {MANY[1]} and 298 more"


def hard(words, label):
    return Words(words, are=label, weight="hard")


def failing(tokens, labels):
    raise ValueError(LONG)


CALLS = {
    "unknown label": lambda m, d: m.confidence([["a"]], [[LONG]]),
    "labels of a model": lambda m, d: SSVM(C=1.0).fit([["a"] * 300], [MANY]).confidence([["a"]], [["q"]]),
    "long words": lambda m, d: Rules([Words([LONG] * 30, are="z")], ["a"]),
    "many words": lambda m, d: Rules([Words(MANY, are="z")], ["a"]),
    "many labels": lambda m, d: Rules([StartsWith("z")], MANY),
    "a pattern": lambda m, d: Rules([Pattern(LONG, are="z")], ["a"]),
    "a bad pattern": lambda m, d: Pattern(f"({LONG}", are="z"),
    "an order": lambda m, d: Rules([Order(MANY)], ["a"]),
    "a name": lambda m, d: Rules([Present("z", name=LONG)], ["a"]),
    "no rule": lambda m, d: Rules.from_text(f"rules:\n- {{{LONG}: 1}}"),
    "a list of many": lambda m, d: Rules.from_text(
        f"lists: {{{', '.join(f'{name}: [a]' for name in MANY)}}}\nrules:\n- {{words: {{list: q}}, are: z}}"
    ),
    "a circle": lambda m, d: Rules.from_text(
        "lists:\n" + "".join(f"  l{i}: {{list: l{(i + 1) % 300}}}\n" for i in range(300)) + "rules: []"
    ),
    "a path": lambda m, d: Rules.from_file(LONG),
    "a long path": lambda m, d: Rules.from_file("/".join([str(d), *["p" * 200] * 4])),
    "data": lambda m, d: read(d / LONG),
    "votes": lambda m, d: Rules([Votes({"file": LONG})]),
    "a function": lambda m, d: m.predict([["a"]], rules=Rules([Function(failing, name=LONG)])),
    "rules in conflict": lambda m, d: m.predict(
        [["a", "b"]], rules=Rules([hard([word, *MANY], label) for word in "ab" for label in "xy"])
    ),
    "rules aside": lambda m, d: CODL(rules=Rules([Proportion({n: 0.001}) for n in MANY[:20]], MANY), rounds=1).fit(
        [["a"] * 300], [MANY], pool=[["b"]]
    ),
    "entries that are not read": lambda m, d: read(
        lines(d, {"text": "a b", "accept": [], "spans": [], **dict.fromkeys(MANY, 1)})
    ),
    "columns": lambda m, d: read(written(d, f"{','.join(MANY)}\n{','.join(MANY)}\n"), format="csv"),
    "output": lambda m, d: write(read(lines(d, {"tokens": ["a"], "labels": ["b"]})), d / LONG, "tsv"),
    "features": lambda m, d: SSVM(features=[f"lexicon({LONG})"]).fit(X, Y),
    "a parameter": lambda m, d: SSVM(C=LONG).fit(X, Y),
    "a model": lambda m, d: load(LONG),
    "a method": lambda m, d: changed(m, d, lambda about: about.update(method=LONG)),
    "another version": lambda m, d: changed(m, d, lambda about: about.update(format=10**300)),
    "rules of a model": lambda m, d: changed(m, d, lambda about: about.update(rules={"rules": [{"present": LONG}]})),
}


def written(folder, text):
    (folder / "data").write_text(text)
    return folder / "data"


def lines(folder, record):
    return written(folder, json.dumps(record) + "\n")


def changed(model, folder, change):
    """A model whose description was changed, loaded."""
    model.save(folder / "a.model")
    with zipfile.ZipFile(folder / "a.model") as archive:
        about, weights = json.loads(archive.read("model.json")), archive.read("weights.safetensors")
    change(about)
    with zipfile.ZipFile(folder / "b.model", "w") as archive:
        archive.writestr("model.json", json.dumps(about))
        archive.writestr("weights.safetensors", weights)
    return load(folder / "b.model")


@pytest.mark.parametrize("call", CALLS)
def test_no_message_is_long(model, tmp_path, call):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            CALLS[call](model, tmp_path)
            said = [str(one.message) for one in told]
        except SemistructError as err:
            said = [str(err)]
    assert said
    assert max(map(len, said)) <= LONGEST_MESSAGE


@pytest.mark.parametrize("option", ["format", "scheme", "outside", "tokens", "encoding"])
@pytest.mark.parametrize("value", [np.array([1, 2]), {}, 5])
def test_options_of_reading_that_are_no_texts_are_refused(tmp_path, option, value):
    with pytest.raises(SemistructError):
        read(written(tmp_path, "a\tx\n"), **{option: value})


@pytest.mark.parametrize("n_jobs", ["x", 0, 1.5, True, np.array([1, 2])])
def test_n_jobs_that_is_set_later_is_checked(n_jobs):
    model = SSVM(features=["word"], C=1.0).fit(X, Y)
    model.n_jobs = n_jobs
    for call in (model.predict, model.confidence):
        with pytest.raises(ParameterError, match="must be None or a whole number >= 1"):
            call(X)


@pytest.mark.parametrize("where", ["token", "record"])
def test_an_integer_beyond_all_floats_in_a_calibration(model, tmp_path, where):
    def change(about):
        plain = about["calibration"]["plain"]
        if where == "token":
            plain["curves"]["token"] = [int("9" * 401), 1]
        else:
            plain["records"]["sequence"]["likeness"] = int("9" * 401)

    with pytest.raises(ModelError, match="the model is damaged"):
        changed(model, tmp_path, change)


def test_a_document_of_spacy_with_a_label_that_it_does_not_name(tmp_path):
    spacy = pytest.importorskip("spacy")

    doc = spacy.tokens.Doc(spacy.vocab.Vocab(), words=["Turing", "1936"])
    doc.set_ents([spacy.tokens.Span(doc, 0, 1, label="nonesuch")])
    stored = spacy.tokens.DocBin(docs=[doc])
    stored.strings.discard("nonesuch")
    (tmp_path / "a.spacy").write_bytes(stored.to_bytes())
    with pytest.raises(DataError, match=r"a\.spacy:1: damaged: it names a text that the DocBin does not have"):
        read(tmp_path / "a.spacy")
