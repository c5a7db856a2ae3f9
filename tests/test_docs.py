"""What the pages of the documentation tell a reader to type works, and shows what they say it shows.

The blocks of a page run in their order, in a folder of their own.  What a block is depends on its language:

    python   runs; all blocks of a page share their names
    sh       every line is a `semistruct` command, perhaps after `echo '...' |`; a line that ends in \\ goes on
    yaml     rules, a whole file or a part of the list
    output   stands in what the block before it printed; `...` stands for anything
    any with title="NAME"   becomes the file NAME
    math     a formula in LaTeX
    text, console, others   for the eye only
"""

import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from semistruct import rules
from semistruct.app.cli import main
from semistruct.methods import METHODS
from semistruct.rules.vocabulary import VOCABULARY

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "results" not in path.parts)
LANGUAGES = {"python", "sh", "yaml", "output", "math", "text", "console", "tsv", "json"}
WIDTH = 88  # characters that fit beside both columns of links in a window of 1280 pixels
FENCE = re.compile(
    r'^```(?P<language>\w*)(?: +title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$', re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    language: str
    title: str | None
    body: str
    line: int


def blocks(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    found = [
        Block(m["language"], m["title"], m["body"], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.MULTILINE)), f"{page}: a fence that is not understood"
    return found


def run_command(line, where, monkeypatch):
    """One line of a shell block, in this process."""
    said, pipe, command = line.rpartition(" | ")
    words = shlex.split(command, comments=True)
    assert words[0] == "semistruct", f"{where}: {line!r} is not ours; fence it as console"
    if pipe:
        echo, *text = shlex.split(said)
        assert echo == "echo", f"{where}: only echo can stand before a pipe"
        stdin = io.TextIOWrapper(io.BytesIO((" ".join(text) + "\n").encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(SystemExit) as stop:
        main(words[1:])
    return stop.value.code or 0


def rules_of(body):
    """The rules of a file, or of a part of its list."""
    whole = body if re.search(r"^rules:", body, re.MULTILINE) else f"rules:\n{body}"
    return rules.Rules.from_text(whole, may_read=".")


def shows(printed, expected):
    """Expected stands in printed, whatever the white space at the ends of lines."""
    tidy = ["\n".join(line.rstrip() for line in text.strip("\n").splitlines()) for text in (printed, expected)]
    pattern = ".*?".join(re.escape(part) for part in tidy[1].split("..."))
    return re.search(pattern, tidy[0], re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names, printed = {}, ""
    for language, title, body, line in blocks(page):
        where = f"docs/{page}:{line}"
        assert language in LANGUAGES, f"{where}: what is a block of {language!r}?"
        if title:
            Path(title).write_text(body, encoding="utf-8")
        if language == "yaml":
            assert len(rules_of(body)), where
        elif language == "python":
            exec(compile("\n" * (line - 1) + body, str(DOCS / page), "exec"), names)
            printed = capsys.readouterr().out
        elif language == "sh":
            for command in filter(None, map(str.strip, body.replace("\\\n", "").splitlines())):
                code = run_command(command, where, monkeypatch)
                assert code == 0, (where, command, capsys.readouterr().err)
            printed = capsys.readouterr().out
        elif language == "output":
            assert shows(printed, body), f"{where}: the block before printed\n{printed}"


@pytest.mark.parametrize("page", PAGES)
def test_no_block_has_to_scroll(page):
    """Formulas are set by the browser, and the lines of data files go on below where they are too long."""
    for block in blocks(page):
        if block.language != "math" and not (block.language == "text" and block.title):
            wide = [line for line in block.body.splitlines() if len(line) > WIDTH]
            assert wide == [], f"docs/{page}:{block.line}"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    for tool in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(tool)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=DOCS.parent, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_formulas_are_shown_as_formulas(site):
    for page in ("supervised", "annealed", "codl", "expectations", "transductive"):
        text = (site / "methods" / f"{page}.html").read_text(encoding="utf-8")
        assert '<div class="formula"><math' in text, page
        assert "arithmatex" not in text, page


def test_a_formula_that_is_not_understood_is_refused():
    pytest.importorskip("latex2mathml")
    formulas = module_of("formulas")
    assert formulas.as_mathml("x_1", "inline").startswith("<math")
    with pytest.raises(ValueError, match="not understood"):
        formulas.as_mathml(r"\nosuchthing x", "inline")


def test_pages_fetch_nothing_from_elsewhere(site):
    fetched = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
    for path in site.rglob("*.html"):
        assert fetched.findall(path.read_text(encoding="utf-8")) == [], path
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"""@import[^;]*|url\(["']?(?:https?:)?//[^)]*\)""", text) == [], path


def test_every_rule_is_shown_in_both_languages_alike():
    seen, page = set(), blocks("rules.md")
    for yaml, python in pairwise(page):
        if yaml.language == "yaml" and python.body.startswith("rule = "):
            names = vars(rules).copy()
            exec(python.body, names)
            (rule,) = rules_of(yaml.body).rules
            assert rule == names["rule"], yaml.line
            seen.add(rule.key)
    assert seen == set(VOCABULARY)


def test_every_method_has_a_place():
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES if page.startswith("methods/"))
    assert [name for name, method in METHODS.items() if f"`{method.__name__}`" not in text] == []


def test_every_command_is_described():
    from typer.main import get_command

    from semistruct.app.cli.app import app

    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert [name for name in get_command(app).commands if f"## `{name}" not in text] == []


def module_of(name):
    """A module that lies beside the pages."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    module = module_of("docstrings")
    text = "Sum.\n\n    a + b\n\nParameters\n----------\na, b : numbers, in a\n    range [0, 1]\n\nas  in x[0] < 1"
    assert module.as_markdown(text) == (
        "Sum.\n\n    a + b\n\n**Parameters**\n\n- `a`, `b`: numbers, in a\n  range \\[0, 1\\]\n\n"
        "- `as`: in x\\[0\\] &lt; 1"
    )
