"""Templates on hand-made examples, and the encoder against spelling out every feature of every token."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import brute
from semistruct import make_citations
from semistruct.errors import DataError, ParameterError
from semistruct.features import SETS, Encoder, Features, sources
from semistruct.features.registry import SEQUENCES, STEPS, WORDS
from semistruct.features.texts import Text, values_of
from semistruct.features.words import CLASSES

light = settings(deadline=None, max_examples=60)


def of_word(spec, token):
    """The values of a word template at one token."""
    ((_, _, template),) = Features.of(spec).compile().words
    return template(token)


def of_sequence(spec, text):
    """The values of a sequence template at the blank-separated tokens of a text."""
    ((_, template),) = Features.of(spec).compile().sequences
    return template(text.split())


def names_by_token(encoder, batch):
    """The names of the features of each token."""
    names = np.array(encoder.feature_names(), object)
    return [set(names[batch.indices[a:b]]) for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)]


def values_by_token(encoder, batch):
    """{feature name: value} of each token."""
    names, values = encoder.feature_names(), np.broadcast_to(batch.values, batch.indices.shape)
    return [
        {names[batch.indices[j]]: values[j].item() for j in range(a, b)}
        for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)
    ]


# word templates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "token", "values"),
    [
        ("word", "McCarthy", ["McCarthy"]),
        ("word", ("runs", "VBZ"), ["runs"]),
        ("lower", "McCarthy", ["mccarthy"]),
        ("lower", ("Runs", "VBZ"), ["runs"]),
        ("shape", "McCarthy-87", ["AaAa-0"]),
        ("shape", "...", ["."]),
        ("kinds", "Berlin", ["places"]),
        ("kinds", "(Mrs.", ["forms-of-address"]),
        ("kinds", ("PLC", "NNP"), ["companies"]),
        ("kinds", "xyzzy", []),
        ("kinds", "...", []),
        ("shape", "Éluard", ["Aa"]),
        ("digits", "7", ["1"]),
        ("digits", "1998", ["4"]),
        ("digits", "1234567", ["5"]),
        ("digits", "19a", []),
        ("prefix(2-4)", "Journal", ["jo", "jou", "jour"]),
        ("prefix(2-4)", "The", ["th"]),
        ("prefix(3)", "The", []),
        ("suffix(2-4)", "Journal", ["al", "nal", "rnal"]),
        ("suffix(2-4)", "of", []),
        ("suffix(1)", "of", ["f"]),
        ("column(1)", ("runs", "VBZ", "x"), ["VBZ"]),
        ("column(0)", ("runs", "VBZ", "x"), ["runs"]),
    ],
)
def test_values_of_word_templates(spec, token, values):
    assert of_word(spec, token) == values


WORDS_IN_CLASSES = {
    "1998": {"year", "number", "has digit"},
    "2003b": {"year", "has digit"},
    "1798": {"number", "has digit"},
    "12-15": {"range", "hyphen", "has digit"},
    "12--15": {"range", "has digit"},
    "3rd": {"ordinal", "has digit"},
    "3.5": {"decimal", "has digit"},
    "$": {"money", "punctuation"},
    "20€": {"money", "has digit"},
    "XIV": {"roman", "all capitals"},
    "NLP": {"all capitals"},
    "Sept": {"month", "capitalised"},
    "may": {"month", "lower case"},
    "mayor": {"lower case"},
    "http://x": {"url"},
    "paper.pdf": {"url"},
    "me@here.edu": {"url", "e-mail"},
    "J.": {"initial"},
    "J": {"initial"},
    "Ray": {"capitalised"},
    "McCarthy": {"capitalised", "mixed case"},
    "iOS": {"mixed case"},
    "co-op": {"hyphen"},
    "``": {"quote", "punctuation"},
    '"': {"quote", "punctuation"},
    "(": {"opening", "punctuation"},
    "]": {"closing", "punctuation"},
    ",": {"punctuation"},
}


@pytest.mark.parametrize("token", WORDS_IN_CLASSES)
def test_classes(token):
    assert set(of_word("classes", token)) == WORDS_IN_CLASSES[token]


def test_every_class_has_an_example():
    assert set().union(*WORDS_IN_CLASSES.values()) == set(CLASSES)


def test_a_missing_column_says_what_was_wanted():
    for token, found in [("word", 1), (("word", "pos"), 2)]:
        with pytest.raises(ParameterError, match=rf"column\(2\) needs tokens with 3 columns, .* has {found}"):
            of_word("column(2)", token)


BROWN = "001011\trun\t12\n001011\tRan\t3\n11\tthe\t99\n"
PAIRS = "run\tverbs\nthe\tdeterminers\n"


def test_clusters_of_bits_come_with_their_prefixes(tmp_path):
    file = tmp_path / "brown.tsv"
    file.write_text(BROWN, encoding="utf-8")
    spec = f"cluster({file})"
    assert of_word(spec, "run") == ["001011", "0010"]
    assert of_word(spec, "Ran") == ["001011", "0010"]
    assert of_word(spec, "RUN") == ["001011", "0010"]
    assert of_word(spec, "ran") == []
    assert of_word(spec, "The") == ["11"]


def test_long_clusters_of_bits(tmp_path):
    file, bits = tmp_path / "brown.tsv", "010101010101"
    file.write_text(f"{bits}\tw\t1\n", encoding="utf-8")
    assert of_word(f"cluster({file})", "w") == [bits, bits[:4], bits[:6], bits[:10]]


def test_named_clusters_are_taken_whole(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text(PAIRS + "\n", encoding="utf-8")
    assert of_word(f"cluster({file})", "Run") == ["verbs"]
    assert of_word(f"cluster({file})", "cat") == []


def test_cluster_files_with_other_columns(tmp_path):
    file = tmp_path / "bad.tsv"
    for line, found in (("only one", "1 column"), ("a\tb\tc\td", "4 columns")):
        file.write_text(f"run\tverbs\n\n{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=f"^{file}:3: {found}, expected 2 or 3 with a TAB between them"):
            Features.of(f"cluster({file})")


# sequence templates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text", "values"),
    [
        ("begin", "a b c", [["yes"], [], []]),
        ("end", "a b c", [[], [], ["yes"]]),
        ("begin", "a", [["yes"]]),
        ("end", "a", [["yes"]]),
        ("bigram", "The CAT sat", [["^ the"], ["the cat"], ["cat sat"]]),
        ("shapes", "The 12 .", [["^ Aa"], ["Aa 0"], ["0 ."]]),
        ("position", "a b c d e", [["<0", ">3"], ["<1", ">2"], ["<2", ">2"], ["<2", ">1"], ["<3", ">0"]]),
        ("enclosed", "a ( b ) c", [[], ["brackets"], ["brackets"], ["brackets"], []]),
        ("enclosed", "`` a '' b", [["quotes"], ["quotes"], [], []]),
        ("enclosed", '" [ a " ] b', [["quotes"], *[["brackets", "quotes"]] * 2, *[["brackets"]] * 2, []]),
        ("signs", "a , b . c", [["<^", ">,"], ["<^", ">."], ["<,", ">."], ["<,", ">^"], ["<.", ">^"]]),
    ],
)
def test_values_of_sequence_templates(spec, text, values):
    assert of_sequence(spec, text) == values


def test_lexicon_takes_the_longest_match(tmp_path):
    file = tmp_path / "places.txt"
    file.write_text("New  York\n\nnew york city\nYork\ncity of London\n", encoding="utf-8")
    spec = f"lexicon({file})"
    assert of_sequence(spec, "in New York City") == [[], ["B"], ["I"], ["I"]]
    assert of_sequence(spec, "New York city of London") == [["B"], ["I"], ["I"], [], []]  # no overlap
    assert of_sequence(spec, "new york york new") == [["B"], ["I"], ["B"], []]
    assert of_sequence(spec, "new") == [[]]


def test_a_lexicon_without_phrases_matches_nothing(tmp_path):
    file = tmp_path / "none.txt"
    file.write_text("\n", encoding="utf-8")
    assert of_sequence(f"lexicon({file})", "a b") == [[], []]


def test_files_are_read_once_and_kept(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("\ufeffanna\n", encoding="utf-8")
    features = Features.of(f"lexicon({file})")
    file.unlink()
    encoder = Encoder(features)
    encoder.fit([["Anna", "met", "Anna"]])
    assert encoder.feature_names() == ["lexicon(names)=B"]


# reading feature sets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_named_sets(name):
    features = Features.of(name)
    assert features.specs == SETS[name]
    compiled = features.compile()
    assert len(compiled.labels) == sum(not spec.startswith("steps") for spec in SETS[name])


def test_sets_and_templates_together():
    assert Features.of(["identity", "lower", "identity"]).specs == ("word", "lower")


@pytest.mark.parametrize(
    ("spec", "window"),
    [("lower", [0]), ("lower[-1]", [-1]), ("lower[2]", [2]), ("lower[-2..1]", [-2, -1, 0, 1]), ("lower[1..2]", [1, 2])],
)
def test_windows(spec, window):
    ((label, found, _),) = Features.of(spec).compile().words
    assert (label, list(found)) == ("lower", window)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "the list is empty"),
        ("lowr", "there is no template or feature set 'lowr'; did you mean 'lower'"),
        ("papre", "did you mean 'paper'"),
        ("zzzzz", "there is no template or feature set 'zzzzz'; there are default, paper, identity, hmm, word,"),
        ("lower[", r"cannot read 'lower\['"),
        ("Lower", "there is no template or feature set 'Lower'; did you mean 'lower'"),
        ("Kinds[-1..1]", "there is no template or feature set 'Kinds'; did you mean 'kinds'"),
        ("lower[1..-1]", r"the window of 'lower\[1..-1\]' is empty"),
        ("begin[-1..1]", "begin looks at the whole sequence and takes no window"),
        ("steps(punctuation)[0]", "takes no window"),
        ("steps(weather)", r"steps\(weather\) is unknown; there are plain, punctuation"),
        ("steps", r"steps\(\) is unknown"),
        ("lower[-1..9999999]", "reaches farther than 1000 tokens"),
        (["lower", "lower[-1..1]"], "lower is listed twice"),
        (["begin", " begin"], "begin is listed twice"),
        ("prefix", r"^features: prefix: expected lengths, as in prefix\(2-4\)$"),
        ("coresuffix()", r"^features: coresuffix: expected lengths, as in coresuffix\(2-4\)$"),
        ("column", r"^features: column: expected a number, as in column\(1\)$"),
        ("lower(2)", r"^features: lower\(2\): lower takes no argument$"),
        ("corelower(2)", r"^features: corelower\(2\): corelower takes no argument$"),
        ("begin(x)", r"^features: begin\(x\): begin takes no argument$"),
        ("prefix(a)", r"prefix\(a\): expected a number or a range"),
        ("lexicon", r"lexicon: expected a file, as in lexicon\(names.txt\)"),
        ("lexicon()", r"lexicon: expected a file, as in lexicon\(names.txt\)"),
        ("cluster()[-1..1]", r"cluster: expected a file, as in cluster\(brown.tsv\)"),
        ("vectors()", r"vectors: expected a file, as in vectors\(glove.txt\)"),
    ],
)
def test_feature_sets_that_cannot_be_read(features, message):
    with pytest.raises(ParameterError, match=message):
        Features.of(features)


@pytest.mark.parametrize("name", ["lower", "corelower", "kinds", "begin"])
def test_empty_brackets_are_as_good_as_none(name):
    with pytest.raises(ParameterError, match=f"{name} is listed twice"):
        Features.of([name, f"{name}()"])


@pytest.mark.parametrize("template", ["lexicon", "cluster"])
def test_files_of_templates_that_cannot_be_read(template, tmp_path):
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"binary.txt: not UTF-8 text$"):
        Features.of(f"{template}({tmp_path / 'binary.txt'})")
    with pytest.raises(DataError, match=r"^/no/such/file: cannot read: no such file or directory$"):
        Features.of(f"{template}(/no/such/file)")
    with pytest.raises(DataError, match=r"^/: cannot read: is a directory$"):
        Features.of(f"{template}(/)")


def test_a_template_may_have_an_argument_or_none(monkeypatch):
    def first(letters="1"):
        return lambda token: [token[: int(letters)]]

    monkeypatch.setitem(WORDS, "first", first)
    encoder = Encoder(Features.of(["first", "first(2)"]))
    encoder.fit([["abc"]])
    assert encoder.feature_names() == ["first=a", "first(2)=ab"]


def test_a_column_is_one_number():
    with pytest.raises(ParameterError, match=r"column\(1-2\)"):
        Features.of("column(1-2)")


# the encoder -----------------------------------------------------------------------------------------------

WINDOWS = {
    "word": [0],
    "lower": [-2, -1, 0, 1],
    "shape": [-1],
    "digits": [1, 2],
    "prefix(1-2)": [0],
    "suffix(2)": [-1, 0, 1],
}
SPECS = ["word", "lower[-2..1]", "shape[-1]", "digits[1..2]", "prefix(1-2)", "suffix(2)[-1..1]"]
SPECS += ["begin", "end", "bigram", "position"]

words = st.sampled_from(["a", "A", "the", "The", "then", "=", "a=b", ",", "12", "123456", "Éa"])
texts = st.lists(st.lists(words, min_size=1, max_size=7), min_size=1, max_size=4)


@light
@given(texts)
def test_every_feature_of_every_token(sequences):
    encoder = Encoder(Features.of(SPECS))
    batch = encoder.fit(sequences)
    assert names_by_token(encoder, batch) == brute.encoded(sequences, WINDOWS)
    assert len(set(encoder.feature_names())) == encoder.n_features == batch.n_features
    assert batch.lengths.tolist() == [len(x) for x in sequences]
    assert_array_equal(batch.values, [1.0])
    for a, b in zip(batch.indptr, batch.indptr[1:], strict=False):
        assert (np.diff(batch.indices[a:b]) > 0).all()


@light
@given(texts, texts)
def test_features_never_seen_are_left_out(seen, others):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    names = encoder.feature_names()
    batch = encoder.transform(others)
    assert names_by_token(encoder, batch) == brute.encoded(others, WINDOWS, known=seen)
    assert encoder.feature_names() == names


@light
@given(texts, texts)
def test_an_encoder_is_rebuilt_from_its_names(seen, others):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    again = Encoder(encoder.features, list(encoder.vocabulary))
    assert again.feature_names() == encoder.feature_names()
    for name in ("indptr", "indices", "values", "offsets", "kind"):
        assert_array_equal(getattr(again.transform(others), name), getattr(encoder.transform(others), name))


@light
@given(texts, texts)
def test_fitting_again_adds_features_and_keeps_the_old_ones(first, second):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(first)
    names = encoder.feature_names()
    batch = encoder.fit(second)
    assert encoder.feature_names()[: len(names)] == names
    assert names_by_token(encoder, batch) == brute.encoded(second, WINDOWS)


@light
@given(texts, texts, st.data())
def test_an_encoder_without_some_names(seen, others, data):
    encoder = Encoder(Features.of(SPECS))
    encoder.fit(seen)
    names, n = encoder.feature_names(), encoder.n_features
    marked = np.array(data.draw(st.lists(st.integers(0, 3).map(bool), min_size=n, max_size=n)))
    smaller, kept = encoder.without(marked)
    # rows of one name differ in their offsets only, and stay as long as one of them does
    owner = [re.sub(r"^([^=]*)\[[+-]\d\]=", r"\1=", name) for name in names]
    stay = {owner[j] for j in range(n) if not marked[j]}
    assert kept.tolist() == [j for j in range(n) if owner[j] in stay]
    assert smaller.feature_names() == [names[j] for j in kept]
    whole = names_by_token(encoder, encoder.transform(others))
    left = set(smaller.feature_names())
    assert names_by_token(smaller, smaller.transform(others)) == [found & left for found in whole]


def test_without_any_name_an_encoder_still_works():
    encoder = Encoder(Features.of("lower[-1..1]"))
    encoder.fit([["a", "b"]])
    smaller, kept = encoder.without(np.ones(encoder.n_features, bool))
    assert (len(kept), smaller.n_features) == (0, 0)
    assert smaller.transform([["a"]]).indptr.tolist() == [0, 0]


@pytest.mark.parametrize("features", ["digits", "lower", "begin"])
def test_an_encoder_that_knows_no_feature(features):
    encoder = Encoder(Features.of(features))
    batch = encoder.transform([["12", "b"]])
    assert batch.indptr.tolist() == [0, 0, 0]
    assert batch.n_features == 1  # arrays of weights are never empty


def test_tokens_with_columns():
    encoder = Encoder(Features.of(["lower", "column(1)[-1..0]"]))
    batch = encoder.fit([[("The", "DT"), ("cat", "NN")], [("cat", "VB")]])
    assert names_by_token(encoder, batch) == [
        {"lower=the", "column(1)=DT"},
        {"lower=cat", "column(1)=NN", "column(1)[-1]=DT"},
        {"lower=cat", "column(1)=VB"},
    ]


def test_a_cluster_file_whose_name_holds_an_equals_sign(tmp_path):
    file = tmp_path / "k=100.tsv"
    file.write_text(PAIRS, encoding="utf-8")
    encoder = Encoder(Features.of(f"cluster({file})[-1..0]"))
    batch = encoder.fit([["the", "run"]])
    assert names_by_token(encoder, batch) == [
        {"cluster(k=100)=determiners"},
        {"cluster(k=100)=verbs", "cluster(k=100)[-1]=determiners"},
    ]


def test_one_file_as_clusters_and_as_a_lexicon(tmp_path):
    file = tmp_path / "words.tsv"
    file.write_text("run\t1\n", encoding="utf-8")
    features = Features.of([f"cluster({file})", f"lexicon({file})"]).compile()
    assert features.words[0][2]("run") == ["1"]
    assert features.sequences[0][1](["run", "1"]) == [["B"], ["I"]]  # the line is a phrase of two words


def test_kinds_of_steps_by_the_token_before():
    X = [["a", ".", "b", ",", "c", ";", "*NEWLINE*", "d"], [".", "x"], ["<br>"]]
    batch = Encoder(Features.of(["word", "steps(punctuation)"])).fit(X)
    assert batch.n_kinds == 5
    assert batch.kind.tolist() == [0, 0, 1, 0, 2, 0, 3, 4, 0, 1, 0]
    for features in (["word"], ["word", "steps(plain)"]):
        batch = Encoder(Features.of(features)).fit(X)
        assert batch.n_kinds == 1
        assert_array_equal(batch.kind, 0)


def test_feature_lists_are_taken_as_they_are():
    encoder = Encoder.for_data([[["a"]]], "default")
    batch = encoder.fit([[["a", "b=c"], []], [["b=c"]]])
    assert values_by_token(encoder, batch) == [{"a": 1.0, "b=c": 1.0}, {}, {"b=c": 1.0}]
    assert_array_equal(batch.values, [1.0])
    assert (batch.n_kinds, batch.kind.tolist()) == (1, [0, 0, 0])
    assert values_by_token(encoder, encoder.transform([[{"a"}, ["z", "b=c"]]])) == [{"a": 1.0}, {"b=c": 1.0}]


def test_a_feature_listed_twice_counts_twice():
    encoder = Encoder(None)
    assert values_by_token(encoder, encoder.fit([[["a", "b", "a"], ["a"]]])) == [{"a": 2.0, "b": 1.0}, {"a": 1.0}]


def test_feature_dictionaries_hold_texts_truth_values_and_numbers():
    encoder = Encoder.for_data([[{}, {}]], "default")
    batch = encoder.fit([[{"pos": "DT", "cap": True, "no": False, "zero": 0, "len": 2.5}, {}, {"len": -1}]])
    assert values_by_token(encoder, batch) == [{"pos:DT": 1.0, "cap": 1.0, "len": 2.5}, {}, {"len": -1.0}]
    assert "no" not in encoder.feature_names()
    other = encoder.transform([[{"pos": "NN", "len": 7, "new": 1}]])
    assert values_by_token(encoder, other) == [{"len": 7.0}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("-inf"), None, [1]])
def test_feature_values_that_are_not_finite(value):
    X = [[{"a": 1}], [{"a": 1}, {"a": 2, "len": value}]]
    encoder = Encoder(None)
    with pytest.raises(DataError, match="sequence 1, token 1: feature 'len' is"):
        encoder.fit(X)
    encoder.fit(X[:1])
    with pytest.raises(DataError, match="sequence 1, token 1: feature 'len' is"):
        encoder.transform(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "there are no sequences"),
        ([[]], "sequence 0 has no tokens"),
        ([["a"], [], ["b"]], "sequence 1 has no tokens"),
        ([[], ["b"]], "sequence 0 has no tokens"),
        (["abc"], "sequence 0 is 'abc', expected a list"),
        ([3], "sequence 0 is 3, expected a list"),
        ([[3]], "sequence 0 holds 3, expected tokens"),
    ],
)
def test_data_that_is_no_list_of_sequences(X, message):
    encoder = Encoder(Features.of("word"))
    encoder.fit([["a"]])
    for call in (encoder.fit, encoder.transform):
        with pytest.raises(DataError, match=message):
            call(X)


@pytest.mark.parametrize(
    ("trained", "given", "message"),
    [
        ([["a"]], [[["a"]]], "trained on tokens, but this data holds feature lists"),
        ([["a"]], [[{"a": 1}]], "trained on tokens, but this data holds feature dictionaries"),
        ([[["a"]]], [["a"]], "trained on features, but this data holds tokens"),
    ],
)
def test_data_of_another_form_than_the_model(trained, given, message):
    encoder = Encoder.for_data(trained, "identity")
    encoder.fit(trained)
    with pytest.raises(DataError, match=message):
        encoder.transform(given)


@pytest.mark.parametrize(
    "X",
    [[[["a"]], ["ab", "b"]], [[["a"], "ab"]], [["ab"], [["a"]]], [["ab"], "cd"]],
    ids=["tokens after features", "in one sequence", "features after tokens", "a text after a list"],
)
def test_data_of_mixed_forms(X):
    with pytest.raises(DataError, match=r"sequence [01]"):
        Encoder.for_data(X, "identity").fit(X)


@pytest.mark.parametrize("spec", ["suffix(0)", "prefix(4-2)", "suffix(a)", "prefix()"])
def test_lengths_of_affixes_are_positive_and_rising(spec):
    with pytest.raises(ParameterError, match="fix"):
        Features.of(spec)


def test_features_that_are_not_texts():
    with pytest.raises(DataError, match="a feature is 1, expected a string"):
        Encoder(None).fit([[[1, 2]]])


# ---- words that carry punctuation


def letters_of(text, zeros):
    """The slow twin of what `core...` templates look at."""
    while text and not text[0].isalnum() and any(c.isalnum() for c in text):
        text = text[1:]
    while text and not text[-1].isalnum() and any(c.isalnum() for c in text):
        text = text[:-1]
    return "".join("0" if zeros and c.isdecimal() else c for c in text)


@given(st.text(st.sampled_from("aBé19.,('-$ß"), min_size=1, max_size=6))
def test_templates_of_the_core_of_a_word(text):
    for name in ("lower", "prefix", "suffix", "shape", "classes", "digits", "size", "vowels"):
        given = ("1-3",) if name in ("prefix", "suffix") else ()
        bare = letters_of(text, zeros=name in ("lower", "prefix", "suffix"))
        assert WORDS[f"core{name}"](*given)(text) == WORDS[name](*given)(bare)
        assert WORDS[f"core{name}"](*given)((text, "NN")) == WORDS[name](*given)(bare)


@given(st.text(st.sampled_from("aB1.,('-$"), min_size=1, max_size=6))
def test_marks_and_the_core_make_up_the_word(text):
    found = dict((mark[0], mark[1:]) for mark in WORDS["marks"]()(text))
    core = letters_of(text, zeros=False)
    assert found.get("<", "") + core + found.get(">", "") == text
    assert not found or any(c.isalnum() for c in core)


def test_sizes_vowels_and_places():
    assert WORDS["size"]()("abc") == ["3"]
    assert WORDS["size"]()("x" * 20) == ["8"]
    assert [WORDS["vowels"]()(word) for word in ("Blvd", "Ave", "Île", "5th", "Rd.")] == [["none"], [], [], [], []]
    assert WORDS["corevowels"]()("Rd.") == ["none"]
    assert SEQUENCES["places"]()(["a"] * 6)[1] == ["<1", ">4"]
    assert SEQUENCES["places"]()(["a"]) == [["<0", ">0"]]


@pytest.mark.parametrize("block", [1, 2, 5])
def test_blocks_leave_no_trace(monkeypatch, block):
    X = make_citations(5, seed=3).tokens
    whole, parts = Encoder.for_data(X, "default"), Encoder.for_data(X, "default")
    wanted = whole.fit(X)
    monkeypatch.setattr(sources, "BLOCK", block)
    for found in (parts.fit(X), parts.transform(X)):
        assert list(parts.vocabulary) == list(whole.vocabulary)
        assert_array_equal(found.indptr, wanted.indptr)
        assert_array_equal(found.indices, wanted.indices)


WHOLE = sorted(name for name in SEQUENCES if name != "lexicon")
SOME = st.sampled_from(
    ["a", "B", "The", "(", ")", "[", "]", "{", '"', "“", ",", ".", "^", "19", "*NEWLINE*", ("a", "DT")]
)
READ = st.lists(st.lists(SOME, min_size=1), min_size=1)


@pytest.mark.parametrize("name", WHOLE)
@light
@given(X=READ)
def test_templates_of_sequences_are_the_same_all_at_once(name, X):
    template = SEQUENCES[name]()
    sizes, which, texts = values_of(name, template, Text.of(X))
    wanted = [values for x in X for values in template(x)]
    ends = np.cumsum(sizes)
    assert [[texts[k] for k in which[b - n : b]] for n, b in zip(sizes, ends, strict=True)] == wanted


@light
@given(X=READ)
def test_steps_are_the_same_all_at_once(X):
    template, n_kinds = STEPS["punctuation"]()
    found = template.all(Text.of(X)).tolist()
    assert found == [kind for x in X for kind in template(x)]
    assert max(found) < n_kinds


@pytest.mark.parametrize("grow", [True, False])
def test_a_template_that_leaves_tokens_out_is_refused(monkeypatch, grow):
    monkeypatch.setitem(SEQUENCES, "partial", lambda: lambda tokens: [["yes"]])
    encoder = Encoder.for_data([["a"]], ["word", "partial"])
    encoder.fit([["a"]])
    with pytest.raises(DataError, match="feature partial gives values for 1 tokens of a sequence that has 2"):
        (encoder.fit if grow else encoder.transform)([["a", "b"]])


def test_a_template_that_gives_a_value_twice_gives_it_once(monkeypatch):
    monkeypatch.setitem(WORDS, "again", lambda: lambda token: [token, "x", token, "x"])
    monkeypatch.setitem(SEQUENCES, "anew", lambda: lambda tokens: [["b", "a", "b"] for _ in tokens])
    encoder = Encoder.for_data([["a"]], ["again[-1..1]", "anew"])
    X = [["a", "b", "a"]]
    for batch in (encoder.fit(X), encoder.transform(X)):
        found = values_by_token(encoder, batch)
        assert found[0] == dict.fromkeys(["again=a", "again=x", "again[+1]=b", "again[+1]=x", "anew=b", "anew=a"], 1.0)
        assert len(batch.indices) == sum(map(len, found))
