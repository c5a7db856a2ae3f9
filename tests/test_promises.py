"""What docs/promises.md says is kept by tests that exist; those that belong nowhere else are here."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from semistruct import SSVM, Rules, load, make_citations, read
from semistruct.base.errors import DataError, ModelError, ParameterError
from semistruct.data.formats import write
from semistruct.rules import Present
from semistruct.rules.lists import LARGEST

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "promises.md"
X = [["A", ".", "Turing"], ["K", ".", "Gödel", "1931"], ["1936"]]
Y = [["author"] * 3, ["author"] * 3 + ["date"], ["date"]]


def test_every_promise_names_tests_that_exist():
    promises = re.split(r"\n(?=- |## )", PAGE.read_text(encoding="utf-8"))
    promises = [promise for promise in promises if promise.startswith("- ")]
    assert len(promises) > 15
    functions = {}
    for promise in promises:
        named = re.findall(r"(test_\w+\.py)::(test_\w+)", promise)
        assert named, promise
        for file, name in named:
            if file not in functions:
                tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
                functions[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name in functions[file], f"{file} has no {name}"


OPENED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from semistruct import load
from semistruct.base.errors import ModelError
try:
    print(load("b.model").predict([["swordfish"]]))
except ModelError as err:
    print(err)
assert any("b.model" in name for name in opened)
assert not any("secret.txt" in name for name in opened)
"""


@pytest.mark.parametrize("given", ["nothing", "an empty list"])
def test_a_model_cannot_have_other_files_read(tmp_path, given):
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish\n")
    SSVM(features=["word"]).fit(X, Y).save(tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        about, weights = json.loads(archive.read("model.json")), archive.read("weights.safetensors")
    resources = {} if given == "nothing" else {f"lexicon({secret})": {}}
    about["features"] = {"specs": ["word", f"lexicon({secret})"], "resources": resources, "vectors": {}}
    about["params"]["features"] = [f"lexicon({secret})", f"vectors({secret})", f"cluster({secret})"]
    with zipfile.ZipFile(tmp_path / "b.model", "w") as archive:
        archive.writestr("model.json", json.dumps(about))
        archive.writestr("weights.safetensors", weights)
    done = subprocess.run([sys.executable, "-c", OPENED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "swordfish" not in done.stdout


@pytest.fixture(scope="module")
def files_opened():
    """The names of all files that are opened."""
    names, watching = [], [True]
    sys.addaudithook(lambda event, args: names.append(str(args[0])) if event == "open" and watching else None)
    yield names
    watching.clear()  # a hook stays for good


@pytest.mark.parametrize("where", ["the model", "its parameters"])
def test_rules_in_a_model_read_nothing(tmp_path, files_opened, where):
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish\tauthor\n")
    SSVM(features=["word"], rules=Rules([Present("author")])).fit(X, Y).save(tmp_path / "a.model")
    for rule in (
        {"votes": {"file": str(secret)}},
        {"votes": {"file": str(secret), "cast": None}},
        {"words": {"file": str(secret)}, "are": "author"},
        {"words": [{"file": str(secret)}], "are": "author"},
        {"present": "author", "if": {"words": {"file": str(secret)}}},
    ):
        with zipfile.ZipFile(tmp_path / "a.model") as archive:
            about, weights = json.loads(archive.read("model.json")), archive.read("weights.safetensors")
        (about if where == "the model" else about["params"])["rules"] = {"labels": None, "rules": [rule]}
        with zipfile.ZipFile(tmp_path / "b.model", "w") as archive:
            archive.writestr("model.json", json.dumps(about))
            archive.writestr("weights.safetensors", weights)
        files_opened.clear()
        with pytest.raises(ModelError) as found:
            load(tmp_path / "b.model")
        assert str(tmp_path / "b.model") in files_opened
        assert str(secret) not in files_opened
        assert "swordfish" not in str(found.value)


def reading(tmp_path, file, **how):
    """The words that rules below `tmp_path` find in a file."""
    (tmp_path / "mine").mkdir(exist_ok=True)
    (tmp_path / "mine" / "rules.yaml").write_text(f"rules:\n- words: {{file: {file}}}\n  are: author\n")
    (rule,) = Rules.from_file(tmp_path / "mine" / "rules.yaml", **how)
    return rule.words


def test_a_rules_file_reads_only_what_is_below_its_folder(tmp_path):
    (tmp_path / "mine" / "lists").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "mine" / "lists"):
        (folder / "names.txt").write_text("swordfish\n")
    (tmp_path / "mine" / "link.txt").symlink_to(tmp_path / "names.txt")
    (tmp_path / "mine" / "inside.txt").symlink_to(tmp_path / "mine" / "lists" / "names.txt")
    (tmp_path / "mine" / "folder").symlink_to(tmp_path)
    (tmp_path / "mine" / "circle").symlink_to("circle")
    assert reading(tmp_path, "lists/names.txt") == reading(tmp_path, "inside.txt") == ("swordfish",)
    outside = ["../names.txt", "link.txt", "folder/names.txt", tmp_path / "names.txt", "/etc/hostname", "../none.txt"]
    for file in outside:
        with pytest.raises(DataError, match=r"rules.yaml:2: .* must be in the folder of the rules; in Python"):
            reading(tmp_path, file)
    for file in outside[:4]:
        assert reading(tmp_path, file, may_read=tmp_path) == ("swordfish",)
    with pytest.raises(DataError, match=r"circle: cannot read"):
        reading(tmp_path, "circle")
    (tmp_path / "mine" / "rules.yaml").write_text("rules:\n- votes: {file: ../names.txt}\n")
    with pytest.raises(DataError, match=r"votes: \.\./names\.txt: a file that rules read must be in the folder"):
        Rules.from_file(tmp_path / "mine" / "rules.yaml")


def test_a_rules_file_reads_no_pipes_and_nothing_too_large(tmp_path):
    (tmp_path / "mine").mkdir()
    os.mkfifo(tmp_path / "mine" / "pipe")
    with open(tmp_path / "mine" / "large", "wb") as file:
        file.truncate(LARGEST + 1)
    for file, problem in (("pipe", "not a regular file"), ("large", "more than 1000000000 bytes")):
        with pytest.raises(DataError, match=problem):
            reading(tmp_path, file)
        (tmp_path / "mine" / "votes.yaml").write_text(f"rules:\n- votes: {{file: {file}}}\n")
        with pytest.raises(DataError, match=problem):
            Rules.from_file(tmp_path / "mine" / "votes.yaml")
    with pytest.raises(DataError, match="not a regular file"):
        reading(tmp_path, "/dev/zero", may_read="/")


def test_rules_in_a_text_read_nothing_unless_told(tmp_path, monkeypatch):
    (tmp_path / "names.txt").write_text("swordfish\n")
    monkeypatch.chdir(tmp_path)
    text = "rules:\n- words: {file: names.txt}\n  are: author\n"
    with pytest.raises(DataError, match="must be in the folder of the rules; may_read names a folder"):
        Rules.from_text(text)
    assert Rules.from_text(text, may_read=tmp_path).rules[0].words == ("swordfish",)
    with pytest.raises(ParameterError, match="5 is not the path"):
        Rules.from_text(text, may_read=5)


def test_messages_do_not_quote_from_files_of_words(tmp_path):
    (tmp_path / "names.txt").write_text("swordfish\n")
    (tmp_path / "rules.yaml").write_text(
        "lists: {secret: {file: names.txt}}\nrules:\n- words: [tuna, {list: secret}]\n  are: nobody\n"
    )
    rules = Rules.from_file(tmp_path / "rules.yaml")
    assert [rule.text for rule in rules] == ["tuna or the words of names.txt is nobody"]
    with pytest.raises(ParameterError, match="unknown label 'nobody'") as found:
        rules.check_labels(["author"])
    assert "swordfish" not in str(found.value)


def test_limits_of_rules_files(tmp_path):
    (tmp_path / "long.yaml").write_text("rules: []\n" + "#" * 1_000_000)
    with pytest.raises(DataError, match="more than 1000000 bytes"):
        Rules.from_file(tmp_path / "long.yaml")
    for text in ("rules: " + "[" * 9 + "]" * 9, "rules: [!!python/name:os.system x]", "a: &a [1]\nb: *a"):
        with pytest.raises(DataError):
            Rules.from_text(text)


def test_a_pattern_is_given_up_in_time():
    rules = Rules.from_text("rules:\n  - pattern: '(a|aa)+$'\n    are: author\n")
    model = SSVM(features=["word"]).fit(X, Y)
    with pytest.raises(ParameterError, match="takes more than 1 s on the word"):
        model.predict([["a" * 60 + "!"]], rules=rules)


def test_json_that_is_nested_too_deeply(tmp_path):
    (tmp_path / "deep.jsonl").write_text('{"tokens": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(DataError, match="nested too deeply"):
        read(tmp_path / "deep.jsonl", format="jsonl")


def test_what_the_result_depends_on(tmp_path, monkeypatch):
    corpus = make_citations(30, seed=3)
    for folder, names in (("one", "a.tsv"), ("two", "b.tsv")):
        (tmp_path / folder).mkdir()
        write(corpus, tmp_path / folder / names, "tsv")

    def weights(path, turn=1):
        data = read(path)
        return SSVM(features=["word"], tol=0.1).fit(data.tokens[::turn], data.labels[::turn]).model_.weights.trans

    first = weights(tmp_path / "one" / "a.tsv")
    monkeypatch.chdir(tmp_path / "two")
    np.testing.assert_array_equal(first, weights("b.tsv"))
    other = weights("b.tsv", turn=-1)
    assert not np.array_equal(first, other)
    assert np.abs(first - other).max() < 1  # another way to much the same model


def test_a_killed_command_leaves_at_most_a_file_that_says_so(tmp_path):
    """It is killed while it writes."""
    code = (
        "import os, signal\n"
        "from semistruct.base.files import replacing\n"
        "with replacing('target', 'utf-8') as file:\n"
        "    file.write('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "target").write_text("old")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    left = sorted(os.listdir(tmp_path))
    assert (tmp_path / "target").read_text() == "old"
    assert left[1:] == ["target"]
    assert re.fullmatch(r"\..*\.tmp", left[0])
