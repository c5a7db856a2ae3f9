"""What each rule does to the labels of a model, against a recount; and the command that shows it."""

import json

import pytest

from semistruct import SSVM, Rules, make_citations, write
from semistruct.learning.effects import Right, effects_of, weighed_like
from semistruct.rules import AtMostOnce, Proportion, StartsWith, Words

TRAIN, TEST = make_citations(8, seed=1), make_citations(25, seed=2)
FALSE = Words(["the", "and", "of"], are="volume", weight=50.0)
RULES = Rules([StartsWith(["author"]), AtMostOnce("all"), FALSE, Proportion({"title": 0.3})], TRAIN.label_set)


@pytest.fixture(scope="module")
def fitted():
    return SSVM(rules=Rules([AtMostOnce("all")], TRAIN.label_set), tol=0.1).fit(TRAIN.tokens, TRAIN.labels)


def recount(fitted, rules):
    """(tokens, sequences) that are right under these rules."""
    found = fitted.predict(TEST.tokens, rules=Rules(rules))
    pairs = list(zip(TEST.labels, found, strict=True))
    tokens = sum(a == b for gold, row in pairs for a, b in zip(gold, row, strict=True))
    return tokens, sum(gold == row for gold, row in pairs)


def test_gains_are_those_of_a_recount(fitted):
    effects = {one.rule: one for one in effects_of(fitted.model_, RULES, TEST.tokens, TEST.labels, 8)}
    weighed = [rule for rule in weighed_like(RULES, fitted.model_, 8) if rule.level == "instance"]
    assert set(effects) == {rule.text for rule in weighed}
    plain, everything = recount(fitted, []), recount(fitted, weighed)
    for rule in weighed:
        one, others = effects[rule.text], [other for other in weighed if other is not rule]
        only, rest = recount(fitted, [rule]), recount(fitted, others)
        assert one.alone == Right(only[0] - plain[0], only[1] - plain[1])
        assert one.beside == Right(everything[0] - rest[0], everything[1] - rest[1])
        before = fitted.predict(TEST.tokens, rules=False)
        after = fitted.predict(TEST.tokens, rules=Rules([rule]))
        assert one.changed == sum(a != b for a, b in zip(before, after, strict=True))
        for change in one.examples:
            run = slice(change.start, change.start + len(change.tokens))
            assert change.tokens == TEST.tokens[change.sequence][run]
            assert change.before == before[change.sequence][run]
            assert change.after == after[change.sequence][run]
            assert all(a != b for a, b in zip(change.before, change.after, strict=True))
    assert effects[FALSE.text].hurts
    assert list(effects)[-1] == FALSE.text


def test_weights_are_those_of_the_model_where_it_has_the_rule(fitted):
    known = fitted.model_.rules.rules[0].weight
    assert [rule.weight for rule in weighed_like(RULES, fitted.model_, 4)] == [20.0, known, 50.0, 1000]


def test_without_gold_labels_there_are_changes_only(fitted):
    for one in effects_of(fitted.model_, RULES, TEST.tokens, None, 8):
        assert one.alone is one.beside is None
        assert not one.hurts


def test_the_command(fitted, run, tmp_path):
    fitted.save(tmp_path / "m.model")
    write(TEST, tmp_path / "test.tsv", "tsv")
    (tmp_path / "r.yaml").write_text(
        "rules:\n- at_most_once: all\n- words: [the, and, of]\n  are: volume\n  weight: 50\n", encoding="utf-8"
    )
    command = ["rules", tmp_path / "r.yaml", "--on", tmp_path / "test.tsv", "--model", tmp_path / "m.model"]
    code, out, _ = run(*command)
    assert code == 0
    assert "! it hurts: the labels are better without it" in out
    code, out, _ = run(*command, "--json")
    rows = json.loads(out)["rules"]
    assert rows[-1]["rule"] == FALSE.text
    assert rows[-1]["hurts"]
    assert rows[-1]["changed"] > 0
    code, _, err = run("rules", tmp_path / "r.yaml", "--model", tmp_path / "m.model")
    assert (code, err) == (2, "semistruct: --model needs --on, the sequences to label\n")
    (tmp_path / "r.yaml").write_text("rules:\n- starts_with: autor\n", encoding="utf-8")
    code, _, err = run(*command)
    assert code == 2
    assert "unknown label 'autor'; did you mean 'author'" in err
