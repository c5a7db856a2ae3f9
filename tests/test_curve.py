"""`semistruct curve`: how many labels one needs."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread
from numpy.testing import assert_allclose

from semistruct import SSVM, Rules, make_citations, read, write
from semistruct.app.experiments.curve import (
    Curve,
    Law,
    Outlook,
    Trial,
    advice,
    learning_curve,
    sensible_sizes,
    trial_size,
)
from semistruct.base.errors import DataError, ParameterError

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
    assert told[2:] == [
        "Going from 10 to 20 labelled sequences brought +10.0 ± 0.0 points (annealed).",
        "The next 10 labels should bring +4.2 ± 0.0 points at random.",
        "It pays to label more: that is at least 0.5 points.",
    ]
    assert advice(curve((0.5, 0.7), (0.6, 0.8)), 0.05)[-1].startswith("That is less than 5.0 points: ")
    falling = advice(curve((0.8, 0.79), (0.75, 0.78)))
    assert not any("needs" in line for line in falling)
    assert "labelling more is not worthwhile" in falling[-1]
    noisy = Curve([10, 20], {"supervised": [[0.5, 0.6], [0.5, 0.7]], "annealed": [[0.5, 0.9], [0.9, 0.6]]}, True, 0)
    assert "which may be chance" in advice(noisy)[-3]
    assert advice(curve((0.5, 0.7)))[-1] == "A single size does not show what more labels would bring."


@given(st.floats(0.01, 1), st.floats(0, 1), st.lists(st.integers(1, 500), min_size=2, max_size=6, unique=True))
def test_a_power_law_is_found_again(scale, power, sizes):
    law = Law.through(sizes, [scale * n**-power for n in sizes])
    assert_allclose(law.error(30), scale * 30**-power, rtol=1e-6)


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_the_law_has_the_least_squares(errors):
    sizes = [5, 10, 20]
    law = Law.through(sizes, errors)

    def squares(level, power):
        return sum((np.log(e) - level + power * np.log(n)) ** 2 for n, e in zip(sizes, errors, strict=True))

    best = squares(np.log(law.scale), law.power)
    for up in (-0.01, 0, 0.01):
        for steeper in (-0.01, 0, 0.01):
            assert best <= squares(np.log(law.scale) + up, max(law.power + steeper, 0)) + 1e-9


def test_what_picked_labels_bring_shrinks_with_the_gain():
    scores = [[1 - 0.8 / n] * 2 for n in (10, 40)]
    trial = Trial(10, [0.96] * 2, [0.97] * 2)
    outlook = Outlook.of([10, 40], scores, trial)
    at_ten, at_forty = 0.8 / 10 - 0.8 / 20, 0.8 / 40 - 0.8 / 50
    assert_allclose(outlook.random.gain, at_forty)
    assert_allclose(outlook.picked.gain, at_forty + 0.01 * at_forty / at_ten)
    assert "if `semistruct pick` chooses them" in outlook.words(0.001)[0]
    assert outlook.row(0.1)["worthwhile"] is False
    flat = Outlook.of([10, 40], [[0.9] * 2] * 2, trial)
    assert (flat.random.gain, flat.picked.gain) == (0, pytest.approx(0.01 * 10 / 40))


def test_the_trial_has_sequences_to_pick_from():
    assert [trial_size([5, 10, 20], most) for most in (24, 25, 30, 39, 40)] == [None, 5, 10, 10, 20]


def test_picked_labels_are_tried():
    corpus = make_citations(50)
    found = learning_curve(corpus, None, None, folds=2, sizes=[3, 5], features=["word", "shape"], n_jobs=1, C=0.1)
    assert found.trial.n == 5
    assert len(found.trial.random) == len(found.trial.picked) == 2
    assert found.outlook.picked is not None


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
    ):
        code, out, err = run("curve", home / "labelled.tsv", *args)
        assert (code, out) == (2, "")
        assert told in err
