"""Templates on hand-made examples and beside their slow twins; reading feature sets; the lists of kinds of words."""

from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
from semistruct import SSVM, load
from semistruct.base.errors import DataError, ParameterError
from semistruct.features import SETS, Encoder, Features
from semistruct.features.registry import SEQUENCES, WORDS, Template
from semistruct.features.sequences import STEPS, Text
from semistruct.features.words import CLASSES, core_of, shipped_kinds

light = settings(deadline=None, max_examples=60)


def of_word(spec, token):
    """The values of a word template at one token."""
    ((_, _, values),) = Features.of(spec).compile().words
    return values(token)


def by_token(values, X):
    """The values of a sequence template at every token."""
    sizes, which, texts = values(Text.of(X))
    return [[texts[k] for k in which[end - n : end]] for n, end in zip(sizes, sizes.cumsum(), strict=True)]


def of_sequence(spec, text):
    """The values of a sequence template at the blank-separated tokens of a text."""
    ((_, values),) = Features.of(spec).compile().sequences
    return by_token(values, [text.split()])


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
        ("size", "abc", ["3"]),
        ("size", "x" * 20, ["8"]),
        *(("vowels", word, []) for word in ("Ave", "Île", "5th", "Rd.")),
        ("vowels", "Blvd", ["none"]),
        ("corevowels", "Rd.", ["none"]),
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


LONG = "010101010101"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (BROWN, {"run": ["001011", "0010"], "Ran": ["001011", "0010"], "RUN": ["001011", "0010"], "ran": [],
                 "The": ["11"]}),
        (f"{LONG}\tw\t1\n", {"w": [LONG, LONG[:4], LONG[:6], LONG[:10]]}),
        (PAIRS + "\n", {"Run": ["verbs"], "cat": []}),
    ],
    ids=["bits", "long bits", "names"],
)  # fmt: skip
def test_clusters_of_bits_come_with_their_prefixes(tmp_path, content, found):
    file = tmp_path / "clusters.tsv"
    file.write_text(content, encoding="utf-8")
    assert {word: of_word(f"cluster({file})", word) for word in found} == found


def test_cluster_files_with_other_columns(tmp_path):
    file = tmp_path / "bad.tsv"
    for line, found in (("only one", 1), ("a\tb\tc\td", 4)):
        file.write_text(f"run\tverbs\n\n{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=f"^{file}:3: columns: {found}, expected 2 or 3"):
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
        ("zzzzz", "there is no template or feature set 'zzzzz'; there are default, paper, identity, hmm, "),
        ("lower[", r"cannot read 'lower\['"),
        ("Lower", "there is no template or feature set 'Lower'; did you mean 'lower'"),
        ("Kinds[-1..1]", "there is no template or feature set 'Kinds'; did you mean 'kinds'"),
        ("lower[1..-1]", r"the window of 'lower\[1..-1\]' is empty"),
        ("begin[-1..1]", "begin looks at the whole sequence and takes no window"),
        ("steps(punctuation)[0]", "takes no window"),
        ("steps(weather)", r"steps\(weather\) is unknown; there are plain, punctuation"),
        ("steps", "steps: expected a kind"),
        ("lower[-1..9999999]", "reaches farther than 1000 tokens"),
        (["lower", "lower[-1..1]"], "lower is listed twice"),
        (["begin", " begin"], "begin is listed twice"),
        ("prefix", r"^features: prefix: expected lengths, as in prefix\(2-4\)$"),
        ("coresuffix()", r"^features: coresuffix: expected lengths, as in coresuffix\(2-4\)$"),
        ("column", r"^features: column: expected a number, as in column\(1\)$"),
        ("lower(2)", r"^features: lower\(2\): lower takes no argument$"),
        ("corelower(2)", r"^features: corelower\(2\): corelower takes no argument$"),
        ("kinds(names.txt)", r"^features: kinds\(names.txt\): kinds takes no argument$"),
        ("begin(x)", r"^features: begin\(x\): begin takes no argument$"),
        *((spec, "fix.*: expected lengths") for spec in ("prefix(a)", "suffix(0)", "prefix(4-2)", "prefix()")),
        ("column(1-2)", r"column\(1-2\): expected a number, as in column\(1\)"),
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
        bare = letters_of(text, zeros=name in ("lower", "prefix", "suffix"))
        wanted = WORDS[name].made(range(1, 4))(bare)
        for token in (text, (text, "NN")):
            assert WORDS[f"core{name}"].made(range(1, 4))(token) == wanted


@given(st.text(st.sampled_from("aB1.,('-$"), min_size=1, max_size=6))
def test_marks_and_the_core_make_up_the_word(text):
    found = dict((mark[0], mark[1:]) for mark in of_word("marks", text))
    core = letters_of(text, zeros=False)
    assert found.get("<", "") + core + found.get(">", "") == text
    assert not found or any(c.isalnum() for c in core)


TOKENS = st.sampled_from(
    ["a", "B", "The", "(", ")", "[", "]", "{", '"', "“", ",", ".", "^", "19", "*NEWLINE*", ("a", "DT")]
)
READ = st.lists(st.lists(TOKENS, min_size=1), min_size=1)


def words_in(X):
    return [[token if isinstance(token, str) else token[0] for token in x] for x in X]


def test_every_sequence_template_has_a_slow_twin():
    assert {*SEQUENCES} == {*brute.SEQUENCES, "lexicon"}


@pytest.mark.parametrize("name", sorted(brute.SEQUENCES))
@light
@given(X=READ)
def test_sequence_templates_are_their_slow_twins(name, X):
    wanted = [brute.SEQUENCES[name](x, t) for x in words_in(X) for t in range(len(x))]
    assert by_token(SEQUENCES[name].function, X) == wanted


@light
@given(X=READ)
def test_kinds_of_steps_are_their_slow_twin(X):
    kinds, n_kinds = STEPS["punctuation"]
    found = kinds(Text.of(X)).tolist()
    assert found == [brute.step_kind(x, t) for x in words_in(X) for t in range(len(x))]
    assert max(found) < n_kinds


# kinds of words

FILES = sorted(path.name for path in (files("semistruct.features") / "kinds").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_list_says_what_it_holds_and_each_of_its_words_once_in_order(name):
    about, *lines = (files("semistruct.features") / "kinds" / name).read_text("utf-8").splitlines()
    words = " ".join(lines).split()
    assert about.startswith("# ")
    assert about.endswith(".")
    assert words == sorted(set(words))
    assert all(word == core_of(word).lower() for word in words)  # or no token would match it
    assert all(name.removesuffix(".txt") in shipped_kinds()[word].split() for word in words)


def test_kinds_are_found_beside_the_word_too():
    encoder = Encoder(Features.of("kinds[-1..1]"))
    batch = encoder.fit([["Mrs.", "Garcia"]])
    names = encoder.feature_names()
    found = [{names[i] for i in batch.indices[a:b]} for a, b in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)]
    assert found == [
        {"kinds=forms-of-address", "kinds[+1]=surnames"},
        {"kinds=surnames", "kinds[-1]=forms-of-address"},
    ]


def test_a_model_goes_on_with_the_lists_it_was_learned_with(tmp_path, monkeypatch):
    model = SSVM(features="kinds").fit([["Berlin"], ["Garcia"]], [["place"], ["name"]])
    model.save(tmp_path / "a.model")
    monkeypatch.setitem(WORDS, "kinds", Template(WORDS["kinds"].function, read=dict, kept=True))
    again = load(tmp_path / "a.model")
    assert again.predict([["London"], ["Smith"]]) == [["place"], ["name"]]
    assert again.model_.encoder.features.resources["kinds()"]["london"] == "places"
