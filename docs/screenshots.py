"""Takes the pictures of the workbench that the pages show: `python3 dev.py screenshots`, which needs Chromium.

The workbench runs on its demo; the labels of a dozen sequences come from the grammar that made them.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from semistruct import make_citations

OUT = Path(__file__).resolve().parent / "images"
DEMO = make_citations(400, seed=20)
LABELLED = 12
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
CALL = """([method, path, body]) => fetch(path, { method, headers: { "content-type": "application/json",
    authorization: `Bearer ${localStorage.token}` },
    body: body === null ? undefined : JSON.stringify(body) }).then((answer) => answer.json())"""


def call(page: Page, method: str, path: str, body: Any = None) -> Any:
    return page.evaluate(CALL, [method, path, body])


def wait_until_idle(page: Page) -> None:
    """Until models are learned and everything about them is known."""
    for _ in range(600):
        status = call(page, "GET", "/api/status")
        if status["model"] and {status["training"]["state"], status["insights"]["state"]} == {"idle"}:
            return
        page.wait_for_timeout(500)
    raise SystemExit("the workbench does not come to rest")


def label_some(page: Page) -> None:
    for _ in range(LABELLED):
        number = call(page, "GET", "/api/next?window=shots")["sequence"]["number"]
        labels = DEMO.labels[number]
        call(page, "POST", "/api/labels", {"number": number, "labels": labels, "origin": "changed", "actions": 5})
        page.wait_for_timeout(300)
    wait_until_idle(page)
    for one in call(page, "GET", "/api/rules/suggestions")["suggestions"][:3]:
        call(page, "POST", "/api/rules/add", {"rule": one["rule"]})
    page.wait_for_timeout(500)
    wait_until_idle(page)


def keep(page: Page, name: str, **options: Any) -> None:
    """A picture of what is on the screen."""
    Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB").save(OUT / f"{name}.png", optimize=True)
    print(f"{name}.png")


def visit(browser: Browser, address: str, **options: Any) -> Page:
    page = browser.new_context(**options).new_page()
    page.goto(address)
    page.evaluate("localStorage.toured = 'yes'")
    page.reload()
    page.wait_for_selector(".chip")
    return page


def pictures(browser: Browser, address: str) -> None:
    desk, phone = {"width": 1180, "height": 760}, {"width": 390, "height": 780}
    page = visit(browser, address, viewport=desk)
    label_some(page)
    page.goto("about:blank")
    page = visit(browser, address, viewport=desk)
    page.wait_for_timeout(1500)
    keep(page, "work-label")
    page.click("nav >> text=Rules")
    page.wait_for_selector(".says")
    page.click(".says >> nth=0")
    page.wait_for_timeout(1500)
    keep(page, "work-rules")
    page.click("nav >> text=Look")
    page.wait_for_selector(".chart")
    page.set_viewport_size({"width": 1180, "height": 980})
    page.wait_for_timeout(800)
    keep(page, "work-look")
    for scheme in ("light", "dark"):
        page = visit(browser, address, viewport=phone, color_scheme=scheme, has_touch=True)
        page.wait_for_timeout(1500)
        keep(page, f"work-phone-{scheme}")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("there is no chromium to take pictures with")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        command = [sys.executable, "-m", "semistruct", "work", f"{home}/references", "--demo", "--no-open"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            pictures(browser, address)
        finally:
            browser.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
