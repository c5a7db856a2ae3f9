"""Imports between floors of the package point up the list in CONTRIBUTING.md; no module imports itself by a detour."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "semistruct"
ROOF = ("__init__", "__main__", "_version")  # the modules beside the floors


@cache
def floors():
    """The names of the floors, each of which may import those before it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [line.split()[0] for line in re.search(r"```floors\n(.*?)```", text, re.DOTALL)[1].splitlines()]


@cache
def modules():
    """{name of a module: its file}."""
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return out


def imported(tree):
    """The modules of semistruct that a syntax tree imports anywhere, also inside functions and for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the package"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "semistruct" and not name.startswith("semistruct._core"):
                while name not in modules():
                    name = name.rpartition(".")[0]
                yield name


@cache
def edges():
    """{module: modules of semistruct that it imports}."""
    return {name: set(imported(ast.parse(path.read_text("utf-8")))) - {name} for name, path in modules().items()}


def floor_of(module):
    return module.split(".")[1] if "." in module else "__init__"


def test_every_folder_is_a_floor():
    assert {floor_of(module) for module in modules()} - set(ROOF) == set(floors())


@pytest.mark.parametrize("floor", floors())
def test_a_floor_imports_only_floors_above_it(floor):
    above = {*floors()[: floors().index(floor) + 1], "_version"}
    mine = [module for module in modules() if floor_of(module) == floor]
    assert {(m, other) for m in mine for other in edges()[m] if floor_of(other) not in above} == set()


@pytest.mark.parametrize("floor", floors())
def test_a_floor_says_what_it_holds(floor):
    words = ast.get_docstring(ast.parse((PACKAGE / floor / "__init__.py").read_text("utf-8")))
    assert words
    assert len(words.splitlines()) <= 10


def test_hidden_imports_are_seen():
    code = "def f():\n    import semistruct.model.store\nif TYPE_CHECKING:\n    from semistruct import Rules\n"
    assert list(imported(ast.parse(code))) == ["semistruct.model.store", "semistruct"]


def test_no_module_imports_itself_by_a_detour():
    done, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path, module])
        if module in done:
            return
        path.append(module)
        for other in sorted(edges()[module]):
            visit(other)
        path.pop()
        done.add(module)

    for module in sorted(modules()):
        visit(module)
