"""`semistruct train` with unlabelled data and rules, and what the other commands make of such a model."""

import json
import os
import re

import pytest

from cli_cases import ANNEALED, QUICK, train
from semistruct import SSVM, AnnealedSSVM, load, read
from semistruct.app.cli.training import value_of
from semistruct.learning import checkpoints
from semistruct.learning import settings as learning
from semistruct.methods import METHODS
from semistruct.rules import Rules


@pytest.fixture
def home(annealed_refs):
    return annealed_refs


@pytest.fixture(autouse=True)
def one_path(monkeypatch):
    """From the supervised model, though labels are few."""
    monkeypatch.setattr(learning, "SECOND_START_UNTIL", 0)


def words(out):
    return " ".join(out.split())


# ---- training


def test_training_is_the_librarys(home):
    labelled, pool = read(home / "train.tsv"), read(home / "pool.txt")
    model = AnnealedSSVM(features=["word", "shape"], schedule=[1.0, 10.0], rounds=1, rules=Rules.from_file("citations"))
    model.fit(labelled.tokens, labelled.labels, pool=pool.tokens)
    found = load(home / "refs.model")
    assert type(found) is AnnealedSSVM
    assert found.model_.weights.tokens.tobytes() == model.model_.weights.tokens.tobytes()
    assert found.get_params() == model.get_params()
    assert found.card_["data"]["unlabelled"] == [str(home / "pool.txt")]
    assert found.card_["data"]["pool"] == 25


def test_training_reports(good, home, tmp_path):
    args = train(home, tmp_path / "m", "-d", home / "dev.tsv")
    out, result = good(*args), json.loads(good(*args, "--json"))
    assert result.keys() == {
        "model", "method", "seconds", "data", "metric", "token_accuracy", "C", "search", "stop", "history", "path",
        "start", "explanation", "labels", "features", "trust", "ranking", "skipped", "suggested",
    }  # fmt: skip
    assert (result["method"], result["stop"], len(result["path"])) == ("annealed", "finished", 3)
    (chosen,) = (point for point in result["path"] if point["chosen"])
    assert chosen["dev_accuracy"] == max(point["dev_accuracy"] for point in result["path"])
    assert [row["step"] for row in result["history"]] == ["match", "learn"] * 2
    assert result["explanation"].keys() == {"rules", "moved", "causes"}
    model, dev = load(tmp_path / "m"), read(home / "dev.tsv")
    assert result["token_accuracy"]["dev"] == model.score(dev.tokens, dev.labels, rules=False)
    assert result["token_accuracy"]["dev, under the rules"] == model.score(dev.tokens, dev.labels)
    assert result["labels"] == sorted(Rules.from_file("citations").labels)
    assert "labels from 6 sequences and a pool of 25 in" in out
    lines = [line for line in out.splitlines() if line.split()[:1] and line.split()[0] != "C"]
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("C_u")) :][:4]
    for line, point in zip(table[1:], result["path"], strict=True):
        weight = f"{point['C_u']:.3g}" if point["C_u"] else "supervised"
        cells = [weight, f"{point['dev_accuracy']:.2%}", f"{point['mistakes']:.2f}"]
        assert line.split() == cells + ["<-", "chosen"] * point["chosen"]
    worst = max(result["explanation"]["rules"], key=lambda row: row["before"])
    assert f"{worst['rule']} {worst['before']} {worst['after']}" in words(out)
    for part in ("dev accuracy under the rules:", "on dev, without the rules: ", "on dev, under the rules: "):
        assert part in out
    assert "(on the training data itself, without the rules: " in out
    assert f"model written to {tmp_path / 'm'}\n" in out


def test_without_dev_data_the_table_has_no_column_for_it(good, home, tmp_path):
    out = good(*train(home, tmp_path / "m"))
    assert "C_u known mistakes per sequence supervised" in words(out)
    assert "dev accuracy" not in out


def test_a_model_that_learned_nothing_from_unlabelled_data_says_so(good, home, tmp_path):
    false = tmp_path / "false.yaml"
    false.write_text("rules:\n  - proportion: {date: 0.9}\n")
    args = ["train", home / "train.tsv", "-u", home / "pool.txt", *QUICK, "-p", "schedule=10,100", "-p", "rounds=1"]
    out = good(*args, "-r", false, "-o", tmp_path / "m")
    assert "the pool did not help enough, so this is the supervised model" in out
    assert re.search(r"supervised .* <- chosen\n", out)
    assert "did not help" not in good(*args, "-r", false, "-o", tmp_path / "m", "-p", "select=last")


@pytest.mark.filterwarnings("ignore:there is no pool")
@pytest.mark.parametrize(("options", "method"), [((), SSVM), (("-m", "annealed"), AnnealedSSVM)])
def test_without_unlabelled_data_the_method_is_supervised(good, home, tmp_path, options, method):
    result = json.loads(
        good("train", home / "train.tsv", *QUICK, *options, "-r", "citations", "-o", tmp_path / "m", "--json")
    )
    assert type(load(tmp_path / "m")) is method
    assert result["method"] == {SSVM: "ssvm", AnnealedSSVM: "annealed"}[method]
    assert result["data"].keys() == {"file", "sequences", "sha256"}
    out = good("train", home / "train.tsv", *QUICK, *options, "-o", tmp_path / "m")
    assert ("C_u" in out) == (method is AnnealedSSVM)
    assert "a pool of" not in out
    assert "did not help" not in out


def test_options_reach_the_estimator(good, home, tmp_path):
    options = ["-p", "moves=tokens", "-p", "match_by=slack", "-p", "select=last", "-p", "tol=0.2", "--seed", 3]
    good(*train(home, tmp_path / "m", *options, "--jobs", 1, "--metric", "span", "-p", "schedule=0.5,2,4"))
    assert load(tmp_path / "m").get_params() == {
        "C": 0.5, "features": ["word", "shape"], "rules": Rules.from_file("citations"),
        "schedule": [0.5, 2.0, 4.0], "rounds": 1, "moves": "tokens", "match_by": "slack", "select": "last", "tol": 0.2,
        "n_jobs": 1, "metric": "span", "random_state": 3,
    }  # fmt: skip


def test_several_files_of_unlabelled_data(good, home, tmp_path):
    result = json.loads(good(*train(home, tmp_path / "m", "-u", home / "more.txt", "--json")))
    assert result["data"]["pool"] == 30
    assert result["data"]["unlabelled"] == [str(home / "pool.txt"), str(home / "more.txt")]


def test_labels_of_unlabelled_data_are_not_looked_at(good, home, tmp_path):
    good("train", home / "train.tsv", "-u", home / "test.tsv", *ANNEALED, "-o", tmp_path / "a")
    blind = tmp_path / "blind.tsv"
    blind.write_text(re.sub(r"\t.*", "\tauthor", (home / "test.tsv").read_text()))
    good("train", home / "train.tsv", "-u", blind, *ANNEALED, "-o", tmp_path / "b")
    first, second = (load(tmp_path / name).model_ for name in "ab")
    assert first.weights.tokens.tobytes() == second.weights.tokens.tobytes()


# ---- what is kept besides


@pytest.mark.parametrize("dev", [True, False])
def test_the_path_is_drawn(good, home, tmp_path, dev):
    path, more = tmp_path / "path.svg", ["-d", home / "dev.tsv"] if dev else []
    result = json.loads(good(*train(home, tmp_path / "m", "--plot", path, *more, "--json")))
    names = ["start", *(f"{point['C_u']:.2g}" for point in result["path"][1:])]
    title = "token accuracy on dev data, %" if dev else "known mistakes per sequence"
    for shown in (*names, "chosen", title, "labels switched"):
        assert f"<!-- {shown} -->" in path.read_text()


@pytest.mark.filterwarnings("default:there is no pool")
def test_a_path_without_unlabelled_data_is_told_and_drawn(run, home, tmp_path):
    args = ["-m", "annealed", *QUICK, "-o", tmp_path / "m", "--plot", tmp_path / "x.svg"]
    code, _, err = run("train", home / "train.tsv", *args)
    told = "there is no pool (-u), so annealed learns from the labels alone"
    assert (code, err) == (0, f"semistruct: warning: {told}\n")
    assert "<!-- chosen -->" in (tmp_path / "x.svg").read_text()


def test_training_goes_on_from_a_checkpoint(good, run, home, tmp_path):
    folder = tmp_path / "state"
    first = json.loads(good(*train(home, tmp_path / "a", "--checkpoint", folder, "--json")))
    assert sorted(os.listdir(folder)) == [checkpoints.NAME, checkpoints.START]
    code, out, err = run(*train(home, tmp_path / "b", "--checkpoint", folder, "--resume", "--json"))
    again, kept = json.loads(out), folder / checkpoints.NAME
    assert (code, err) == (0, f"semistruct: continuing from {kept}: stage 2 of 2, 1 round of it done\n")
    kept.unlink()
    _, _, err = run(*train(home, tmp_path / "b", "--checkpoint", folder, "--resume", "--json"))
    assert err == f"semistruct: continuing from {folder / checkpoints.START}: C and the first model are known\n"
    assert again["history"] == first["history"]  # with the seconds of the first run: nothing was done again
    a, b = (load(tmp_path / name).model_.weights for name in "ab")
    assert a.tokens.tobytes() == b.tokens.tobytes()


@pytest.mark.parametrize("exists", [True, False])
def test_without_a_checkpoint_training_says_that_it_starts_afresh(run, home, tmp_path, exists):
    folder = tmp_path / "state"
    if exists:
        folder.mkdir()
    code, _, err = run(*train(home, tmp_path / "m", "--checkpoint", folder, "--resume"))
    assert (code, err) == (0, f"semistruct: no checkpoint in {folder}: starting from the beginning\n")


def test_the_checkpoint_of_other_data_is_refused(good, run, home, tmp_path):
    keep = ["--checkpoint", tmp_path / "state", "--resume"]
    good(*train(home, tmp_path / "m", *keep[:2]))
    (tmp_path / "m").unlink()
    for other, told in (
        (["-u", home / "more.txt"], "another run: data was"),
        (["-p", "tol=0.1"], "another run: tol was 0.05 and is now 0.1"),
    ):
        code, _, err = run(*train(home, tmp_path / "m", *keep, *other))
        assert code == 2
        assert told in err.splitlines()[-1]
    assert not (tmp_path / "m").exists()


# ---- what is refused

WRONG = {
    "schedule of ssvm": (["-m", "ssvm", "-p", "schedule=1,10"], "the method ssvm has no parameter schedule"),
    "pool of ssvm": (["-m", "ssvm", "-u", "POOL"], "the method ssvm does not use a pool; omit -u, or use -m annealed"),
    "plot of ssvm": (["--plot", "OUT/x.png"], "no checkpoints and no path to plot"),
    "checkpoint of ssvm": (["--checkpoint", "OUT/state"], "no checkpoints and no path to plot"),
    "resume from nowhere": (["-u", "POOL", "--resume"], "--resume needs --checkpoint, the folder"),
    "method": (["-m", "magic"], "there is no method 'magic'; there are"),
    "no value": (["-p", "rounds"], "--set rounds: expected NAME=VALUE"),
    "own option": (["-p", "C=1"], "--set C=1: C has an option of its own, -C\n"),
    "schedule falls": (["-u", "POOL", "-p", "schedule=10,1"], "schedule must be"),
    "select": (["-u", "POOL", "-p", "select=best"], "select must be"),
    "no dev": (["-u", "POOL", "-p", "select=dev"], "there is no dev data"),
    "plot of another kind": (["-u", "POOL", "--plot", "OUT/x.doc"], "x.doc: a plot must be a .png or .svg file"),
    "unknown label": (["-u", "POOL", "-r", "OUT/odd.yaml"], "odd.yaml:2: rule 'starts with autor': unknown label"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options(rejected, home, tmp_path, case):
    options, message = WRONG[case]
    (tmp_path / "odd.yaml").write_text("rules:\n  - starts_with: autor\n")
    given = [str(home / "pool.txt") if o == "POOL" else o.replace("OUT", str(tmp_path)) for o in options]
    assert message in rejected("train", home / "train.tsv", *QUICK, *given, "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()


# ---- predicting and evaluating under rules


def test_predictions_obey_the_rules_of_the_model(good, home):
    model, test = load(home / "refs.model"), read(home / "test.tsv")
    under, free = model.predict(test.tokens), model.predict(test.tokens, rules=False)
    assert under != free

    def predicted(*options):
        out = good("predict", home / "refs.model", home / "test.tsv", *options)
        return [[line.split("\t")[-1] for line in part.splitlines()] for part in out.strip().split("\n\n")]

    assert predicted() == under
    assert predicted("--no-rules") == free
    other = predicted("-r", home / "rules.yaml")
    assert {row[0] for row in other} == {"date"}
    assert predicted("--rules", home / "rules.yaml") == other


@pytest.mark.filterwarnings("default::semistruct.base.errors.RuleWarning")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_contradicting_rules_are_told_with_the_place(run, home, tmp_path, monkeypatch, command):
    monkeypatch.setattr("semistruct.app.cli.answers.CHUNK", 2)
    (tmp_path / "odd.tsv").write_text("A\tauthor\n.\tauthor\n\nB\tauthor\nb\tauthor\n\nodd\tauthor\n.\tauthor\n")
    hard = "    weight: hard\n"
    odd = f"rules:\n  - words: [odd]\n    are: title\n{hard}  - words: [odd]\n    are: date\n{hard}"
    (tmp_path / "odd.yaml").write_text(odd)
    code, _, err = run(command, home / "refs.model", tmp_path / "odd.tsv", "-r", tmp_path / "odd.yaml")
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith(
        f"semistruct: warning: {tmp_path / 'odd.tsv'}:7: the rules 'odd is title' and 'odd is date' conflict"
    )


def test_evaluation_is_under_the_rules_of_the_model(good, home):
    model, test = load(home / "refs.model"), read(home / "test.tsv")

    def evaluated(*options):
        return json.loads(good("evaluate", home / "refs.model", home / "test.tsv", *options, "--json"))

    default, free, other = evaluated(), evaluated("--no-rules"), evaluated("-r", home / "rules.yaml")
    assert default["token_accuracy"] == model.score(test.tokens, test.labels)
    assert free["token_accuracy"] == model.score(test.tokens, test.labels, rules=False)
    assert default["token_accuracy"] != free["token_accuracy"]
    assert (default["rules"], free["rules"], other["rules"]) == (True, False, True)
    assert default["broken"]["predicted"]["any"] < free["broken"]["predicted"]["any"]
    assert default["broken"]["gold"] == free["broken"]["gold"]
    assert other["broken"]["predicted"]["rules"] == {"starts with date": 0}
    assert "labelled under the rules" in good("evaluate", home / "refs.model", home / "test.tsv")
    free_report = good("evaluate", home / "refs.model", home / "test.tsv", "--no-rules")
    assert "labelled without the rules" in free_report


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_rules_and_none_of_them_are_refused(rejected, home, command):
    options = ["-r", home / "rules.yaml", "--no-rules"]
    assert "--no-rules are both given" in rejected(command, home / "refs.model", home / "test.tsv", *options)


def test_the_rules_of_a_model_are_shown(good, home):
    rules = Rules.from_file("citations")
    shown = json.loads(good("dump", home / "refs.model", "-k", 1, "--json"))
    assert shown["params"]["rules"] == json.loads(json.dumps(rules.to_dict()))
    trust = load(home / "refs.model").card_["trust"]
    assert [row["rule"] for row in shown["rules"]] == [row["rule"] for row in trust] == [rule.text for rule in rules]
    out = " ".join(good("dump", home / "refs.model", "-k", 1).split())
    assert all(f"rule: {rule.text} (weight " in out for rule in rules.rules)
    assert "Rules(" not in out


# ---- methods and their parameters


def test_methods_are_listed(good):
    listed = json.loads(good("methods", "--json"))["methods"]
    assert {row["name"] for row in listed} == set(METHODS)
    assert all(row["what"] for row in listed)
    out = good("methods")
    assert all(name in out for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_tells_its_parameters(good, name):
    told = json.loads(good("methods", name, "--json"))
    assert told["class"] == METHODS[name].__name__
    assert told["defaults"].keys() == METHODS[name]().get_params(deep=False).keys()
    assert all(parameter in good("methods", name) for parameter in told["defaults"])


VALUES = {
    "5": 5, "-2": -2, "0.5": 0.5, "1e-3": 0.001, "1,10": [1, 10], "0.5,2": [0.5, 2.0], "yes": True, "False": False,
    "none": None, "printed": "printed", "a,b": "a,b", "1,b": "1,b", "": "",
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_values_are_read(text):
    value = value_of(text)
    assert (value, type(value)) == (VALUES[text], type(VALUES[text]))


PATHS = {
    "pr": (["-r", "citations-codl", "-p", "rounds=2"], "expectations"),
    "daso": (["-r", "citations-codl", "-p", "schedule=2,1", "-p", "rounds=1"], "expectations"),
    "ap": (["-r", "citations-ap", "-p", "rounds=1"], "expectations"),
    "ge": (["-r", "OUT/shares.yaml"], "shares"),
    "codl": (["-r", "citations-codl", "-p", "rounds=1", "-p", "k=2", "-p", "base=ssvm"], "explanation"),
}


@pytest.mark.parametrize("method", PATHS)
def test_every_method_of_a_path_trains_reports_draws_and_keeps_its_state(good, run, home, tmp_path, method):
    options, told = PATHS[method]
    (tmp_path / "shares.yaml").write_text("rules:\n  - words: [pp]\n    are: pages\n    fraction: 0.9\n")
    options = [o.replace("OUT", str(tmp_path)) for o in options]
    own = () if method == "codl" else QUICK
    args = ["train", home / "train.tsv", "-u", home / "pool.txt", "-m", method, *own, *options]
    args += ["-o", tmp_path / "m", "--plot", tmp_path / "x.svg", "--checkpoint", tmp_path / "state"]
    result = json.loads(good(*args, "--json"))
    axis = METHODS[method].axis
    assert [point[axis] is None for point in result["path"]] == [True] + [False] * (len(result["path"]) - 1)
    assert len(result["path"]) > 1
    assert result[told]
    assert {"stage", "round", "step", "objective", "broken", "switched", axis} <= result["history"][0].keys()
    assert METHODS[method].axis_text in (tmp_path / "x.svg").read_text()
    _, out, err = run(*args, "--resume")
    assert err.startswith("semistruct: continuing from ")
    assert METHODS[method].axis_text in words(out)
    assert "before" in out
    assert type(load(tmp_path / "m")) is METHODS[method]


def test_a_crf_trains_and_gives_probabilities(good, home, tmp_path):
    good("train", home / "train.tsv", "-m", "crf", *QUICK, "-o", tmp_path / "m", "-p", "l1=0.1")
    model = load(tmp_path / "m")
    assert model.l1 == 0.1
    out = good("predict", tmp_path / "m", home / "test.tsv", "--to", "jsonl", "--confidence")
    shown = [value for line in out.splitlines() for value in json.loads(line)["confidence"]]
    assert 0 < min(shown) <= max(shown) <= 1
