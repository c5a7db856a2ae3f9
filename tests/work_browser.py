"""What the tests of the workbench in a browser share: a browser, and a page on a bench that learns nothing."""

import re

import pytest

from semistruct.app.work.app import bench_app
from work_cases import CHROMIUM, FLAGS, TEXTS, made, serving

playwright = pytest.importorskip("playwright.sync_api", reason="there is no playwright to drive a browser with")
HOSTILE = "<img src=x onerror=window.bad=1> <b>Bo</b> 1987"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium to look at the page with")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


class Watched:
    """A page, with everything that went wrong and everything it asked for."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        self.context.set_default_timeout(30_000)
        self.page = self.context.new_page()
        self.wrong, self.asked = [], []
        self.page.on("pageerror", lambda err: self.wrong.append(str(err)))
        self.page.on("console", lambda said: said.type == "error" and self.wrong.append(said.text))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def keys(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def labels(self):
        """What a screen reader says of the tokens."""
        return [chip.get_attribute("aria-label") for chip in self.page.query_selector_all(".chip")]

    def number(self):
        return int(re.sub(r"\D", "", self.page.text_content(".sequence-head h1")))

    def close(self):
        self.context.close()


@pytest.fixture
def bench(tmp_path):
    found = made(tmp_path / "home", [*TEXTS, HOSTILE, "שלום עולם 1984 Tel Aviv", "東京 2001"])
    yield found
    found.close()


@pytest.fixture
def opened(browser, bench):
    """A page on a bench that learns nothing."""
    with serving(bench_app(bench)) as client:
        found = Watched(browser, f"{client.site}?token={client.token}")
        found.client = client
        found.page.wait_for_selector(".chip")
        yield found
        assert found.wrong == [], found.wrong
        assert {url.split("/")[2] for url in found.asked} == {client.site.split("/")[2]}  # nothing from elsewhere
        found.close()


def show(opened, number):
    opened.page.goto(opened.client.site + "#pool")
    opened.page.click(f".row >> nth={number}")
    opened.page.wait_for_selector(f".sequence-head h1:text-is('Sequence {number + 1}')")


def words_on(page):
    return [chip.text_content() for chip in page.query_selector_all(".chip .word")]
