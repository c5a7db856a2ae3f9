"""Draws, plans, records, statistics and tables of experiments."""

import json
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from experiment_cases import LENGTHS, material, numbered, record, some_records
from semistruct import Rules
from semistruct.app.experiments import lineup, statistics
from semistruct.app.experiments.cells import Records, run_cells
from semistruct.app.experiments.corpora import from_folder, synthetic_material
from semistruct.app.experiments.runner import Run, chosen_methods, chosen_sizes, planned, run
from semistruct.app.experiments.tables import FIGURES, all_tables, published
from semistruct.app.experiments.view import View, summary, warnings_of
from semistruct.base.errors import DataError, ParameterError
from semistruct.data.formats import write
from semistruct.methods import METHODS

WEAK = ([1, 1, 1, 1], [2, 1, 1, 1])  # right tokens of the sequences: plain, and under the rules

# ---- statistics, against plain twins


def plain_sign_flip(differences):
    seen = abs(sum(differences))
    flips = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in
             product((-1, 1), repeat=len(differences))]  # fmt: skip
    return sum(f >= seen - 1e-12 for f in flips) / len(flips)


def plain_bootstrap(ours, theirs, resamples, seed):
    rng, n = random.Random(seed), len(ours)
    below = above = 0
    for _ in range(resamples):
        picks = [rng.randrange(n) for _ in range(n)]
        difference = sum(ours[i] - theirs[i] for i in picks)
        below, above = below + (difference <= 0), above + (difference >= 0)
    return min(1.0, 2 * min(below, above) / resamples)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_sign_flips_are_all_listed(differences):
    assert_allclose(statistics.sign_flip(differences), plain_sign_flip(differences), rtol=0, atol=1e-12)


def test_the_bootstrap_is_that_of_a_plain_loop():
    rng = np.random.default_rng(1)
    for shift in (0, 1):
        ours, theirs = rng.integers(0, 10, 30) + shift, rng.integers(0, 10, 30)
        found = statistics.paired_bootstrap(ours, theirs, np.full(30, 12))
        assert_allclose(found, plain_bootstrap(ours.tolist(), theirs.tolist(), 4000, 2), rtol=0, atol=0.05)
        assert_allclose(found, statistics.paired_bootstrap(theirs, ours, np.full(30, 12)), rtol=0, atol=1e-12)
        assert statistics.paired_bootstrap(ours, ours, ours) == 1.0


def test_pooling_adds_the_numbers_of_a_sequence():
    assert statistics.pooled([([3, 5], [1, 2]), ([5, 7], [10, 20])]) == {3: 1, 5: 12, 7: 20}


# ---- draws and plans


def test_draws_are_those_of_the_benchmarks():
    order = list(range(9))
    random.Random(3).shuffle(order)
    draw = material().draw("4", 3)
    assert [e.tokens[1] for e in draw.learn] == [str(i) for i in order[:4]]
    assert [e.tokens[1] for e in draw.report] == [str(i) for i in order[4:]]
    assert draw.which == order[4:]


def test_all_is_two_thirds_where_there_is_no_test_part():
    without, with_test = material(), material(test=5)
    assert (without.labelled("all"), with_test.labelled("all")) == (6, 9)
    draw = with_test.draw("all", 1)
    assert [e.tokens[0] for e in draw.report] == ["test"] * 5
    assert without.reported_on != with_test.reported_on


def test_too_many_labels_are_refused():
    with pytest.raises(ParameterError, match=r"9 labelled sequences, but train\.tsv has 9; there is no test part"):
        material().labelled("9")
    assert material(test=2).labelled("9") == 9


def test_the_digest_is_of_all_parts():
    assert material().digest != material(test=3).digest
    assert material().digest == material().digest


def test_draws_that_are_all_the_same_are_made_once():
    cells = planned(material(test=2), ["ssvm"], ["3", "all"], 3, dev=False)
    assert [(c["size"], c["seed"], c["dev"]) for c in cells] == [
        ("3", 0, False), ("all", 0, False), ("3", 1, False), ("3", 2, False),
    ]  # fmt: skip


def test_sizes_are_sorted_and_checked():
    assert chosen_sizes(material(), "all, 5,2,05", False) == ["2", "5", "all"]
    assert chosen_sizes(material(), "6,all", False) == ["all"]
    for wrong in ("0", "five", "5,,6", "-3"):
        with pytest.raises(ParameterError, match="neither a number > 0 nor 'all'"):
            chosen_sizes(material(), wrong, False)


def test_methods_are_checked():
    lists = lineup.lists_of("headers", "paper")
    assert chosen_methods(lists, "ssvm, crf", False) == ["crf", "ssvm"]
    assert chosen_methods(lists, None, True) == ["crf", "ssvm", "annealed"]
    with pytest.raises(ParameterError, match="there is no method 'svm'"):
        chosen_methods(lists, "svm", False)


def test_folders_are_read(tmp_path):
    for part, n in (("train", 3), ("dev", 2)):
        write(numbered(n, part), tmp_path / f"{part}.tsv", "tsv")
    (tmp_path / "unlabeled.txt").write_text("a\nb\n\nc\n\n")
    found = from_folder("citations", tmp_path)
    assert (len(found.train), len(found.dev), len(found.pool), found.test) == (3, 2, 2, None)
    write(numbered(4, "test"), tmp_path / "test.tsv", "tsv")
    assert len(from_folder("citations", tmp_path).test) == 4
    (tmp_path / "dev.tsv").write_text("a\tauthor\n\nb\t?\n")
    with pytest.raises(DataError, match=r"dev\.tsv:3: a token has no label"):
        from_folder("citations", tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        from_folder("citations", tmp_path / "none")


def test_synthetic_parts_differ():
    few = synthetic_material("apartments", few=True)
    assert few.synthetic
    assert few.title == "apartments (synthetic)"
    assert few.train.tokens[:5] != few.test.tokens[:5]
    assert all(row is None for row in few.pool.labels)


# ---- the line-up


@pytest.mark.parametrize("features", ["paper", "default"])
@pytest.mark.parametrize("corpus", lineup.CORPORA)
def test_every_method_can_learn_with_its_rules(corpus, features):
    lists = lineup.lists_of(corpus, features)
    for name in lineup.applying(lists):
        found = lineup.rules_of_line(lists, name)
        listed = Rules.from_file(found.learning)
        own = found.learning == found.predicting
        assert len(found.learn) == len(listed) - (0 if own else len(found.left_out)) > 0
        assert len(found.left_out) < len(listed)


def test_what_users_get_is_one_list_for_all_methods():
    lists = lineup.lists_of("citations", "default")
    assert {lineup.rules_of_line(lists, name).learning for name in lineup.applying(lists)} == {"citations"}
    assert "annealed-ours" not in lineup.applying(lists)
    assert lineup.rules_of_line(lineup.lists_of("citations", "paper"), "ap").learning == "citations-ap"


def test_every_registered_method_is_in_the_line_up():
    ours = {name for name, method in METHODS.items() if method.__module__.startswith("semistruct.")}
    assert ours == {entry.method.name for entry in lineup.LINEUP.values()}


def test_rules_without_a_form_are_left_out():
    headers = lineup.lists_of("headers", "paper")
    found = lineup.rules_of_line(headers, "pr")
    assert found.left_out == ["order title, author, keyword", "blocks have at least 3 tokens"]
    assert set(lineup.rules_of_line(headers, "transductive").left_out) > set(found.left_out)
    assert found.learn == Rules.from_file("headers")  # the method itself leaves them out, and predicts with them
    shares = lineup.rules_of_line(lineup.lists_of("citations", "paper"), "ge")
    assert {rule.level for rule in shares.learn.rules} == {"corpus"}


def test_settings_may_be_those_of_a_corpus():
    entry = lineup.LINEUP["codl"]
    assert entry.settings("apartments", quick=False) == {"penalty": pytest.approx(2.3026, abs=1e-4)}
    assert entry.settings("citations", quick=False) == {}


# ---- runs and records


@pytest.fixture(scope="module")
def one_run():
    data = synthetic_material("synthetic", few=True)
    return data, run(vars(Run("synthetic", "annealed", "5", 1, quick=True)), {"synthetic": None})


def test_a_run_has_the_scores_of_its_estimator(one_run):
    from semistruct import AnnealedSSVM

    data, found = one_run
    draw, rules = data.draw("5", 1), Rules.from_file("citations-codl")
    model = AnnealedSSVM(C="auto", features="paper", rules=rules, schedule=[1.0, 10.0], rounds=2, select="dev")
    model.fit(
        [e.tokens for e in draw.learn], [e.labels for e in draw.learn],
        pool=data.pool.tokens, dev=(data.dev.tokens, data.dev.labels),
    )  # fmt: skip
    gold = [e.tokens for e in draw.report], [e.labels for e in draw.report]
    for decoding in ("plain", "rules"):
        i = found["chosen"][decoding]["dev"]
        assert found["points"][i][decoding] == model.score(*gold, rules=decoding == "rules")
        kept = found["outcomes"][decoding][str(i)]
        assert kept["token_accuracy"] == found["points"][i][decoding]
        assert sum(kept["right"]) / sum(found["tokens"]) == kept["token_accuracy"]
        best = found["points"][found["chosen"][decoding]["best-test"]][decoding]
        assert best == max(point[decoding] for point in found["points"])
    assert [point["place"] for point in found["points"]] == [row["C_u"] for row in model.path_]
    free = found["chosen"]["rules"]["labels-free"]
    assert found["points"][free]["mistakes"] == min(point["mistakes"] for point in found["points"])
    assert found["history"][-1]["objective"] == model.history_[-1]["objective"]
    assert json.loads(json.dumps(found)) == found


def test_a_run_without_dev_data_and_with_a_small_pool():
    cell = vars(Run("synthetic", "annealed", "5", 0, dev=False, quick=True, pool=10, settings={"rounds": 1}))
    found = run(cell, {"synthetic": None})
    assert (found["data"]["unlabelled"], found["params"]["rounds"]) == (10, 1)
    assert {point["dev_accuracy"] for point in found["points"]} == {None}
    assert found["chosen"]["rules"]["dev"] == found["chosen"]["rules"]["labels-free"]


def test_records_resume(tmp_path):
    path = tmp_path / "results.jsonl"
    kept = record("ssvm", "5", 0, [WEAK], left_out=["\u2028"])
    Records(path).add(kept)
    with path.open("a") as file:
        file.write('{"cell": {"meth')  # killed while writing
    again = Records(path)
    assert list(again) == [kept]
    assert again.find(kept["cell"]) == kept
    assert again.find({**kept["cell"], "seed": 1}) is None
    again.add(record("ssvm", "5", 1, [WEAK]))
    assert len(Records(path)) == 2
    with path.open("a") as file:
        file.write("[1]\n")
    with pytest.raises(DataError, match=r"results\.jsonl:3: not a record of a run"):
        Records(path)


def squared(cell):
    if cell["x"] < 0:
        raise ValueError("negative")
    return {"cell": cell, "y": cell["x"] ** 2}


@pytest.mark.parametrize("jobs", [1, 2])
def test_cells_are_run_once_and_in_any_number_of_processes(tmp_path, jobs):
    cells, told = [{"x": x} for x in range(4)], []
    records = Records(tmp_path / "r.jsonl")
    records.add({"cell": {"x": 2}, "y": "kept"})
    found = run_cells(cells, squared, records, jobs=jobs, show=lambda *state: told.append(state[:2]))
    assert [row["y"] for row in found] == [0, 1, "kept", 9]
    assert told == [(done, 4) for done in (1, 2, 3, 4)]
    assert list(Records(tmp_path / "r.jsonl")) == list(records)
    with pytest.raises(ValueError, match="negative"):
        run_cells([{"x": -1}, {"x": 5}], squared, records, jobs=jobs)


# ---- views and tables


def table(view, key):
    return next(t for t in all_tables(view) if t.key == key)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_views_rank_and_compare():
    view = View(some_records())
    assert list(view.sizes) == ["5", "20"]
    assert view.ranked("5", "plain") == ["annealed", "ssvm"]
    found = view.against("annealed", "ssvm", "5", "plain")
    assert_allclose(found.difference, (8 - 4) / sum(LENGTHS), rtol=1e-12)
    assert (found.draws, found.flip) == (3, 0.25)
    assert_allclose(view.mean("annealed", "5", "plain"), 0.8, rtol=1e-12)
    assert_allclose(View(some_records(), "best-test").mean("annealed", "5", "plain"), 1.0, rtol=1e-12)


def test_published_figures_stand_beside_ours():
    found = table(View(some_records()), "accuracy-5")
    assert [cell.text for cell in found.columns if cell.style == "grey"] == [
        "published, plain", "published, under the rules",
    ]  # fmt: skip
    row = next(row for row in found.rows if row[0].text == "annealed SSVM")
    assert [cell.text for cell in row if cell.style == "grey"] == ["74.74 BSS (best on test)", ""]


def test_synthetic_figures_have_no_published_ones_beside_them():
    view = View(some_records(synthetic=True))
    assert "synthetic" in view.title
    for found in all_tables(view):
        assert "synthetic" in found.title
        if found.key.startswith("accuracy"):
            assert not any(cell.style == "grey" for cell in found.columns)
    assert any("Synthetic data" in line for line in warnings_of(view))


def test_the_summary_answers_the_questions():
    answers = dict(summary(View(some_records())))
    assert answers["Which method is best with 5 labels?"].startswith("Annealed SSVM: 90.0 ± 0.0 %")
    margin = answers["By how much, and is that significant?"]
    assert "30.0 points ahead of SSVM, supervised" in margin
    assert "sign-flip test, p = 0.250; no p below 0.25 is possible with 3 draws" in margin
    assert "+10.0 points at prediction for annealed SSVM, +20.0 for SSVM, supervised." in answers.values()
    assert "3.0 s a fit" in answers["What did it cost?"]


def test_missing_runs_are_told():
    assert warnings_of(View(some_records())) == []
    assert any("missing" in line for line in warnings_of(View(some_records()[1:])))


def test_settings_are_told():
    rows = some_records()
    for row in rows:
        row["params"] = {"rounds": 1, "schedule": [2.0, 1.0, 0.69735], "moves": "spans"}
    notes = " ".join(table(View(rows), "accuracy-20").notes)
    assert "annealed SSVM: settings rounds 1, schedule from 2 to 0.697 in 3 steps, moves spans." in notes


def test_published_figures_are_inductive_where_there_are_some():
    def values(method, corpus="citations"):
        figure = published(View([record("ssvm", "5", 0, [WEAK], corpus=corpus)]), method, "plain")
        return figure and (figure.setting, figure.values[0])

    assert values("pr") == ("inductive", 73.0)
    assert values("transductive") == ("transductive", 72.8)
    assert values("pr", "headers") is None
    assert {figure.method for figure in FIGURES} <= set(lineup.LINEUP)
