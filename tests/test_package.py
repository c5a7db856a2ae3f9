"""The package as a whole: public names, quick imports, examples in docstrings."""

import doctest
import pkgutil
import re
import runpy
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

import semistruct
from semistruct.app.cli import app
from semistruct.app.experiments import lineup
from semistruct.data.datasets import CORPORA, GENERATORS
from semistruct.features.registry import SEQUENCES, WORDS
from semistruct.features.sequences import STEPS
from semistruct.features.templates import SETS
from semistruct.rules.files import shipped

HEAVY = {"sklearn", "scipy", "matplotlib", "jinja2", "joblib", "pandas", "ray", "spacy", "fastapi", "requests"}
LIGHT = {"numpy", "pydantic"}  # for labelling, but not for a mere import
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(semistruct.__path__, "semistruct.")
    if not module.name.endswith("__main__")
    and (find_spec("fastapi") is not None or not module.name.startswith("semistruct.app.work"))
)


def loaded_by(code, heavy=frozenset(HEAVY), **options):
    """The heavy packages that `code` imports in a fresh interpreter."""
    show = "import sys; print('\\n'.join(m for m in sys.modules if '.' not in m), file=sys.stderr)"
    argv = [sys.executable, "-c", f"{code}\n{show}"]
    found = subprocess.run(argv, capture_output=True, text=True, check=True, **options)
    modules = set(found.stderr.split())
    assert "semistruct" in modules
    return heavy & modules


HELP = "from semistruct.app.cli import main\ntry:\n    main({argv})\nexcept SystemExit as end:\n    assert not end.code"


@pytest.mark.parametrize(
    "code",
    ["import semistruct", "import semistruct; dir(semistruct)", HELP.format(argv=["--help"]),
     HELP.format(argv=["train", "--help"]), HELP.format(argv=["--version"])],
    ids=["import", "dir", "help", "help of train", "version"],
)  # fmt: skip
def test_heavy_packages_are_imported_only_when_needed(code):
    assert loaded_by(code) == set()


@pytest.mark.parametrize("code", ["import semistruct", HELP.format(argv=["--version"])], ids=["import", "version"])
def test_not_even_numpy_is_imported_without_need(code):
    assert loaded_by(code, HEAVY | LIGHT - {"pydantic"}) == set()


@pytest.fixture(scope="module")
def labelling(tmp_path_factory):
    """A folder with a model that has rules, and lines to label."""
    folder = tmp_path_factory.mktemp("labelling")
    data = semistruct.make_citations(25, seed=1)
    model = semistruct.SSVM(C=1.0, rules=semistruct.Rules.from_file("citations"))
    model.fit(data.tokens[:20], data.labels[:20]).save(folder / "m")
    (folder / "in.txt").write_text("".join(f"{' '.join(tokens)}\n" for tokens in data.tokens[20:]), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "code",
    ["import semistruct; semistruct.SSVM, semistruct.AnnealedSSVM, semistruct.TransductiveSVM",
     "import semistruct; semistruct.load('m').confidence([['A', '.', '1999']])",
     HELP.format(argv=["predict", "m", "in.txt", "-o", "out.txt"]),
     HELP.format(argv=["predict", "m", "in.txt", "-o", "out.txt", "--no-rules"]),
     HELP.format(argv=["rules", "citations"])],
    ids=["methods", "load", "predict", "predict without rules", "rules"],
)  # fmt: skip
def test_labelling_imports_nothing_heavy(code, labelling):
    assert loaded_by(code, cwd=labelling) == set()


def test_learning_does_not_import_scikit_learn():
    code = "from semistruct import SSVM; SSVM().fit([['a', 'b']] * 3, [['x', 'y']] * 3).predict([['a']])"
    assert "sklearn" not in loaded_by(code)


def test_the_check_for_heavy_packages_sees_them():
    assert "sklearn" in loaded_by("import semistruct; semistruct.SSVM().__sklearn_tags__()")


def test_every_public_name_resolves():
    for name in semistruct.__all__:
        assert getattr(semistruct, name) is not None
    assert sorted(semistruct.__all__) == sorted(dir(semistruct))
    assert set(semistruct.__all__) == set(semistruct._HOME) | {"__version__"}


def test_public_names_are_those_of_their_home():
    for name, home in semistruct._HOME.items():
        assert getattr(semistruct, name) is getattr(import_module(f"semistruct.{home}"), name)


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="nonesuch"):
        _ = semistruct.nonesuch
    assert not hasattr(semistruct, "Perceptron")


def test_star_import():
    names = {}
    exec("from semistruct import *", names)
    assert set(semistruct.__all__) <= names.keys()


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name):
    module = import_module(name)
    assert module.__doc__ or name == "semistruct._version" or not pkgutil.get_data(name, "__init__.py")


def test_doctests():
    results = {name: doctest.testmod(import_module(name)) for name in MODULES}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert {name for name, result in results.items() if result.attempted} >= {
        "semistruct.methods.ssvm",
        "semistruct.data.tokens",
    }


def test_python_m_semistruct():
    found = subprocess.run(
        [sys.executable, "-m", "semistruct", "--version"], capture_output=True, text=True, check=True
    )
    assert found.stdout == f"semistruct {semistruct.__version__}\n"


# ---- help is quick, so that its texts name by hand what registries hold


def words_of(text):
    return set(re.findall(r"[a-z][a-z-]*", text))


def test_the_help_of_train_names_all_templates():
    listed = " ".join(app.TRAIN_EPILOG.partition("Templates: ")[2].split())
    of_words, rest = listed.split(", each with an optional window such as lower[-1..1]; ")
    of_sequences, rest = rest.split(" look at the whole sequence; ")
    assert {name.partition("(")[0] for name in of_words.split(", ")} == set(WORDS)
    assert {name.partition("(")[0] for name in of_sequences.split(", ")} == set(SEQUENCES)
    with_file = {name for name, one in (WORDS | SEQUENCES).items() if one.argument == "a file"}
    assert {name for name in with_file if f"{name}(FILE)" in listed} == with_file
    assert set(re.findall(r"steps\((\w+)\)", rest)) == set(STEPS) - {"plain"}
    assert re.search(r"Feature sets: (.*)\.", app.TRAIN_EPILOG)[1].split(", ") == list(SETS)


def test_the_help_of_rules_names_all_that_are_shipped():
    listed = app.RULES_EPILOG.partition("semistruct: ")[2].partition(".")[0]
    assert listed.replace("\n", " ").split(", ") == shipped()


def test_help_names_all_corpora():
    commands = typer.main.get_command(app.app).commands
    data = commands["data"].commands

    def named(command):
        return words_of(next(p.help for p in command.params if p.param_type_name == "argument"))

    assert set(lineup.CORPORA) <= named(commands["reproduce"])
    assert {name for name, corpus in CORPORA.items() if corpus.convert} == named(data["get"]) & set(CORPORA)
    assert set(GENERATORS) == named(data["make"]) & {*GENERATORS, *CORPORA}


@pytest.mark.parametrize("file", sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py")), ids=lambda f: f.stem)
def test_benchmarks_find_what_they_import(file, monkeypatch):
    pytest.importorskip("pycrfsuite")
    monkeypatch.syspath_prepend(str(file.parent))
    runpy.run_path(str(file), run_name="imported")
