# ruff: noqa: F401, F811 (fixtures are imported)
"""The page while its server is away, refuses, or is another one: no decision is lost, and none goes astray."""

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct.app.work.app import bench_app
from semistruct.base.errors import WriteError
from work_browser import Watched, bench, browser, opened, show
from work_cases import LABELS, TEXTS, Running, free_port, made, serving, wait_for

KEPT = "text=1 decision kept here"
NEXT_AT_HAND = "performance.getEntriesByType('resource').filter(one => one.name.includes('/api/next')).length > 1"


def cut_off(opened):
    opened.page.route("**/api/**", lambda route: route.abort())


def connect(opened):
    opened.page.unroute("**/api/**")


def label(opened, number):
    """Names for all tokens of a sequence, accepted."""
    show(opened, number)
    opened.keys("Shift+n")
    before = opened.labels()
    assert all("name" in said for said in before)


def heard(opened):
    """Failed requests are no faults of the page here."""
    opened.wrong[:] = [text for text in opened.wrong if "Failed to load resource" not in text]


def test_a_killed_server_gets_the_decisions_when_it_is_back(browser, tmp_path):
    made(tmp_path / "home").close()
    port = free_port()
    running = Running(tmp_path / "home", port=port)
    watched = Watched(browser, running.address)
    try:
        watched.page.wait_for_selector(".chip")
        first = watched.number()
        watched.page.wait_for_function(NEXT_AT_HAND)
        running.kill()
        watched.keys("Shift+n", "Enter")
        watched.page.wait_for_selector(KEPT)
        watched.page.wait_for_function(f"!document.querySelector('h1').textContent.endsWith(' {first}')")
        second = watched.number()
        watched.keys("Shift+y", "Enter")
        watched.page.wait_for_selector("text=2 decisions kept here")
        watched.page.wait_for_selector("h1:text-is('The server is away')")
        running = Running(tmp_path / "home", port=port)
        kept = lambda: {one["id"]: one["labels"] for one in running.client.good("GET", "/api/labels")["labels"]}  # noqa: E731
        wait_for(lambda: len(kept()) == 2)
        assert kept() == {first - 1: ["name"] * 3, second - 1: ["year"] * 3}
        watched.page.wait_for_selector(".chip")  # and the same page goes on
        assert watched.number() not in (first, second)
        heard(watched)
        assert watched.wrong == []
    finally:
        watched.close()
        running.kill()


def test_decisions_outlive_a_reload(opened, bench):
    label(opened, 0)
    cut_off(opened)
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    opened.page.on("dialog", lambda dialog: dialog.accept())
    opened.page.reload()
    opened.page.wait_for_selector("text=The server is away")
    assert 0 not in bench.decisions.last
    connect(opened)
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == ("name",) * 3
    opened.page.wait_for_selector(".chip")
    heard(opened)


def test_a_new_tab_sends_what_a_closed_one_could_not(opened, bench):
    label(opened, 0)
    cut_off(opened)
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    opened.page.close()
    opened.page = opened.context.new_page()
    opened.page.goto(opened.client.site)  # which knows the token
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == ("name",) * 3
    opened.page.wait_for_selector(".chip")
    heard(opened)


def test_another_folder_at_the_same_address_gets_nothing(browser, tmp_path):
    ours, other = made(tmp_path / "ours"), made(tmp_path / "other")
    port = free_port()
    with serving(bench_app(ours), port=port, token="ours" * 8) as client:
        watched = Watched(browser, f"{client.site}?token={client.token}")
        watched.page.wait_for_selector(".chip")
        number = watched.number() - 1
        watched.keys("Shift+n")
        watched.page.route("**/api/**", lambda route: route.abort())
        watched.keys("Enter")
        watched.page.wait_for_selector(KEPT)
    try:
        with serving(bench_app(other), port=port, token="else" * 8) as client:
            watched.page.unroute("**/api/**")
            watched.page.wait_for_selector("text=Open the address that semistruct printed")
            for token in ("else" * 8, "ours" * 8):
                second = watched.context.new_page()
                second.goto(f"{client.site}?token={token}")
                second.wait_for_selector(".chip" if token[0] == "e" else "text=Open the address")
                second.wait_for_timeout(1000)
                assert "token" not in second.url
                second.close()
            second = watched.context.new_page()
            second.goto(client.site)  # a wrong token does not take the place of a good one
            second.wait_for_selector(".chip")
            second.close()
            assert other.decisions.last == {}
            assert watched.page.query_selector(KEPT)
        with serving(bench_app(other), port=port, token="ours" * 8):  # with the right token, even
            watched.page.wait_for_selector("[title='Another folder is open at this address.']")
            watched.page.wait_for_timeout(1000)
            assert other.decisions.last == {}
        with serving(bench_app(ours), port=port, token="ours" * 8):
            assert wait_for(lambda: ours.decisions.last.get(number)).labels == ("name",) * 3
    finally:
        watched.close()
        ours.close()
        other.close()


@pytest.mark.parametrize("status", [401, 403, 404, 500, 502, 507])
def test_an_answer_that_is_no_refusal_keeps_what_was_decided(opened, bench, status):
    show(opened, 0)
    opened.keys("n", "n", "y")
    opened.page.route("**/api/labels", lambda route: route.fulfill(status=status, body="no"))
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    show(opened, 0)
    assert opened.labels() == ["Ann, name, confirmed", "Lee, name, confirmed", "1984, year, confirmed"]
    opened.page.unroute("**/api/labels")
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == tuple(LABELS)
    opened.page.wait_for_selector(KEPT, state="detached")
    heard(opened)


def test_a_full_disk_keeps_what_was_typed_and_is_told(opened, bench, monkeypatch):
    def full(*args, **more):
        raise WriteError("labels.jsonl: cannot write: no space left on device")

    show(opened, 0)
    opened.keys("ArrowRight", "ArrowRight", "/")
    opened.page.click("[aria-label='19, 84']")
    opened.keys("Home", "n", "n", "y", "y")
    with monkeypatch.context() as patched:
        patched.setattr(bench, "decide", full)
        opened.keys("Enter")
        opened.page.wait_for_selector("text=no space left on device")
        opened.page.wait_for_selector(KEPT)
        show(opened, 0)
        assert [said.split(", ")[1] for said in opened.labels()] == ["name", "name", "year", "year"]
        opened.keys("Control+z")
        opened.page.wait_for_selector("text=undo comes when it is")
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == (*LABELS, "year")
    heard(opened)


def test_what_is_refused_is_told_and_shown_again_as_it_was_typed(opened, bench):
    show(opened, 0)
    opened.keys("n", "n", "y")
    cut_off(opened)
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    bench.rename_field("year", "date")
    connect(opened)
    opened.page.wait_for_selector("text=Sequence 1 was not kept: there is no field 'year'")
    opened.page.wait_for_selector(".sequence-head h1:text-is('Sequence 1')")
    assert opened.labels() == ["Ann, name, confirmed", "Lee, name, confirmed", "1984, year, confirmed"]
    opened.page.click("#token-2")
    opened.page.click(".field:has-text('date')")
    opened.keys("Enter")
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == ("name", "name", "date")
    heard(opened)


def test_what_one_is_at_comes_back_after_what_was_refused(opened, bench):
    show(opened, 0)
    opened.keys("n", "n", "y")
    opened.page.route("**/api/labels", lambda route: route.abort())
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    show(opened, 1)
    opened.keys("n")
    bench.rename_field("year", "date")
    opened.page.unroute("**/api/labels")
    opened.page.wait_for_selector(".sequence-head h1:text-is('Sequence 1')")
    opened.keys("-")
    opened.page.wait_for_selector(".sequence-head h1:text-is('Sequence 2')")
    assert opened.labels()[0] == "Bo, name, confirmed"
    heard(opened)


def test_enter_twice_while_away_is_one_decision(opened, bench):
    opened.page.route("**/api/next**", lambda route: route.abort())  # no other sequence is at hand
    label(opened, 0)
    cut_off(opened)
    opened.keys("Enter", "Enter", "Enter")
    opened.page.wait_for_selector("text=kept here")
    connect(opened)
    wait_for(lambda: bench.decisions.last.get(0))
    opened.page.wait_for_selector("text=kept here", state="detached")
    opened.page.wait_for_timeout(500)
    assert opened.page.query_selector("text=changed in another window") is None
    assert bench.decisions.versions[0] == 1
    heard(opened)


def test_the_last_decision_about_a_sequence_replaces_the_one_before(opened, bench):
    label(opened, 0)
    opened.page.route("**/api/labels", lambda route: route.abort())
    opened.keys("Enter")
    opened.page.wait_for_selector(KEPT)
    show(opened, 0)
    opened.keys("Home", "Shift+y", "Enter")
    opened.page.wait_for_selector(KEPT)
    opened.page.unroute("**/api/labels")
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == ("year",) * 3
    assert bench.decisions.versions[0] == 1
    heard(opened)


def test_two_tabs_send_each_decision_once(opened, bench):
    second = opened.context.new_page()
    second.goto(opened.client.site)
    second.wait_for_selector(".chip")
    opened.page.bring_to_front()
    for page in (opened.page, second):
        page.route("**/api/labels", lambda route: route.abort())
    for number in (0, 1, 2):
        label(opened, number)
        opened.keys("Enter")
        second.wait_for_selector(f"text={number + 1} decision")  # which both of them show
    for page in (opened.page, second):
        page.unroute("**/api/labels")
    wait_for(lambda: len(bench.decisions.last) == 3)
    opened.page.wait_for_selector("text=kept here", state="detached")
    second.wait_for_selector("text=kept here", state="detached")
    assert bench.decisions.versions == {0: 1, 1: 1, 2: 1}
    assert opened.page.query_selector("text=changed in another window") is None
    heard(opened)


def test_without_room_in_the_browser_a_decision_waits_for_the_server(opened, bench):
    label(opened, 0)
    opened.page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    cut_off(opened)
    opened.keys("Enter")
    opened.page.wait_for_selector("text=The server cannot be reached")
    assert opened.number() == 1  # what is safe nowhere is not left
    connect(opened)
    opened.keys("Enter")
    assert wait_for(lambda: bench.decisions.last.get(0)).labels == ("name",) * 3
    heard(opened)


def test_shift_and_a_digit_set_a_field_from_here(browser, tmp_path):
    bench = made(tmp_path / "home", TEXTS, [f"f{k}" for k in range(1, 26)])
    fields = {one.key: one.name for one in bench.settings.fields}
    assert fields["8"] == "f8"
    with serving(bench_app(bench)) as client:
        watched = Watched(browser, f"{client.site}?token={client.token}")
        watched.page.wait_for_selector(".chip")
        for key in sorted(fields):
            watched.keys("Home", f"Shift+{f'Digit{key}' if key.isdigit() else key}")  # `*` for 8, and so on
            assert [said.split(", ")[1] for said in watched.labels()] == [fields[key]] * 3, key
            watched.keys("Control+z", key)
            assert watched.labels()[0].split(", ")[1] == fields[key]
            watched.keys("Control+z")
        watched.keys("*")  # as a keyboard gives it that has it elsewhere
        watched.page.wait_for_selector("dialog")
        assert watched.wrong == []
        watched.close()
    bench.close()
