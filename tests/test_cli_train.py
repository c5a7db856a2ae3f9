"""`semistruct train` with unlabelled data and rules, and what the other commands make of such a model."""

import json
import os
import re

import pytest
from matplotlib.image import imread

from semistruct import SSVM, AnnealedSSVM, Corpus, load, make_citations, read, write
from semistruct.cli import main, training
from semistruct.cli.training import value_of
from semistruct.fitting import calibrating, checkpoints, path, ranked
from semistruct.methods import METHODS
from semistruct.rules import Rules

QUICK = ("-C", "0.5", "-f", "word", "-f", "shape", "--quiet")
ANNEALED = (*QUICK, "-p", "schedule=1,10", "-p", "rounds=1", "-r", "citations")


@pytest.fixture
def rejected(run):
    """The one line with which a command is refused."""

    def call(*args):
        code, out, err = run(*args)
        assert (code, out) == (2, "")
        assert re.fullmatch(r"semistruct: .*\n", err)
        return err

    return call


def call(*args):
    with pytest.raises(SystemExit) as done:
        main([str(arg) for arg in args])
    assert not done.value.code


@pytest.fixture(scope="module", autouse=True)
def one_path():
    """From the supervised model, though labels are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnnealedSSVM, "begins", "labels")
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory, one_path):
    """A folder with train.tsv, dev.tsv, test.tsv, pool.txt, more.txt, rules.yaml and an annealed model."""
    folder = tmp_path_factory.mktemp("home")
    made = [("train", 6, "tsv"), ("dev", 8, "tsv"), ("test", 12, "tsv"), ("pool", 25, "text"), ("more", 5, "text")]
    for seed, (name, n, to) in enumerate(made):
        ending = "txt" if to == "text" else to
        call("data", "make", "citations", "-n", n, "--seed", seed, "--to", to, "-o", folder / f"{name}.{ending}")
    (folder / "rules.yaml").write_text("rules:\n  - starts_with: date\n    weight: hard\n")
    call(*train(folder, folder / "refs.model"), "--json")
    return folder


def train(home, output, *options):
    return ["train", home / "train.tsv", "-u", home / "pool.txt", *ANNEALED, "-o", output, *options]


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


def test_training_reports_as_json(good, home, tmp_path):
    result = json.loads(good(*train(home, tmp_path / "m", "-d", home / "dev.tsv", "--json")))
    assert result.keys() == {
        "model", "method", "seconds", "data", "metric", "token_accuracy", "C", "search", "stop", "history", "path",
        "start", "explanation", "labels", "features", "trust", "ranking", "skipped", "suggested",
    }  # fmt: skip
    assert result["method"] == "annealed"
    assert result["stop"] == "finished"
    assert len(result["path"]) == 3
    assert [point["chosen"] for point in result["path"]].count(True) == 1
    best = max(point["dev_accuracy"] for point in result["path"])
    assert next(point for point in result["path"] if point["chosen"])["dev_accuracy"] == best
    assert [row["step"] for row in result["history"]] == ["match", "learn"] * 2
    assert result["explanation"].keys() == {"rules", "moved", "causes"}
    model, dev = load(tmp_path / "m"), read(home / "dev.tsv")
    assert result["token_accuracy"]["dev"] == model.score(dev.tokens, dev.labels, rules=False)
    under = model.score(dev.tokens, dev.labels)
    assert result["token_accuracy"]["dev, under the rules"] == under
    assert result["labels"] == sorted(Rules.from_file("citations").labels)


def test_training_reports_in_words(good, home, tmp_path):
    args = train(home, tmp_path / "m", "-d", home / "dev.tsv")
    result = json.loads(good(*args, "--json"))
    out = good(*args)
    assert "labels from 6 sequences and a pool of 25 in" in out
    lines = [line for line in out.splitlines() if line.split()[:1] and line.split()[0] != "C"]
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("C_u")) :][:4]
    for line, point in zip(table[1:], result["path"], strict=True):
        weight = f"{point['C_u']:.3g}" if point["C_u"] else "supervised"
        cells = [weight, f"{point['dev_accuracy']:.2%}", f"{point['mistakes']:.2f}"]
        assert line.split() == cells + ["<-", "chosen"] * point["chosen"]
    assert out.count("<- chosen") == 1
    told = [row for row in result["explanation"]["rules"] if row["before"] or row["after"]]
    assert told
    worst = max(told, key=lambda row: row["before"])
    assert f"{worst['rule']} {worst['before']} {worst['after']}" in words(out)
    assert ", with dev accuracy under the rules:\n" in out
    assert "token accuracy on dev, without the rules: " in out
    assert "token accuracy on dev, under the rules: " in out
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
    assert "did not help" not in good(*args, "-r", false, "-o", tmp_path / "m", "--select", "last")


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
    options = ["-p", "moves=tokens", "-p", "match_by=slack", "--select", "last", "-p", "tol=0.2", "--seed", 3]
    good(*train(home, tmp_path / "m", *options, "--jobs", 1, "--metric", "span", "-p", "schedule=0.5,2,4"))
    assert load(tmp_path / "m").get_params() == {
        "C": 0.5, "features": ["word", "shape"], "rules": Rules.from_file("citations"),
        "schedule": [0.5, 2.0, 4.0], "rounds": 1, "moves": "tokens", "match_by": "slack", "select": "last", "tol": 0.2,
        "engine": None, "actors": None,
        "n_jobs": 1, "metric": "span", "random_state": 3,
    }  # fmt: skip


def test_the_schedule_of_the_paper(good, home, tmp_path):
    result = json.loads(good(*train(home, tmp_path / "m", "-p", "schedule=printed", "-p", "tol=0.3", "--json")))
    assert [round(25 * point["C_u"], 9) for point in result["path"][1:]] == [
        1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1,
    ]  # fmt: skip


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


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize("dev", [True, False])
def test_the_path_is_drawn(good, home, tmp_path, ending, dev):
    path = tmp_path / f"path.{ending}"
    result = json.loads(
        good(*train(home, tmp_path / "m", "--plot", path, *(["-d", home / "dev.tsv"] if dev else []), "--json"))
    )
    if ending == "png":
        assert min(imread(path).shape[:2]) > 500
        return
    text = path.read_text()
    names = ["start", *(f"{point['C_u']:.2g}" for point in result["path"][1:])]
    title = "token accuracy on dev data, %" if dev else "known mistakes per sequence"
    for shown in (*names, "chosen", title, "labels switched"):
        assert f"<!-- {shown} -->" in text


@pytest.mark.filterwarnings("default:there is no pool")
def test_a_path_without_unlabelled_data_is_told_and_drawn(run, home, tmp_path):
    args = ["-m", "annealed", *QUICK, "-o", tmp_path / "m", "--plot", tmp_path / "x.svg"]
    code, _, err = run("train", home / "train.tsv", *args)
    told = "there is no pool (-u), so annealed learns from the labels alone"
    assert (code, err) == (0, f"semistruct: warning: {told}\n")
    assert "<!-- chosen -->" in (tmp_path / "x.svg").read_text()


def test_unknown_labels_are_unlabelled_data(good, home, tmp_path):
    (tmp_path / "x.tsv").write_text((home / "train.tsv").read_text() + "A\t?\n.\tauthor\n")
    good("train", tmp_path / "x.tsv", "-m", "annealed", *QUICK, "-p", "rounds=1", "-o", tmp_path / "m")


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


def test_the_checkpoint_of_other_data_is_refused(good, rejected, home, tmp_path):
    keep = ["--checkpoint", tmp_path / "state", "--resume"]
    good(*train(home, tmp_path / "m", *keep[:2]))
    (tmp_path / "m").unlink()
    assert "another run: data was" in rejected(*train(home, tmp_path / "m", *keep, "-u", home / "more.txt"))
    assert "another run: tol was 0.05 and is now 0.1" in rejected(*train(home, tmp_path / "m", *keep, "-p", "tol=0.1"))
    assert not (tmp_path / "m").exists()


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupted_training_leaves_a_model(run, home, tmp_path, monkeypatch):
    save = checkpoints.Checkpoint.save  # first of the start, which comes before the path
    monkeypatch.setattr(checkpoints.Checkpoint, "save", interrupted_at(2, save))
    code, out, err = run(*train(home, tmp_path / "m", "--checkpoint", tmp_path / "state", "--json"))
    assert code == 130
    assert (
        err
        == f"semistruct: interrupted, the model in {tmp_path / 'm'} is the supervised start; left out: calibration\n"
    )
    assert json.loads(out)["stop"] == "interrupted"
    assert len(json.loads(out)["path"]) == 1
    assert load(tmp_path / "m").predict([["A", "."]])


def test_an_interrupted_training_tells_that_its_model_is_further(run, home, tmp_path, monkeypatch):
    walk = AnnealedSSVM._walk

    def one_stage(*args):
        yield next(walk(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(AnnealedSSVM, "_walk", one_stage)
    code, _, err = run(*train(home, tmp_path / "m", "--select", "last"))
    assert code == 130
    assert err.startswith(f"semistruct: interrupted, the model in {tmp_path / 'm'} is the best point so far")


def interrupted_at(call_number, function):
    """The function, interrupted in one of its calls."""
    calls = []

    def call(*args, **kwargs):
        calls.append(args)
        if len(calls) == call_number:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return call


LATE = {  # what is interrupted, in which of its calls, and what is left out then
    "the labels": (AnnealedSSVM, "_label_pool", 1, "the labels of the pool, the explanation, the ranker, calibration"),
    "the explanation": (path, "explain", 1, "the explanation, the ranker, calibration"),
    "the weights": (AnnealedSSVM, "_weighed", 1, "the weights of rules, the ranker, calibration"),
    "the ranker": (AnnealedSSVM, "_ranking", 1, "the ranker, calibration"),
    "the calibration": (calibrating.Uncalibrated, "calibration", 1, "calibration"),
    "a path for the calibration": (AnnealedSSVM, "_walk", 2, "calibration"),
    "the scores": (training, "_scores", 1, "scores"),
    "the file": (AnnealedSSVM, "save", 1, ""),
}


@pytest.mark.parametrize("name", LATE)
def test_an_interruption_after_the_path_leaves_a_model(run, home, tmp_path, monkeypatch, name):
    place, attribute, call_number, left_out = LATE[name]
    monkeypatch.setattr(place, attribute, interrupted_at(call_number, getattr(place, attribute)))
    monkeypatch.setattr(ranked, "LEAST_RULED", 6)
    code, out, err = run(*train(home, tmp_path / "m", "--select", "last"))
    which = "the best point so far, learned from the pool too" + f"; left out: {left_out}" * bool(left_out)
    assert (code, err) == (130, f"semistruct: interrupted, the model in {tmp_path / 'm'} is {which}\n")
    assert f"model written to {tmp_path / 'm'}\n" in out
    assert "no token has a label" not in out
    model, whole = load(tmp_path / "m"), load(home / "refs.model")
    assert model.predict([["A", "."]], rules=True)
    assert model.confidence([["A", "."]])
    assert model.model_.labels == whole.model_.labels


@pytest.mark.parametrize(
    ("step", "call_number"), [("_walk", 1), ("refit", 1), ("_walk", 4)]
)  # a path, two to calibrate, and a path again
def test_an_interrupted_refit_leaves_the_model(run, home, tmp_path, monkeypatch, step, call_number):
    monkeypatch.setattr(AnnealedSSVM, step, interrupted_at(call_number, getattr(AnnealedSSVM, step)))
    code, _, err = run(*train(home, tmp_path / "m", "-d", home / "dev.tsv", "--refit"))
    assert code == 130
    assert re.search(r"; left out: (the ranker, )?(calibration, )?learning from the dev data\n$", err)
    assert load(tmp_path / "m").predict([["A", "."]])


def test_supervised_training_keeps_its_model_without_calibration(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(calibrating.Uncalibrated, "calibration", interrupt)
    code, _, err = run("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    assert (code, err) == (130, f"semistruct: interrupted, the model is in {tmp_path / 'm'}; left out: calibration\n")
    assert load(tmp_path / "m").confidence([["A", "."]])


def test_supervised_training_keeps_its_model_too(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "_scores", interrupt)
    code, _, err = run("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    assert (code, err) == (130, f"semistruct: interrupted, the model is in {tmp_path / 'm'}; left out: scores\n")
    assert load(tmp_path / "m").predict([["A", "."]])


def test_an_interruption_before_anything_is_written_says_so(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(SSVM, "fit", interrupt)
    code, out, err = run("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    assert (code, out, err) == (130, "", "semistruct: interrupted, nothing was written\n")
    assert not (tmp_path / "m").exists()


def test_an_interruption_while_printing_leaves_the_model(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "report", interrupt)
    code, _, err = run(*train(home, tmp_path / "m"))
    told = f"the model is in {tmp_path / 'm'}, the report is not complete"
    assert (code, err) == (130, f"semistruct: interrupted, {told}\n")
    assert load(tmp_path / "m")


def test_an_interruption_while_drawing_leaves_the_model(run, home, tmp_path, monkeypatch):
    monkeypatch.setattr("semistruct.report.plots.path_of_models", interrupt)
    code, _, err = run(*train(home, tmp_path / "m", "--plot", tmp_path / "x.png"))
    assert (code, err) == (
        130,
        f"semistruct: interrupted, the model is in {tmp_path / 'm'}, the plot is not complete\n",
    )
    assert load(tmp_path / "m")


@pytest.mark.parametrize(("output", "told"), [("-", "the output is not complete"), ("out", "nothing was written")])
def test_an_interrupted_prediction(run, home, tmp_path, monkeypatch, output, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(AnnealedSSVM, "predict", interrupt)
    code, _, err = run("predict", home / "refs.model", home / "test.tsv", "-o", output)
    assert (code, err) == (130, f"semistruct: interrupted, {told}\n")
    assert os.listdir(tmp_path) == []


# ---- what is refused

WRONG = {
    "schedule of ssvm": (["-m", "ssvm", "-p", "schedule=1,10"], "the method ssvm has no parameter schedule"),
    "rounds of ssvm": (["-p", "rounds=2"], "the method ssvm has no parameter rounds"),
    "match-by of ssvm": (["-p", "match_by=slack"], "the method ssvm has no parameter match_by"),
    "pool of ssvm": (["-m", "ssvm", "-u", "POOL"], "the method ssvm does not use a pool; omit -u, or use -m annealed"),
    "plot of ssvm": (["--plot", "OUT/x.png"], "no checkpoints and no path to plot"),
    "checkpoint of ssvm": (["--checkpoint", "OUT/state"], "no checkpoints and no path to plot"),
    "resume from nowhere": (["-u", "POOL", "--resume"], "--resume needs --checkpoint, the folder"),
    "passes of annealed": (["-u", "POOL", "-p", "max_passes=9"], "the method annealed has no parameter max_passes"),
    "method": (["-m", "magic"], "there is no method 'magic'; there are"),
    "no value": (["-p", "rounds"], "--set rounds: expected NAME=VALUE"),
    "method, nearly": (["-m", "anealed"], "there is no method 'anealed'; did you mean 'annealed'?"),
    "own option": (["-p", "C=1"], "--set C=1: C has an option of its own, -C\n"),
    "option of another name": (["-p", "n_jobs=1"], "n_jobs has an option of its own, --jobs\n"),
    "rising temperatures": (["-u", "POOL", "-m", "daso", "-p", "schedule=1,2"], "schedule must be"),
    "frozen": (["-u", "POOL", "-m", "daso", "-p", "schedule=1,0"], "schedule must be"),
    "schedule falls": (["-u", "POOL", "-p", "schedule=10,1"], "schedule must be"),
    "schedule of zero": (["-u", "POOL", "-p", "schedule=0,1"], "schedule must be"),
    "schedule of words": (["-u", "POOL", "-p", "schedule=slow"], "schedule must be"),
    "no rounds": (["-u", "POOL", "-p", "rounds=0"], "rounds must be"),
    "moves": (["-u", "POOL", "-p", "moves=words"], "moves must be"),
    "select": (["-u", "POOL", "--select", "best"], "select must be"),
    "no dev": (["-u", "POOL", "--select", "dev"], "there is no dev data"),
    "no such pool": (["-u", "OUT/none.txt"], "none.txt: cannot read"),
    "no such rules": (["-r", "OUT/none.yaml"], "there is no rules file"),
    "plot of another kind": (["-u", "POOL", "--plot", "OUT/x.doc"], "x.doc: a plot must be a .png or .svg file"),
    "plot nowhere": (["-u", "POOL", "--plot", "OUT/none/x.png"], "cannot write: no such folder"),
    "unknown label": (["-u", "POOL", "-r", "OUT/odd.yaml"], "odd.yaml:2: rule 'starts with autor': unknown label"),
}


@pytest.mark.parametrize(("options", "method"), [([], "ssvm"), (["-m", "crf"], "crf")])
def test_an_engine_for_a_method_that_cannot_use_it(rejected, home, tmp_path, monkeypatch, options, method):
    monkeypatch.setattr("semistruct.engines.cluster.check_engine", lambda engine: None)
    message = rejected("train", home / "train.tsv", *QUICK, *options, "--engine", "ray", "-o", tmp_path / "m")
    assert f"the method {method} cannot use --engine; it works with the method annealed only" in message
    assert "which needs a pool: -u FILE" in message


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


@pytest.mark.filterwarnings("default::semistruct.errors.RuleWarning")
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_contradicting_rules_are_told_with_the_place(run, home, tmp_path, monkeypatch, command):
    monkeypatch.setattr("semistruct.cli.labelling.CHUNK", 2)
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


def test_rules_for_a_model_without(good, home, tmp_path):
    good("train", home / "train.tsv", *QUICK, "-o", tmp_path / "m")
    out = good("predict", tmp_path / "m", home / "test.tsv", "-r", home / "rules.yaml")
    assert all(part.splitlines()[0].endswith("\tdate") for part in out.strip().split("\n\n"))


def test_corpus_rules_hold_for_the_whole_input(good, tmp_path):
    data = make_citations(30)
    write(Corpus(data.examples[:15]), tmp_path / "few.tsv", "tsv")
    write(Corpus(data.examples[15:]), tmp_path / "new.tsv", "tsv")
    rules = "rules:\n- proportion: {note: 0.5}\n  weight: 1000000\n"
    (tmp_path / "r.yaml").write_text("labels: [note]\n" + rules)
    good("train", tmp_path / "few.tsv", "-o", tmp_path / "m", "-C", 0.5, "-f", "lower", "-p", "tol=0.1")

    def share(*options):
        good(
            "predict", tmp_path / "m", tmp_path / "new.tsv", "-r", tmp_path / "r.yaml", "-o", tmp_path / "out", *options
        )
        labels = [y for row in read(tmp_path / "out").labels for y in row]
        return labels.count("note") / len(labels)

    assert share() < 0.3
    assert share("--corpus-rules") == pytest.approx(0.5, abs=0.02)


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


def test_an_hmm_trains(good, home, tmp_path):
    out = good("train", home / "train.tsv", "-m", "hmm", "-o", tmp_path / "m", "-r", "citations", "-p", "smoothing=0.1")
    assert "learned 13 labels" in out
    assert load(tmp_path / "m").smoothing == 0.1


def test_a_crf_trains_and_gives_probabilities(good, home, tmp_path):
    good("train", home / "train.tsv", "-m", "crf", *QUICK, "-o", tmp_path / "m", "-p", "l1=0.1")
    model = load(tmp_path / "m")
    assert model.l1 == 0.1
    out = good("predict", tmp_path / "m", home / "test.tsv", "--to", "jsonl", "--confidence")
    shown = [value for line in out.splitlines() for value in json.loads(line)["confidence"]]
    assert 0 < min(shown) <= max(shown) <= 1
