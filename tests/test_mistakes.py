"""What `evaluate --errors` and `--html` show of a model's mistakes."""

import json
import re
import shutil
import time
from itertools import pairwise

import numpy as np
import pytest

from brute import score as brute_score
from semistruct import SSVM, Corpus, Rules, load, make_citations, read, write
from semistruct.app.report.evaluation import BrokenRules, Evaluation, Mistake, Mistakes, blocks, broken_rules
from semistruct.app.report.mistakes import page
from semistruct.core.chain.inference import effective_steps
from semistruct.rules import StartsWith

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
KEYS = {"where", "wrong", "margin", "broken", "tokens", "gold", "predicted"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with test.tsv, one unknown label in it, and a model that makes mistakes and breaks a rule."""
    folder = tmp_path_factory.mktemp("home")
    train, test = make_citations(8), make_citations(20, seed=5)
    test.examples[0].labels[0] = None
    write(test, folder / "test.tsv", "tsv")
    rules = Rules([StartsWith("title", weight=0.01)])
    SSVM(features=["word", "shape"], rules=rules, tol=0.1).fit(train.tokens, train.labels).save(folder / "refs.model")
    return folder


def evaluated(good, home, *options):
    return json.loads(good("evaluate", home / "refs.model", home / "test.tsv", "--json", *options))


def test_the_worst_sequences_are_those_with_most_wrong_labels(good, home):
    found = evaluated(good, home, "--errors", 100)["mistakes"]
    gold, predicted = (
        read(home / "test.tsv"),
        load(home / "refs.model").predict(read(home / "test.tsv").tokens, rules=True),
    )
    wrong = {
        gold.where(i): sum(y not in (None, z) for y, z in zip(gold.labels[i], predicted[i], strict=True))
        for i in range(len(gold))
    }
    assert {row["where"]: row["wrong"] for row in found["worst"]} == {k: n for k, n in wrong.items() if n}
    assert found["sequences"] == len(found["worst"]) > 3
    assert all(row.keys() == KEYS for row in found["worst"])
    order = [(-row["wrong"], -row["margin"]) for row in found["worst"]]
    assert order == sorted(order)
    assert evaluated(good, home, "--errors", 2)["mistakes"]["worst"] == found["worst"][:2]


def test_the_margin_is_the_difference_of_the_scores(good, home):
    model, gold = load(home / "refs.model").model_, read(home / "test.tsv")
    row = next(row for row in evaluated(good, home, "--errors", 100)["mistakes"]["worst"] if None not in row["gold"])
    i = [gold.where(i) for i in range(len(gold))].index(row["where"])
    batch = model.encoder.transform([gold.tokens[i]])
    rows = [batch.indices[a:b] for a, b in pairwise(batch.indptr)]
    unary = np.array([model.weights.tokens[row].sum(axis=0) for row in rows])
    number = {label: k for k, label in enumerate(model.labels)}
    ours, truth = (
        brute_score(unary, effective_steps(model.weights.trans), batch.kind, [number[y] for y in row[key]])
        for key in ("predicted", "gold")
    )
    assert row["margin"] == pytest.approx(ours - truth)


def test_broken_rules_are_named(good, home):
    for row in evaluated(good, home, "--errors", 100)["mistakes"]["worst"]:
        assert row["broken"] == ([] if row["predicted"][0] == "title" else ["starts with title"])


def test_the_time_to_count_broken_rules_grows_with_the_number_of_sequences():
    """Quadratic time would be minutes here."""
    gold = Corpus.of([["a", "b"]] * 40_000, [["p", "q"], ["q", "q"], ["new", "q"], None] * 10_000)
    began = time.process_time()
    found = broken_rules(Rules([StartsWith(["p"])]), gold, [["p", "p"], ["q", "p"]] * 20_000, ["p", "q"]).counts
    assert time.process_time() - began < 20
    (rule,) = found["gold"].rules
    assert found["gold"] == BrokenRules(20_000, 10_000, {rule: 10_000})
    assert found["predicted"] == BrokenRules(40_000, 20_000, {rule: 20_000})


def test_a_label_that_the_model_has_never_seen_has_no_margin(good, home, tmp_path):
    write(Corpus.of([["A", "."]], [["new", "author"]]), tmp_path / "new.tsv", "tsv")
    out = good("evaluate", home / "refs.model", tmp_path / "new.tsv", "--unseen-labels", "--errors", "--json")
    assert json.loads(out)["mistakes"]["worst"][0]["margin"] is None
    assert "labels wrong; breaks" in good(
        "evaluate", home / "refs.model", tmp_path / "new.tsv", "--unseen-labels", "--errors"
    )


@pytest.mark.parametrize("where", ["before", "after", "last"])
def test_errors_may_stand_without_a_number(good, home, where):
    files = [home / "refs.model", home / "test.tsv"]
    args = {"before": ["--errors", *files], "after": [*files, "--errors", "--no-rules"], "last": [*files, "--errors"]}
    assert "the worst 10 of" in good("evaluate", *args[where])
    assert "the worst 2 of" in good("evaluate", *files, "--errors", 2)
    assert "worst" not in good("evaluate", *files)


def test_mistakes_are_readable_without_colours(good, home):
    out = good("evaluate", home / "refs.model", home / "test.tsv", "--errors", 1)
    worst = evaluated(good, home, "--errors", 1)["mistakes"]["worst"][0]
    head = f"{worst['where']}: {worst['wrong']} of {len(worst['tokens'])} labels wrong, margin {worst['margin']:.2f}"
    lines = out[out.index(head) :].splitlines()[1:]
    found = [re.fullmatch(r"([x ]) (\S+)(?: -> (\S+))?  +(.+)", line).groups() for line in lines]
    assert " ".join(tokens for *_, tokens in found) == " ".join(worst["tokens"])
    for mark, gold, other, tokens in found:
        assert (mark == "x") == (other is not None)
        assert {gold, other} <= {*worst["gold"], *worst["predicted"], None}
        assert tokens
    assert "\x1b" not in out


def test_a_model_without_mistakes(good, home, tmp_path):
    model = load(home / "refs.model")
    X = make_citations(3, seed=9).tokens
    write(Corpus.of(X, model.predict(X, rules=True)), tmp_path / "right.tsv", "tsv")
    out = good("evaluate", home / "refs.model", tmp_path / "right.tsv", "--errors", "--html", tmp_path / "x.html")
    assert "no sequence has a mistake" in out
    assert "No sequence has a mistake." in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_neighbours_with_the_same_labels_are_one_block():
    found = blocks(["a", "b", "c", "d"], ["x", "x", "y", None], ["x", "x", "x", "x"])
    assert [(b.tokens, b.gold, b.found, b.wrong) for b in found] == [
        (["a", "b"], "x", "x", False), (["c"], "y", "x", True), (["d"], None, "x", False),
    ]  # fmt: skip


# ---- the page


def test_the_page_shows_the_same(good, home, tmp_path):
    out = good("evaluate", home / "refs.model", home / "test.tsv", "--html", tmp_path / "page.html")
    assert f"page written to {tmp_path / 'page.html'}" in out
    assert "worst" not in out
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    for row in evaluated(good, home, "--errors")["mistakes"]["worst"]:
        assert (
            f"{row['where']}: {row['wrong']} of {len(row['tokens'])} labels wrong, margin {row['margin']:.2f}" in text
        )
    assert text.count('<div class="sequence">') == 10
    assert "breaks starts with title" in text
    assert not re.search(r'src=|href="(?!#)|@import|url\((?!#)', text)


def result_of(tokens, gold, predicted):
    row = Mistake("x:1", 1, -1.0, ["<b>"], tokens, gold, predicted)
    none = dict.fromkeys(
        ("span_precision", "span_recall", "span_f1", "macro_f1", "per_label", "n_tokens", "seconds", "broken")
    )
    return Evaluation(
        token_accuracy=0.5, sequence_accuracy=0.0, n_sequences=1, model="<m>", data="d", rules=True, calibration=None,
        mistakes=Mistakes(1, [row]), **none,
    )  # fmt: skip


def test_the_page_escapes_what_it_shows():
    text = page(result_of(["<script>", "&"], ["a<", None], ["b", "b"]))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "a&lt; → b" in text
    assert "? → b" in text


def test_a_page_never_replaces_an_input(run, home):
    code, _, err = run("evaluate", home / "refs.model", home / "test.tsv", "--html", home / "test.tsv")
    assert code == 2
    assert "is also an input" in err
