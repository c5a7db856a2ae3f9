"""The size of the house: how many lines, how long a file or a function, how many numbers that steer behaviour.

Whoever needs more room raises a number here, and says in the change what the room is for.  The aims are 22,000 lines of
source and of tests, 3,500 of the core, and 60 numbers: what makes the house smaller lowers a number here.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = sorted((ROOT / "src" / "semistruct").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
CORE = sorted((ROOT / "core").glob("*pp"))

LINES_OF_SOURCE, LINES_OF_TESTS, LINES_OF_CORE = 30_550, 28_200, 4_200
LINES_OF_FILE, LINES_OF_FUNCTION, PARAMETERS = 400, 60, 8
NUMBERS = 296
COMMANDS = "app/cli/"  # their parameters are the options
GENERATORS = "data/datasets/"  # the numbers there are data: how often what occurs in made-up texts


def lines(files):
    return sum(len(path.read_text().splitlines()) for path in files)


def name(path):
    return path.relative_to(ROOT).as_posix()


def functions():
    for path in SOURCE:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


@pytest.mark.parametrize(
    ("files", "most"),
    [(SOURCE, LINES_OF_SOURCE), (TESTS, LINES_OF_TESTS), (CORE, LINES_OF_CORE)],
    ids=["src", "tests", "core"],
)
def test_the_house_does_not_grow(files, most):
    assert lines(files) <= most


def test_no_file_is_long():
    assert {name(path): lines([path]) for path in (*SOURCE, *TESTS, *CORE) if lines([path]) > LINES_OF_FILE} == {}


def test_no_function_is_long():
    found = {
        f"{name(path)}:{node.name}": node.end_lineno - node.lineno + 1
        for path, node in functions()
        if node.end_lineno - node.lineno + 1 > LINES_OF_FUNCTION and COMMANDS not in name(path)
    }
    assert found == {}


def test_no_function_has_many_parameters():
    found = {}
    for path, node in functions():
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = len(given) - (bool(given) and given[0].arg in ("self", "cls"))
        if count > PARAMETERS + (path.stem == "sdm") and node.name != "__init__" and COMMANDS not in name(path):
            found[f"{name(path)}:{node.name}"] = count
    assert found == {}


def steering_numbers(path):
    """Names in capitals, at the top of a module or of a class, whose values hold a number."""
    tree = ast.parse(path.read_text())
    for body in (tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))):
        for node in body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [n.id for target in targets if target for n in ast.walk(target) if isinstance(n, ast.Name)]
            numbers = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
            if numbers and any(n.isupper() for n in names):
                yield from names


def test_few_numbers_steer_behaviour():
    found = [
        f"{name(path)}: {each}" for path in SOURCE if GENERATORS not in name(path) for each in steering_numbers(path)
    ]
    assert len(found) <= NUMBERS, found
