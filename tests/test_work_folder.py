# ruff: noqa: F401, F811 (fixtures are imported)
"""The folder of a workbench: nothing that was decided is lost, everything can be undone, nothing else is touched."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct import read
from semistruct.app.work.folder import Folder, Settings
from semistruct.app.work.labels import Decision
from semistruct.app.work.limits import LONGEST_SEQUENCE
from semistruct.app.work.messages import Decided, FieldUse
from semistruct.app.work.pool import Pool, read_upload
from semistruct.base.errors import DataError, ParameterError, SemistructError
from work_cases import LABELS, TEXTS, home, made, quiet


def reopened(bench):
    bench.folder.close()
    return made(bench.folder.path)


def decide(bench, number, labels=LABELS, origin="typed", **more):
    return bench.decide(Decision(number, tuple(labels), origin, **more))


def state(bench):
    """Everything that can be undone."""
    kept = {n: (one.labels, one.unknown, one.offsets, one.note) for n, one in bench.decisions.last.items()}
    return kept, bench.rules_text, bench.settings.fields


def test_a_decision_is_in_the_file_when_it_is_answered(home):
    decide(home, 2)
    line = json.loads((home.folder.path / "labels.jsonl").read_text())
    assert (line["id"], line["text"], line["labels"]) == (2, TEXTS[2], LABELS)
    assert line["meta"]["origin"] == "typed"
    assert "time" in line["meta"]


def test_what_is_sent_twice_is_one_decision(home):
    for seen in (0, 0, 1, 7):  # as after an answer that got lost, and after a restart
        assert home.decide(Decision(2, tuple(LABELS), "typed"), seen=seen) == Decided(version=1, overwrote=False)
    assert len((home.folder.path / "labels.jsonl").read_text().splitlines()) == 1
    assert len(home.steps) == 1
    assert home.decide(Decision(2, ("name",) * 3, "typed"), seen=0) == Decided(version=2, overwrote=True)


def test_a_folder_has_an_id_for_life(home, tmp_path):
    path, own = home.folder.path / "settings.json", home.settings.id
    assert (len(own), json.loads(path.read_text())["id"]) == (16, own)
    home.set_fields(["name", "year", "place"])
    after = reopened(home)
    assert after.settings.id == own
    data = json.loads(path.read_text())
    after.folder.close()
    path.write_text(json.dumps({key: value for key, value in data.items() if key != "id"}))
    after = made(home.folder.path)
    assert after.settings.names == ["name", "year", "place"]
    assert own != after.settings.id == json.loads(path.read_text())["id"]
    other = made(tmp_path / "other")
    assert other.settings.id != after.settings.id
    after.close()
    other.close()


def test_the_token_of_a_folder_outlives_the_server(tmp_path):
    token_of = lambda path: Folder(path).token()  # noqa: E731
    path, token = tmp_path / ".token", token_of(tmp_path)
    assert len(token) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert token_of(tmp_path) == token
    for damaged in (b"", token[:-1].encode(), b"\xff" * 32, token.encode() * 2):
        path.write_bytes(damaged)
        new = token_of(tmp_path)
        assert new not in (token, damaged.decode("latin-1"))
        assert (token_of(tmp_path), path.stat().st_mode & 0o777) == (new, 0o600)
    path.chmod(0o644)  # others may have read it
    assert token_of(tmp_path) != new
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    path.mkdir()  # where it cannot be kept there is one for this start
    assert len(token_of(tmp_path)) == 32


def test_the_command_line_reads_the_files(home):
    decide(home, 0)
    decide(home, 1, [None, "name", "year"], unknown=(0,))
    corpus = read(home.folder.path / "labels.jsonl")
    assert corpus.labels == [LABELS, [None, "name", "year"]]
    assert [" ".join(row) for row in read(home.folder.path / "pool.jsonl").tokens] == TEXTS


def test_what_was_decided_is_there_after_a_sudden_end(home):
    decide(home, 0)
    decide(home, 3, ["name", None, "year"], unknown=(1,), note="odd", actions=4)
    before = state(home)
    after = reopened(home)  # without close(): as after kill -9
    assert state(after) == before
    after.close()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{]", "labels.jsonl:2: not JSON"),
        ('{"id": 1}', "labels.jsonl:2: not a decision"),
        ('{"id": 99, "text": "", "labels": null, "meta": {"origin": "typed", "time": ""}}', "no sequence 99"),
        (
            '{"id": 1, "text": "other", "labels": null, "meta": {"origin": "typed", "time": ""}}',
            "the text is not that of",
        ),
        (
            '{"id": 1, "text": "Bo Fox 1987", "labels": ["a"], "meta": {"origin": "typed", "time": ""}}',
            "3 tokens but 1",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(home, line, problem):
    decide(home, 0)
    with open(home.folder.path / "labels.jsonl", "a") as file:
        file.write(line + "\n")
    home.folder.close()
    with pytest.raises(DataError, match=r"labels\.jsonl:2") as err:
        made(home.folder.path)
    assert problem in str(err.value)


def test_the_last_decision_counts_and_the_file_is_tidied(home):
    decide(home, 0, ["year"] * 3)
    decide(home, 0)
    path = home.folder.path / "labels.jsonl"
    assert len(path.read_text().splitlines()) == 2
    after = reopened(home)
    assert len(path.read_text().splitlines()) == 1
    assert after.decisions.last[0].labels == tuple(LABELS)
    after.close()


def test_of_fields_and_tokens_both_are_taken_or_none(home):
    before = home.settings
    for names in (["O"], ["x" * 61], [f"x{k}" for k in range(26)]):
        with pytest.raises(ParameterError):
            home.set_fields(names, "whitespace")
        assert (home.settings, home.pool.tokens) == (before, "words")
    home.set_fields(["name"], "whitespace")
    assert (home.settings.names, home.settings.tokens, home.pool.tokens) == (["name"], "whitespace", "whitespace")


def test_a_second_server_on_the_folder_is_refused(home):
    home.folder.write_address("http://127.0.0.1:1234/")
    with pytest.raises(DataError, match=r"another workbench has the folder open, at http://127\.0\.0\.1:1234/"):
        Folder.open(home.folder.path)


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(DataError, match=r"'thesis\.tex' and is no folder of a workbench"):
        Folder.open(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_pool_that_somebody_put_there_is_read(tmp_path):
    (tmp_path / "pool.txt").write_text("Ann Lee, 1984\nBo Fox\n")
    bench = quiet(made(tmp_path))
    assert [bench.pool.text(i) for i in range(len(bench.pool))] == ["Ann Lee, 1984", "Bo Fox"]
    bench.close()


def test_two_windows_are_not_given_the_same_sequence(home):
    shown = {home.next(window, set()).number for window in "abc"}
    assert len(shown) == 3
    assert home.next("a", shown).number not in shown


def test_nothing_is_left_when_all_is_labelled(home):
    for number in range(len(home.pool)):
        assert home.next("a", set()) is not None
        decide(home, number)
    assert home.next("a", set()) is None


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("label"), st.integers(0, 5), st.sampled_from([LABELS, ["year", "name", None], ["O"] * 3])),
        st.tuples(st.just("skip"), st.integers(0, 5)),
        st.tuples(st.just("rules"), st.sampled_from(["rules: [{at_most_once: all}]", "rules: []", "rules: ["])),
        st.tuples(st.just("rename"), st.sampled_from(["name", "year"]), st.sampled_from(["year", "date", None])),
        st.tuples(st.just("reopen")),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(ACTIONS)
def test_everything_can_be_undone_step_by_step_even_after_a_restart(tmp_path_factory, actions):
    bench = made(tmp_path_factory.mktemp("undo") / "home")
    states = [state(bench)]
    for kind, *values in actions:
        steps = len(bench.steps)
        try:
            if kind == "label":
                decide(bench, *values)
            elif kind == "skip":
                bench.decide(Decision(values[0], None, "skipped"))
            elif kind == "rules":
                bench.set_rules(*values)
            elif kind == "rename":
                bench.rename_field(*values)
            else:
                bench = reopened(bench)
        except SemistructError:
            assert len(bench.steps) == steps  # a field that is gone: nothing was done
        if len(bench.steps) > steps:
            states.append(state(bench))
    assert state(bench) == states[-1]
    bench = reopened(bench)
    for before in reversed(states[:-1]):
        bench.undo()
        assert state(bench) == before
    with pytest.raises(ParameterError, match="nothing to undo"):
        bench.undo()
    bench.close()


def test_renaming_a_field_tells_the_counts_and_changes_rules_too(home):
    decide(home, 0)
    decide(home, 1)
    home.set_rules("rules:\n  - words: [name, 1984]\n    are: year\n  #~ - present: name\n")
    assert home.rename_field("year", "date") == FieldUse(sequences=2, tokens=2, rules=1)
    assert home.rename_field("name", "who") == FieldUse(sequences=2, tokens=4, rules=1)
    assert home.rules_text == "rules:\n  - words: [name, 1984]\n    are: date\n  #~ - present: who\n"
    assert home.decisions.last[0].labels == ("who", "who", "date")
    assert [(one.name, one.colour) for one in home.settings.fields] == [("who", 0), ("date", 1)]


def test_a_field_can_be_merged_or_removed_but_not_forgotten(home):
    decide(home, 0)
    with pytest.raises(ParameterError, match="'name' is in use"):
        home.set_fields(["year"])
    home.rename_field("name", None)
    assert home.decisions.last[0].labels == (None, None, "year")
    home.undo()
    home.rename_field("name", "year")
    assert home.settings.names == ["year"]
    assert home.decisions.last[0].labels == ("year",) * 3


def test_fields_get_keys_and_colours_of_their_own():
    fields = Settings().with_names([f"author{k}" for k in range(25)]).fields
    assert len({one.key for one in fields}) == len({one.colour for one in fields}) == 25
    assert fields[0].key == "a"
    for names, problem in (([f"x{k}" for k in range(26)], "more than the 25"), (["O"], "in no field")):
        with pytest.raises(ParameterError, match=problem):
            Settings().with_names(names)


# ---- text


@given(st.text(alphabet="aé字١.,- \u05d0𝒳", min_size=1), st.data())
def test_tokens_split_by_a_person_are_checked_against_the_text(text, data):
    pool = Pool([text])
    cut = pool.cut(0)
    if not cut.tokens:
        return
    edges = [data.draw(st.sets(st.integers(a, b))) | {a, b} for a, b in cut.offsets]
    parts = [pair for some in edges for pair in zip(sorted(some), sorted(some)[1:], strict=False)]
    found = cut.along(parts)
    assert "".join(found.words) == "".join(text.split())
    assert all(text[a:b] == word for (a, b), word in zip(found.offsets, found.words, strict=True))
    for wrong in (parts[1:], [*parts, (0, 1)], [(a, b + 1) for a, b in parts]):
        if wrong != parts:
            with pytest.raises(DataError):
                cut.along(wrong)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_pools_in_other_encodings_are_read(encoding):
    found = read_upload("Zoë Müller 1984\nBo Fox 1987\n".encode(encoding), "pool.txt", "words", "text")
    assert found.rows == ["Zoë Müller 1984", "Bo Fox 1987"]
    assert bool(found.notices) == (encoding in ("cp1252", "utf-16-le"))


def test_empty_lines_and_endless_ones_are_left_out_and_told():
    text = "Ann\n\n\n" + "x" * (LONGEST_SEQUENCE + 1) + "\n<b>Bo</b>\n"
    found = read_upload(text.encode(), "pool.txt", "words", "text")
    assert found.rows == ["Ann", "<b>Bo</b>"]
    assert found.notices == ["1 sequence longer than 20,000 characters left out", "2 empty lines left out"]
    with pytest.raises(DataError, match="no text"):
        read_upload(b" \n ", "pool.txt", "words", "text")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PK\3\4 and more", "a zip file"),
        (b"%PDF-1.7 text", "a PDF"),
        (b"\x89PNG\r\n", "a picture"),
        (bytes(range(256)) * 4, "binary data"),
        (b"\x7fELF\2\1\1", "a program"),
    ],
)
def test_what_is_no_text_is_refused(data, kind):
    with pytest.raises(DataError, match=f"x.dat: this is {kind}"):
        read_upload(data, "x.dat", "words")


def test_labels_of_a_file_become_decisions(tmp_path):
    bench = made(tmp_path / "home")
    data = b"Bo\tname\nFox\tname\n1987\tyear\n\nGus\tname\nin\tO\nRome\tplace\n\n"
    done = bench.add_pool(read_upload(data, "few.tsv", "words"), with_labels=True)
    assert (done.added, done.labelled) == (1, 2)
    assert bench.settings.names == ["name", "year", "place"]
    assert {n: one.labels for n, one in bench.decisions.last.items()} == {
        1: tuple(LABELS), 6: ("name", "O", "place")
    }  # fmt: skip
    bench.undo()
    assert (bench.decisions.last, bench.settings.names, len(bench.pool)) == ({}, ["name", "year"], 7)
    bench.close()


def test_labels_of_a_file_that_are_not_taken_are_counted(home):
    decide(home, 0, ["year"] * 3)
    data = b"Ann\tname\nLee\tname\n1984\tyear\n\nBo Fox\tname\n1987\tyear\n\nCy\tname\nAsh\tname\n1990\tyear\n\n"
    done = home.add_pool(read_upload(data, "few.tsv", "words"), with_labels=True)
    assert (done.added, done.labelled) == (0, 1)
    assert done.told == [
        "labels of 1 sequence in the file left out: decided about before",
        "labels of 1 sequence in the file left out: other tokens than the same text has in the pool",
    ]
    assert {n: one.labels for n, one in home.decisions.last.items()} == {0: ("year",) * 3, 2: tuple(LABELS)}
