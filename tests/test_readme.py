"""What the README tells a newcomer to type works."""

import re
import shlex
from pathlib import Path

import pytest

import semistruct
from semistruct.app.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands():
    lines = [line for block in blocks("sh") for line in block.replace("\\\n", "").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("semistruct ")]


def test_the_commands_of_the_tour(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("alan turing\n", encoding="utf-8")
    Path("brown.tsv").write_text("0010\tturing\t5\n", encoding="utf-8")
    Path("chunks.txt").write_text("He PRP B-NP\nreckons VBZ B-VP\n\nIt PRP B-NP\nis VBZ B-VP\n\n", encoding="utf-8")
    assert len(commands()) >= 15
    for command in commands():
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code in (0, None), (command, capsys.readouterr().err)


def test_the_python_of_the_tour(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("python")
    names = {}
    exec(block, names)
    assert semistruct.load("refs.model").card_["made for"] == "the tour"
    assert names["model"].path_


def test_no_code_has_to_scroll():
    assert [line for body in blocks(r"\w+") for line in body.splitlines() if len(line) > 88] == []


def test_the_rules_of_the_tour():
    (block,) = blocks("yaml")
    assert len(semistruct.Rules.from_text(block)) == 5
