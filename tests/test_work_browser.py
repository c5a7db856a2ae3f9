# ruff: noqa: F401, F811 (fixtures are imported)
"""The page of the workbench in a real browser: the whole loop by keyboard and mouse, and what must never happen."""

import re

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct import read
from semistruct.app.work.labels import Decision
from semistruct.app.work.proposals import Proposal
from semistruct.app.work.tasks import Prediction
from work_browser import HOSTILE, Watched, bench, browser, opened, show, words_on
from work_cases import LABELS, Running, wait_for

# ---- the whole loop


PEOPLE = ["Ann Lee", "Bo Fox", "Cy Ash", "Di Elm", "Ed Oak", "Flo Yew", "Gus Fir", "Hal Bay", "Ida Ivy", "Jo Rue"]
POOL = [
    f"{who}, On the {what}, {1950 + 3 * k + j}."
    for k, who in enumerate(PEOPLE)
    for j, what in enumerate(("moon", "sea"))
]
KEYS = {"author": "a", "title": "t", "year": "y"}


def truth(words):
    """The labels of a made-up reference."""
    commas = [t for t, word in enumerate(words) if word == ","]
    return ["author" if t <= commas[0] else "title" if t <= commas[1] else "year" for t in range(len(words))]


def label_by_keys(watched):
    """With the keys of fields, from the cursor to the end of the block."""
    gold = truth(words_on(watched.page))
    watched.keys("Home")
    place = 0
    for t, label in enumerate(gold):
        if t == 0 or gold[t - 1] != label:
            end = t + gold[t:].count(label)
            watched.keys(*["ArrowRight"] * (t - place), "Space", *["ArrowRight"] * (end - 1 - t), KEYS[label])
            place = min(end, len(gold) - 1)
    assert [said.split(", ")[-2] for said in watched.labels()] == gold
    watched.keys("Enter")


def label_by_mouse(watched):
    """By tapping the first token of a run, the last one, and the field."""
    gold, page = truth(words_on(watched.page)), watched.page
    for label in dict.fromkeys(gold):
        first, last = gold.index(label), len(gold) - 1 - gold[::-1].index(label)
        page.click(f"#token-{first}")
        page.click(f"#token-{last}")
        page.click(f".field:has-text('{label}')")
    page.click("button:has-text('Accept')")


def next_one(watched, before):
    wait_for(lambda: not watched.page.text_content(".sequence-head h1").endswith(f" {before}"))
    watched.page.wait_for_selector(".chip")


@pytest.fixture
def start():
    """Starts servers, of which none is left behind."""
    started = []

    def run(folder):
        started.append(Running(folder))
        return started[-1]

    yield run
    for one in started:
        one.kill()


def test_the_whole_loop_by_keyboard_and_mouse(browser, start, tmp_path):
    folder = tmp_path / "home"
    running = start(folder)
    watched = Watched(browser, running.address, accept_downloads=True)
    page = watched.page
    page.fill("textarea", "\n".join(POOL))
    page.click("text=Use this text")
    page.fill("[aria-label^='Names of the fields']", "author\ntitle\nyear")
    page.click("text=Start labelling")
    page.wait_for_selector(".chip")
    for label in (label_by_keys, label_by_mouse, label_by_keys):
        before = watched.number()
        label(watched)
        next_one(watched, before)
    wait_for(lambda: running.client.good("GET", "/api/status")["labelled"] == 3)
    kept = running.client.good("GET", "/api/labels")["labels"]
    running.kill()
    page.wait_for_selector("text=The server is away")
    watched.close()

    running = start(folder)  # and goes on where it was
    assert running.client.good("GET", "/api/labels")["labels"] == kept
    watched = Watched(browser, running.address, accept_downloads=True)
    page = watched.page
    page.wait_for_selector(".chip")
    for label in (label_by_mouse, label_by_keys):
        before = watched.number()
        label(watched)
        next_one(watched, before)
    page.wait_for_selector("text=labels proposed by model", timeout=120_000)
    assert "guessed" in " ".join(watched.labels())
    page.click("nav >> text=Rules")
    page.wait_for_selector(".take", timeout=120_000)
    taken = page.text_content(".suggestion p >> nth=0")
    page.click(".take >> nth=0")
    page.wait_for_selector(f".says:has-text('{taken}')")
    assert taken in [row["text"] for row in running.client.good("GET", "/api/rules")["rules"]]
    learned = lambda: (running.client.good("GET", "/api/status")["model"] or {}).get("name", "")  # noqa: E731
    before = learned()
    wait_for(lambda: learned() > before)
    page.click("nav >> text=Look")
    page.wait_for_selector(".big", timeout=120_000)
    assert re.match(r"\d+\.\d%", page.text_content(".big >> nth=0"))
    page.click("nav >> text=Label")
    before = watched.number()
    watched.keys("Enter")  # accepted as it is proposed
    next_one(watched, before)
    wait_for(lambda: running.client.good("GET", "/api/status")["labelled"] == 6)
    origins = [one["meta"]["origin"] for one in running.client.good("GET", "/api/labels")["labels"]]
    assert origins.count("accepted") >= 1
    page.click("nav >> text=Use")
    page.select_option("[aria-label=Format]", "tsv")
    with page.expect_download() as download:
        page.click("text=Export the labels")
    corpus = read(download.value.path(), format="tsv")
    assert len(corpus) == 6
    assert sum(truth(tokens) == labels for tokens, labels in zip(corpus.tokens, corpus.labels, strict=True)) >= 5
    assert [text for text in watched.wrong if "Failed to load resource" not in text] == []
    watched.close()
    running.stop()
    assert len((folder / "labels.jsonl").read_text().splitlines()) == 6


# ---- labelling


def test_keys_move_set_and_undo(opened):
    show(opened, 0)
    opened.keys("n", "n", "y")
    assert opened.labels() == ["Ann, name, confirmed", "Lee, name, confirmed", "1984, year, confirmed"]
    opened.keys("ArrowLeft", "Shift+ArrowRight")  # the name takes the year
    assert opened.labels()[2] == "1984, name, confirmed"
    opened.keys("Shift+ArrowLeft")  # nothing to give it back to
    opened.keys("Control+z")
    assert opened.labels()[2] == "1984, year, confirmed"
    opened.keys("ArrowLeft", "Backspace", "0")
    assert opened.labels() == ["Ann, unknown", "Lee, nothing, confirmed", "1984, year, confirmed"]
    opened.keys("Control+z", "Control+z", "Control+z", "Control+z", "Control+z")
    assert opened.labels() == ["Ann, no label", "Lee, no label", "1984, no label"]
    opened.keys("Shift+n")
    assert opened.labels() == ["Ann, name, confirmed", "Lee, name, confirmed", "1984, name, confirmed"]
    assert "16 actions" in opened.page.text_content(".counts")


def test_a_sticky_field_paints_what_is_moved_over(opened):
    show(opened, 0)
    opened.keys("n", "=", "ArrowRight")
    assert opened.labels()[:2] == ["Ann, name, confirmed", "Lee, name, confirmed"]
    opened.keys("y")
    assert opened.labels()[2] == "1984, year, confirmed"
    opened.page.click("#token-0")
    assert opened.labels()[0] == "Ann, year, confirmed"
    opened.keys("Escape")
    opened.page.click("#token-1")
    assert opened.labels()[1] == "Lee, name, confirmed"


def test_proposals_are_guessed_until_they_are_accepted(opened, bench):
    bench.proposals[0] = Proposal.of(Prediction(LABELS, [2.0, 0.1, 3.0], []), "0001", ("name", "year"))
    show(opened, 0)
    assert opened.labels() == ["Ann, name, guessed", "Lee, name, guessed, doubtful", "1984, year, guessed"]
    assert opened.page.get_attribute(".tokens", "aria-activedescendant") == "token-1"
    assert "model 1" in opened.page.text_content(".source")
    opened.keys("y", "Control+Enter")  # only what was set
    made = wait_for(lambda: bench.decisions.last.get(0))
    assert (made.labels, made.origin, made.model) == ((None, "year", None), "changed", "0001")
    bench.proposals[1] = bench.proposals[0]
    show(opened, 1)
    opened.keys("Enter")
    made = wait_for(lambda: bench.decisions.last.get(1))
    assert (made.labels, made.origin, made.actions) == (tuple(LABELS), "accepted", 1)


def test_a_token_is_split_and_a_note_is_kept(opened, bench):
    show(opened, 0)
    opened.keys("ArrowRight", "ArrowRight", "/")
    opened.page.click("[aria-label='19, 84']")
    assert [said.partition(",")[0] for said in opened.labels()] == ["Ann", "Lee", "19", "84"]
    opened.keys(";")
    opened.page.fill("dialog textarea", "a <b>note</b>")
    opened.page.click("text=Keep the note")
    opened.page.wait_for_selector(".noted:has-text('a <b>note</b>')")
    opened.keys("ArrowLeft", "ArrowLeft", "ArrowLeft", "Shift+y", "Enter")
    made = wait_for(lambda: (one := bench.decisions.last.get(0)) and one.labels and one)  # first comes the note alone
    assert made.offsets == ((0, 3), (4, 7), (8, 10), (10, 12))
    assert (made.labels, made.note) == (("year",) * 4, "a <b>note</b>")


def test_keys_pressed_right_after_a_dialog_are_not_lost(opened, bench):
    show(opened, 8)
    opened.keys("/")
    opened.page.wait_for_selector("dialog")
    opened.page.evaluate("""() => {
        document.querySelector("[aria-label='東, 京']").click();
        for (const key of ["N", "Enter"]) document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", { key, shiftKey: key === "N", bubbles: true }));
    }""")
    made = wait_for(lambda: bench.decisions.last.get(8))
    assert made.labels == (None, "name", "name")


def test_all_like_this_is_looked_through_and_can_become_a_rule(opened, bench):
    show(opened, 0)
    opened.keys("*")
    opened.page.wait_for_selector("text=1 place in the pool")
    opened.page.select_option("dialog select", "name")
    opened.page.click("text=Make it a rule")
    wait_for(lambda: "are: name" in bench.rules_text)
    opened.page.wait_for_selector("dialog", state="detached")
    opened.keys("*")
    opened.page.click("text=Label 1 place")
    wait_for(lambda: bench.decisions.last.get(0))
    opened.page.wait_for_selector("dialog", state="detached")
    assert bench.decisions.last[0].labels == ("name", None, None)


def test_what_cannot_be_sent_is_kept_and_sent_later(opened, bench):
    show(opened, 0)
    opened.keys("Shift+n")
    opened.page.wait_for_function("true")
    opened.page.route("**/api/**", lambda route: route.abort())
    opened.keys("Enter")
    opened.page.wait_for_selector("text=1 decision kept here")
    assert 0 not in bench.decisions.last
    opened.page.unroute("**/api/**")
    made = wait_for(lambda: bench.decisions.last.get(0))
    assert made.labels == ("name",) * 3
    opened.wrong[:] = [text for text in opened.wrong if "ERR_FAILED" not in text]


def test_another_window_is_told(opened, bench):
    show(opened, 0)
    bench.decide(Decision(0, tuple(LABELS), "typed"), window="other")
    opened.page.wait_for_selector("text=was labelled in another window")
    opened.keys("Shift+n", "Enter")
    opened.page.wait_for_selector("text=had been changed in another window")
    assert bench.decisions.last[0].labels == ("name",) * 3


def test_markup_in_the_data_is_text(opened, bench):
    bench.set_fields(["name", "year", "<i>x</i>"])
    bench.decide(Decision(6, None, "noted", note=HOSTILE))
    for pane in ("Pool", "Rules", "Look", "Use", "Label"):
        opened.page.click(f"nav >> text={pane}")
        opened.page.wait_for_timeout(150)
    show(opened, 6)
    assert opened.page.evaluate("window.bad") is None
    assert opened.page.query_selector(".tokens img, .tokens b, .field i, .noted b") is None
    assert "".join(words_on(opened.page)) == HOSTILE.replace(" ", "")


def test_text_from_right_to_left_and_characters_outside_latin(opened, bench):
    show(opened, 7)
    assert opened.page.get_attribute(".tokens", "dir") == "rtl"
    left = [opened.page.locator(f"#token-{t}").bounding_box()["x"] for t in range(5)]
    assert left[0] > left[1] > left[2] > left[4] > left[3]  # Latin words among others are read from the left
    opened.keys("ArrowLeft")  # forwards
    assert opened.page.get_attribute(".tokens", "aria-activedescendant") == "token-1"
    show(opened, 8)
    opened.keys("/")
    opened.page.click("[aria-label='東, 京']")
    opened.keys("ArrowLeft", "Shift+n", "Enter")
    made = wait_for(lambda: bench.decisions.last.get(8))
    assert made.cut(bench.pool).words == ["東", "京", "2001"]


# ---- rules


def test_errors_are_shown_at_their_line_while_one_types(opened, bench):
    page = opened.page
    page.click("nav >> text=Rules")
    area = page.locator("textarea.code")
    area.fill("rules:\n  - presnt: name")
    page.wait_for_selector(".problem:has-text('Line 2: there is no rule')")
    assert page.text_content(".gutter .wrong") == "2"
    assert bench.rules_text == "rules: []\n"  # a broken text is not kept
    area.fill("rules:\n  - present: name\n")
    page.wait_for_selector(".says:has-text('name')")
    wait_for(lambda: bench.rules_text == "rules:\n  - present: name\n")
    page.click("[role=switch]")
    wait_for(lambda: "#~ - present: name" in bench.rules_text)
    page.wait_for_selector(".sentence.off")


def test_completion_knows_rules_entries_and_fields(opened):
    page = opened.page
    page.click("nav >> text=Rules")
    area = page.locator("textarea.code")
    area.fill("")
    area.type("rules:\n- wor")
    page.wait_for_selector(".menu li:has-text('words')")
    opened.keys("Tab")
    area.type("Ann\n  ar")
    page.wait_for_selector(".menu li:has-text('are')")
    opened.keys("Enter")
    area.type("na")
    page.wait_for_selector(".menu li:has-text('name')")
    opened.keys("Enter")
    assert area.input_value().split() == ["rules:", "-", "words:", "Ann", "are:", "name"]
