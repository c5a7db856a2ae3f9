"""`semistruct curve`: how many labels one needs."""

import json

import pytest
from matplotlib.image import imread
from numpy.testing import assert_allclose

from semistruct import SSVM, Rules, make_citations, read, write
from semistruct.errors import DataError, ParameterError
from semistruct.experiments.curve import Curve, advice, expected_gain, learning_curve, sensible_sizes

QUICK = ("--folds", "2", "-f", "word", "-f", "shape", "--sizes", "3,6", "--jobs", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curve")
    write(make_citations(14), folder / "labelled.tsv", "tsv")
    write(make_citations(15, seed=5), folder / "pool.txt", "text")
    return folder


@pytest.fixture(scope="module")
def found(home):
    corpus, pool = read(home / "labelled.tsv"), read(home / "pool.txt")
    rules = Rules.from_file("citations")
    return learning_curve(
        corpus, pool.tokens, rules, folds=2, sizes=[3, 6], features=["word", "shape"], n_jobs=1
    )  # fmt: skip


@pytest.mark.parametrize(
    ("most", "sizes"),
    [(80, [5, 10, 20, 40, 80]), (7, [3, 7]), (5, [2, 5]), (1, [1]), (2, [1, 2]), (240, [5, 11, 24, 51, 111, 240])],
)
def test_sizes_suit_the_data(most, sizes):
    assert sensible_sizes(most) == sizes


def test_the_curve_is_cross_validation(home, found):
    import random

    corpus, order = read(home / "labelled.tsv"), list(range(14))
    random.Random(0).shuffle(order)
    rules, scores = Rules.from_file("citations"), []
    for fold in range(2):
        held, rest = order[fold::2], [i for k, i in enumerate(order) if k % 2 != fold]
        assert not set(held) & set(rest)
        model = SSVM(C="auto", features=["word", "shape"], rules=rules, n_jobs=1)
        model.fit([corpus.tokens[i] for i in rest[:3]], [corpus.labels[i] for i in rest[:3]])
        gold = [corpus.tokens[i] for i in held], [corpus.labels[i] for i in held]
        scores.append(model.score(*gold, rules=True))
    assert found.scores["supervised"][0] == scores
    assert [len(runs) for runs in found.scores["annealed"]] == [2, 2]


def test_the_command_is_the_librarys(home, found, good, tmp_path):
    args = ("curve", home / "labelled.tsv", "-u", home / "pool.txt", "-r", "citations", *QUICK)
    told = json.loads(good(*args, "-o", tmp_path / "curve.png", "--json"))
    assert told["curve"] == found.rows()
    assert told["advice"] == advice(found)
    assert told["unlabelled"] == 15
    assert imread(tmp_path / "curve.png").std() > 0.05


def test_the_curve_in_words(home, good):
    out = good("curve", home / "labelled.tsv", *QUICK)
    assert "token accuracy without rules, mean ± spread over 2 held-out parts:" in out
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines if line and line[0].isdigit()] == ["3", "6"]
    assert "With 6 labelled sequences the token accuracy is" in out


def curve(*means):
    """Without noise: (supervised, annealed) for 10, 20, 40, ..."""
    sizes = [10 * 2**k for k in range(len(means))]
    scores = {m: [[row[k]] * 3 for row in means] for k, m in enumerate(("supervised", "annealed"))}
    return Curve(sizes, scores, True, 0)


def test_advice():
    told = advice(curve((0.5, 0.7), (0.6, 0.8)))
    assert "The annealed method needs 10 labelled sequences where supervised learning needs 20." in told
    assert told[-1] == (
        "Going from 10 to 20 labelled sequences brought +10.0 ± 0.0 points (annealed): it pays to label more; "
        "40 should bring about 6.7 points more."
    )
    falling = advice(curve((0.8, 0.79), (0.75, 0.78)))
    assert not any("needs" in line for line in falling)
    assert "a larger pool may help more than further labels" in advice(curve((0.9, 0.9), (0.9, 0.902)))[-1]
    noisy = Curve([10, 20], {"supervised": [[0.5, 0.6], [0.5, 0.7]], "annealed": [[0.5, 0.9], [0.9, 0.6]]}, True, 0)
    assert "which may be chance" in advice(noisy)[-1]
    assert advice(curve((0.5, 0.7)))[-1] == "A single size does not show what more labels would bring."


def test_the_expected_gain_follows_a_power_law():
    assert_allclose(expected_gain(10, 0.4, 20, 0.2), 0.1, rtol=1e-12)
    assert_allclose(expected_gain(10, 0.4 * 10**-0.5, 40, 0.4 * 40**-0.5), 0.4 * (40**-0.5 - 80**-0.5), rtol=1e-9)
    assert expected_gain(10, 0.2, 20, 0.2) == 0.0
    assert expected_gain(10, 0.2, 20, 0.0) == 0.0


def test_wrong_usage(home, run, tmp_path):
    corpus = read(home / "labelled.tsv")
    with pytest.raises(ParameterError, match="must be from 1 to 7: a part of the 14 labelled sequences is held out"):
        learning_curve(corpus, None, None, folds=2, sizes=[3, 8])
    with pytest.raises(DataError, match="14 sequences are fully labelled, too few for 20 parts"):
        learning_curve(corpus, None, None, folds=20)
    for args, told in (
        (["--sizes", "few"], "--sizes is 'few', expected numbers such as 5,10,20"),
        (["-o", tmp_path / "curve.pdf"], "a plot must be a .png or .svg file"),
        (["-o", tmp_path / "none" / "curve.png"], "cannot write: no such folder"),
        (["-r", "nothing"], "there is no rules file nothing"),
        (["--label-column", "5"], "labelled.tsv:1: there is no label column 5"),
        (["--scheme", "BIO"], "no label scheme 'BIO'"),
    ):
        code, out, err = run("curve", home / "labelled.tsv", *args)
        assert (code, out) == (2, "")
        assert told in err
