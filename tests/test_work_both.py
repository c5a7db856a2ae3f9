# ruff: noqa: F401, F811 (fixtures are imported)
"""Rules that are changed in two places, be it windows or the file: nothing that was typed is lost in silence."""

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from work_browser import bench, browser, opened
from work_cases import home, wait_for

MINE, THEIRS = "rules:\n  - present: name\n", "rules:\n  - present: year\n"
BROKEN = "rules:\n  - presnt: name"


def rules_file(bench):
    return bench.folder.path / "rules.yaml"


def editor(page):
    page.click("nav >> text=Rules")
    area = page.locator("textarea.code:enabled")
    area.wait_for()
    return area


def test_a_changed_file_is_taken_and_can_be_undone(home):
    home.set_rules(MINE)
    rules_file(home).write_text(THEIRS)
    home.poll_rules()
    assert home.rules_text == THEIRS
    assert "changed in the folder" in home.changes.since(0)[-1].words
    assert home.undo().words == "rules.yaml changed in the folder"
    assert rules_file(home).read_text() == home.rules_text == MINE


@pytest.mark.parametrize("change", ["set_rules", "rename_field", "undo"])
def test_what_stands_in_the_file_is_never_lost(home, change):
    home.set_rules(MINE)
    rules_file(home).write_text(THEIRS)
    before = len(home.steps)
    {
        "set_rules": lambda: home.set_rules(MINE + "# more\n"),
        "rename_field": lambda: home.rename_field("year", "date"),
        "undo": home.undo,
    }[change]()
    if change == "rename_field":
        assert rules_file(home).read_text() == THEIRS.replace("year", "date")
    if change == "undo":
        assert rules_file(home).read_text() == MINE
    else:
        assert len(home.steps) == before + 2
        home.undo()
        assert rules_file(home).read_text() == THEIRS


def test_own_changes_are_not_taken_for_those_of_others(home):
    for text in ("\ufeffrules: []\r\n", "", "rules:\r  - present: name\r", MINE):
        home.set_rules(text)
        n = len(home.steps)
        home.poll_rules()
        assert len(home.steps) == n, text


def test_a_file_that_is_no_text_is_told_once_and_not_overwritten(home):
    home.set_rules(MINE)
    rules_file(home).write_bytes(b"\xff\xfe\x00")
    for _ in range(3):
        home.poll_rules()
    assert sum("not UTF-8" in (change.words or "") for change in home.changes.since(0)) == 1
    with pytest.raises(ValueError, match="not UTF-8"):
        home.set_rules(THEIRS)
    assert rules_file(home).read_bytes() == b"\xff\xfe\x00"
    rules_file(home).unlink()  # without a file those of the page count
    home.poll_rules()
    assert home.rules_text == MINE


def test_a_file_that_changes_is_shown(opened, bench):
    area = editor(opened.page)
    rules_file(bench).write_text(THEIRS)
    opened.page.wait_for_selector("text=rules.yaml was changed in the folder")
    opened.page.wait_for_selector(".says:has-text('year')")
    assert area.input_value() == THEIRS


@pytest.mark.parametrize("choice", ["Keep mine", "Take the others"])
def test_the_page_asks_which_text_counts(opened, bench, choice):
    page = opened.page
    area = editor(page)
    area.fill(BROKEN)  # which is not kept yet
    page.wait_for_selector(".problem:has-text('there is no rule')")
    rules_file(bench).write_text(THEIRS)
    page.wait_for_selector(".contest")
    assert page.text_content(".contest pre") == THEIRS
    assert area.input_value() == BROKEN
    area.fill(MINE)
    page.wait_for_timeout(1500)
    assert rules_file(bench).read_text() == THEIRS  # as long as the person has not chosen
    page.click(f"text={choice}")
    wait_for(lambda: area.input_value() == bench.rules_text)
    assert rules_file(bench).read_text() == area.input_value() == (MINE if choice == "Keep mine" else THEIRS)
    page.wait_for_selector(".contest", state="detached")


def test_of_two_windows_the_loser_is_told_and_keeps_the_text(opened, bench):
    page, second = opened.page, opened.context.new_page()
    second.goto(opened.client.site)
    second.wait_for_selector(".chip")
    other = editor(second)
    page.bring_to_front()
    area = editor(page)
    second.route("**/api/changes**", lambda route: route.abort())  # it does not hear of it
    area.fill(MINE)
    wait_for(lambda: bench.rules_text == MINE)
    other.fill(THEIRS)
    second.wait_for_selector(".contest")
    assert (other.input_value(), second.text_content(".contest pre"), bench.rules_text) == (THEIRS, MINE, MINE)
    second.unroute("**/api/changes**")
    second.click("text=Keep mine")
    wait_for(lambda: bench.rules_text == THEIRS)
    wait_for(lambda: area.input_value() == THEIRS)  # the first window had nothing unkept


def test_a_draft_outlives_an_absence_and_a_closed_tab(opened, bench):
    page = opened.page
    area = editor(page)
    page.route("**/api/**", lambda route: route.abort())
    area.fill(MINE)
    page.wait_for_timeout(1500)
    page.unroute("**/api/**")
    wait_for(lambda: bench.rules_text == MINE)
    page.route("**/api/**", lambda route: route.abort())
    area.fill(THEIRS)
    page.wait_for_timeout(500)
    page.close()
    opened.page = opened.context.new_page()
    opened.page.clock.install()  # the tab of the draft must be gone for a while
    opened.page.clock.fast_forward(60_000)
    opened.page.goto(opened.client.site)
    wait_for(lambda: bench.rules_text == THEIRS or opened.page.wait_for_timeout(100))
    opened.wrong[:] = [text for text in opened.wrong if "ERR_FAILED" not in text]


def test_a_draft_made_from_other_rules_is_asked_about(opened, bench):
    page = opened.page
    area = editor(page)
    page.route("**/api/**", lambda route: route.abort())
    area.fill(MINE)
    page.wait_for_timeout(500)
    rules_file(bench).write_text(THEIRS)
    page.click("nav >> text=Label")
    page.unroute("**/api/**")
    page.wait_for_selector("text=The rules that you typed are not kept")
    area = editor(page)
    page.wait_for_selector(".contest")
    assert (area.input_value(), page.text_content(".contest pre"), bench.rules_text) == (MINE, THEIRS, THEIRS)
    opened.wrong[:] = [text for text in opened.wrong if "Failed to load" not in text]


def test_what_is_typed_while_the_text_is_kept_stays(opened, bench):
    page = opened.page
    area = editor(page)
    area.fill(MINE)
    page.route("**/api/rules", lambda route: (area.fill(MINE + "# more\n"), route.continue_()), times=1)
    wait_for(lambda: bench.rules_text == MINE + "# more\n" or page.wait_for_timeout(50))
    assert area.input_value() == MINE + "# more\n"
