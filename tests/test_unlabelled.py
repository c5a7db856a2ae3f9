"""Learning from rules and a pool, without any label."""

import pytest

from semistruct import CODL, AnnealedSSVM, PosteriorRegularization, Rules, load, make_citations, write
from semistruct.base.errors import DataError
from semistruct.learning.data import implied_labels
from semistruct.learning.settings import IMPLIED_WORTH
from semistruct.rules import AtMostOnce, Order, Pattern, StartsWith, Words

LABELS = ["author", "date", "pages", "title"]
RULES = Rules(
    [StartsWith("author"), Pattern(r"\d{4}", are="date"), Words(["pp", "pages"], are="pages"), AtMostOnce("all"),
     Words(["on"], are=["title", "author"]), Words(["x"], are_not=["title"]), Order(LABELS)],
    LABELS,
)  # fmt: skip


def test_labels_that_rules_leave_are_implied():
    X = [["A", ".", "on", "1999", "pp"], ["on", "x"], ["b"]]
    found, _ = implied_labels(Rules([*RULES.rules[1:]], LABELS), X)
    # "on" is a title or an author, and nothing else implies either
    assert found == [[None, None, None, "date", "pages"], None, None]
    found, weight = implied_labels(RULES, X)
    assert found == [["author", None, "title", "date", "pages"], ["author", None], ["author"]]
    assert weight.tolist() == [IMPLIED_WORTH / 3] * 3


def test_rules_that_imply_nothing():
    with pytest.raises(DataError, match="no rule implies one"):
        implied_labels(Rules([AtMostOnce("all")], LABELS), [["a"]])
    with pytest.raises(DataError, match="the rules must list all `labels`"):
        implied_labels(Rules([StartsWith("author")]), [["a"]])


POOL = make_citations(40, seed=5)
KNOWN = Rules.from_file("citations")


@pytest.mark.parametrize(
    "method", [AnnealedSSVM(C=0.5, schedule=[1.0, 10.0], rounds=1), CODL(rounds=2), PosteriorRegularization(rounds=2)]
)
@pytest.mark.filterwarnings("ignore:.*cannot learn from")
def test_methods_learn_from_rules_alone(method):
    model = method.set_params(rules=KNOWN).fit([], [], pool=POOL.tokens)
    most = max(sum(row.count(label) for row in POOL.labels) / sum(map(len, POOL.labels)) for label in POOL.label_set)
    assert model.score(POOL.tokens, POOL.labels, rules=True) > most + 0.1
    assert {row["applies"] for row in model.trust_} == {0}


def test_without_rules_labels_are_needed():
    with pytest.raises(DataError, match="no sequence has a label"):
        AnnealedSSVM().fit([], [], pool=POOL.tokens)


def test_the_command(run, tmp_path):
    write(POOL, tmp_path / "pool.txt", "text")
    command = ["train", tmp_path / "pool.txt", "-r", "citations", "-p", "rounds=1"]
    code, out, _ = run(*command, "-o", tmp_path / "m.model")
    assert code == 0
    assert "no token has a label, so the rules alone say what there is to learn" in out
    assert "training data itself" not in out
    assert load(tmp_path / "m.model").name == "codl"
    code, _, err = run("train", tmp_path / "pool.txt", "-o", tmp_path / "m.model")
    assert (code, err) == (2, f"semistruct: {tmp_path / 'pool.txt'}: no token has a label\n")
