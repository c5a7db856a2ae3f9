"""Imports between the rooms of the package are those that CONTRIBUTING.md lists, and point in one direction."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "semistruct"
COMPILED = ("semistruct._core", "semistruct._core_avx2")  # what the room `core` is made of


@cache
def allowed():
    """{room: rooms it may import}, in the order of the table."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = re.search(r"```rooms\n(.*?)```", text, re.DOTALL)[1].splitlines()
    return {line.split()[0]: set(line.partition("|")[2].split()) for line in lines}


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
        yield from (name for name in names if name.partition(".")[0] == "semistruct" and name not in COMPILED)


def room_of(module):
    room = module.partition(".")[2].partition(".")[0]
    return room if room and ((PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()) else "__init__"


@cache
def used():
    """{room: {room it imports: a file that does}}."""
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        found = out.setdefault(room, {})
        for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if room_of(module) != room:
                found.setdefault(room_of(module), str(path.relative_to(PACKAGE)))
    return out


def test_every_room_has_a_line_and_every_line_a_room():
    assert set(allowed()) == set(used())


@pytest.mark.parametrize("room", sorted(used()))
def test_a_room_imports_only_what_it_may(room):
    assert {other: file for other, file in used()[room].items() if other not in allowed()[room]} == {}


def test_nothing_is_allowed_that_is_not_used():
    found = used()
    assert {room: others - set(found[room]) for room, others in allowed().items() if others - set(found[room])} == {}


def test_rooms_import_only_rooms_above_them():
    order = list(allowed())
    for room, others in allowed().items():
        assert all(order.index(other) < order.index(room) for other in others), room


def test_hidden_imports_are_seen():
    code = "def f():\n    import semistruct.store\nif TYPE_CHECKING:\n    from semistruct import params, Rules\n"
    assert [room_of(module) for module in imported(ast.parse(code))] == ["store", "params", "__init__"]


@cache
def module_edges():
    """{module: modules of semistruct it imports}."""
    modules = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    out = {}
    for name, path in modules.items():
        found = set()
        for target in imported(ast.parse(path.read_text(encoding="utf-8"))):
            while target not in modules:
                target = target.rpartition(".")[0]
            found.add(target)
        out[name] = found - {name}
    return out


def test_no_module_imports_itself_by_a_detour():
    edges, done, path = module_edges(), set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path, module])
        if module in done:
            return
        path.append(module)
        for other in sorted(edges[module]):
            visit(other)
        path.pop()
        done.add(module)

    for module in sorted(edges):
        visit(module)
