"""`predict -o FILE.csv`, .xlsx, .parquet: one row for each line of the input, one column for each field."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semistruct import SSVM
from semistruct.app.cli import answers
from semistruct.data.formats.marked import Reader
from semistruct.data.rows import read_rows
from semistruct.data.table_files import as_text

TRADES, STREETS = ("carpenter", "widow", "clerk", "grocer"), ("Main", "Elm", "Oak", "Pine")
NAMES = ("Smith John", "Jones Mary", "Brown William", "Devoe Sarah")
MESSY = (
    "\ufeffid;entry;year\r\n"
    '7;"Smith John, carpenter, 12 Main st";1850\r\n'
    "\r\n"
    '8;"Jones ""Red"" Mary, widow, 3 Elm st";1851;extra\r\n'
    "9;;=1+1\r\n"
    '10;"=cmd Brown\tWilliam, clerk, 5 Oak st";1853\r\n'
    '11;"Devoe Sarah,\nboarding, 7 Pine st";1854\r\n'
    "12\r\n"
)


def entries():
    for i, name in enumerate(NAMES * 4):
        first = [(word, "name") for word in name.split()]
        trade, street = TRADES[(i + i // 4) % 4], STREETS[i % 4]
        rest = [(str(i + 2), "address"), (street, "address"), ("st", "address")]
        yield [*first, (",", "stop"), (trade, "occupation"), (",", "stop"), *rest]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answers, "CHUNK", 2)
    lines = ("".join(f"{word}\t{label}\n" for word, label in entry) for entry in entries())
    (tmp_path / "train.tsv").write_text("\n".join(lines))
    (tmp_path / "in.csv").write_bytes(MESSY.encode())
    SSVM(C=1.0).fit(*zip(*[tuple(zip(*entry, strict=True)) for entry in entries()], strict=True)).save("m")
    return tmp_path


def table_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_from_text_to_a_table(place, good):
    good("train", "train.tsv", "-q", "-o", "own.model")
    good("predict", "own.model", "in.csv", "-q", "--text-column", "entry", "-o", "out.csv", "--drop", "stop")
    rows = table_of("out.csv")
    assert list(rows[0]) == ["line", "id", "entry", "year", "address", "name", "occupation", "confidence", "note"]
    assert [(row["line"], row["id"]) for row in rows] == [
        ("2", "7"), ("3", ""), ("4", "8"), ("5", "9"), ("6", "10"), ("7", "11"), ("9", "12"),
    ]  # fmt: skip
    assert (rows[0]["name"], rows[0]["occupation"], rows[0]["address"]) == ("Smith John", "carpenter", "12 Main st")
    assert 0 < float(rows[0]["confidence"]) <= 1
    assert rows[1]["confidence"] == rows[3]["confidence"] == rows[1]["note"] == ""
    assert rows[3]["year"] == "=1+1"  # the input's own columns stay as they were
    assert "'extra'" in rows[2]["note"]
    assert "columns" in rows[6]["note"]
    assert rows[5]["entry"] == "Devoe Sarah,\nboarding, 7 Pine st"


def test_the_column_of_the_texts_is_guessed_and_said(place, run):
    code, _, said = run("predict", "m", "in.csv", "-o", "out.csv")
    assert code == 0
    assert "in.csv: the texts are in the column 'entry'" in said
    assert len(table_of("out.csv")) == 7


def test_all_kinds_of_tables_hold_the_same(place, good):
    openpyxl = pytest.importorskip("openpyxl", reason="the extra `tables` is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra `tables` is not installed")
    for ending in ("csv", "xlsx", "parquet"):
        good("predict", "m", "in.csv", "-q", "--confidence", "-o", f"out.{ending}")
    wanted = [list(row.values()) for row in table_of("out.csv")]
    sheet = list(openpyxl.load_workbook("out.xlsx").active.iter_rows())
    kinds = {cell.data_type for row in sheet[1:] for cell in row}
    assert kinds <= {"s", "n", "inlineStr"}  # no formula
    plain = lambda cell: "" if cell is None else str(cell)  # noqa: E731
    # in CSV alone, a field that a spreadsheet would run has an apostrophe before it
    wanted = [[cell[1:] if cell.startswith("'=") else cell for cell in row] for row in wanted]
    assert [[plain(cell.value) for cell in row] for row in sheet[1:]] == wanted
    columns = parquet.read_table("out.parquet").to_pydict()
    assert [list(map(plain, row)) for row in zip(*columns.values(), strict=True)] == wanted


def test_lines_of_text_give_a_row_each(place, good):
    (place / "new.txt").write_text("Smith John, clerk, 4 Elm st\n\n   \nJones Mary, widow, 9 Oak st\n")
    good("predict", "m", "new.txt", "-q", "-o", "out.csv", "--separator", "|", "--no-confidence")
    rows = table_of("out.csv")
    assert [(row["line"], row["text"]) for row in rows] == [
        ("1", "Smith John, clerk, 4 Elm st"), ("2", ""), ("3", "   "), ("4", "Jones Mary, widow, 9 Oak st"),
    ]  # fmt: skip
    assert rows[0]["stop"] == ",|,"
    assert "confidence" not in rows[0]


def test_the_ending_of_the_output_allows_confidence(place, good):
    (place / "new.txt").write_text("Smith John, clerk, 4 Elm st\n")
    good("predict", "m", "new.txt", "-q", "--confidence", "-o", "out.jsonl")
    assert "sequence_confidence" in (place / "out.jsonl").read_text()


def test_a_field_named_like_a_column_gets_a_number(place, run):
    (place / "other.csv").write_text("name,text\nBo,'Smith John, clerk, 4 Elm st'\n".replace("'", '"'))
    assert "the field 'name' is in the column 'name 2'" in run("predict", "m", "other.csv", "-o", "out.csv")[2]
    assert [(row["name"], row["name 2"]) for row in table_of("out.csv")] == [("Bo", "Smith John")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("in.csv", "--text-column", "year"), "'year' has numbers, not texts"),
        (("in.csv", "--text-column", "Entrie"), "no column 'Entrie'"),
        (("two.csv",), "'a' and 'b' may both be the text"),
        (("none.csv",), "--text-column"),
        (("empty.csv",), "the file is empty"),
        (("sheet.xlsx",), "save the sheet as .csv"),
        (("in.csv", "--drop", "nam"), "no field 'nam'"),
        (("in.csv", "--accept", "0.9", "--rest", "rest.csv"), "--accept cannot go with a table"),
    ],
)
def test_what_makes_no_table_is_refused(place, run, options, said):
    (place / "two.csv").write_text("a,b\nSmith John in Elm,Jones Mary in Oak\n")
    (place / "none.csv").write_text("Smith John of the old house at the end of Elm street\nJones Mary\n")
    (place / "empty.csv").write_text("")
    (place / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    numbers = (place / "in.csv").read_text(encoding="utf-8-sig").replace("=1+1", "1852")
    (place / "in.csv").write_text(numbers)
    code, _, told = run("predict", "m", *options, "-o", "out.csv")
    assert code == 2
    assert said in told
    assert not (place / "out.csv").exists()


def test_an_unknown_ending_is_refused_with_the_list(place, run):
    code, _, said = run("predict", "m", "in.csv", "-o", "out.foo")
    assert code == 2
    assert ".xlsx, .parquet" in said


def test_a_pool_is_read_from_a_column(place, good):
    good("train", "train.tsv", "-u", "in.csv", "--text-column", "entry", "-q", "-o", "pooled.model")


@pytest.mark.parametrize(
    ("cell", "written"), [("=1+1", "'=1+1"), ("-5", "-5"), ("+x", "'+x"), ("@a", "'@a"), ("1e5", "1e5"), ("a=b", "a=b")]
)
def test_formulas_are_written_as_text(cell, written):
    assert as_text(cell) == written


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS), max_size=6), st.sampled_from(",;\t|"))
def test_rows_are_those_of_the_csv_module(tmp_path, rows, delimiter):
    """Written by the standard library, read as rows: the same cells, in order, none missing."""
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("id", "words"), *rows])
    (tmp_path / "x.csv").write_text(written.getvalue(), newline="", encoding="utf-8")
    found = read_rows(tmp_path / "x.csv", Reader("x.csv", outside="?"), text_column="words") if rows else None
    numeric = all(row[1].strip() == "" for row in rows)
    if found is not None and not numeric:
        assert [tuple(row.cells) for row in found.rows] == rows
