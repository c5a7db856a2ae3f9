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

from semistruct import SSVM, Rules, make_citations, read
from semistruct.errors import DataError, ParameterError
from semistruct.formats import write

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
from semistruct.errors import ModelError
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
    with zipfile.ZipFile(tmp_path / "b.model", "w") as archive:
        archive.writestr("model.json", json.dumps(about))
        archive.writestr("weights.safetensors", weights)
    done = subprocess.run([sys.executable, "-c", OPENED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "swordfish" not in done.stdout


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
        "from semistruct.files import replacing\n"
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
