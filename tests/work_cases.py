"""What the tests of the workbench share: a bench without processes, a server in a thread, and one in a process."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from semistruct.app.work.app import bench_app
from semistruct.app.work.bench import Bench, open_bench
from semistruct.app.work.pool import read_upload
from semistruct.app.work.server import Guard, find_place

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
TEXTS = ["Ann Lee 1984", "Bo Fox 1987", "Cy Ash 1990", "Di Elm 1991", "Ed Oak 1992", "Flo Yew 1993"]
LABELS = ["name", "name", "year"]


def quiet(bench: Bench) -> Bench:
    """The bench, which learns nothing: no process is started."""
    for worker in (bench.trainer.learner, bench.trainer.labeller, bench.trainer.insights.worker):
        worker.stop()
    return bench


def made(folder, texts=TEXTS, fields=("name", "year")) -> Bench:
    """A bench on a folder, with a pool and fields."""
    bench = quiet(open_bench(folder))
    if len(bench.pool) == 0:
        bench.add_pool(read_upload("\n".join(texts).encode(), "pasted", "words", "text"), with_labels=False)
        bench.set_fields([*fields])
    return bench


@pytest.fixture
def home(tmp_path):
    found = made(tmp_path / "home")
    yield found
    found.close()


@pytest.fixture
def bench(home):
    return home


@pytest.fixture
def client(bench):
    with serving(bench_app(bench)) as found:
        yield found


class Client:
    """Calls of a server, with its token."""

    def __init__(self, site, token):
        self.site, self.token = site, token

    def call(self, method, path, body=None, headers=None, data=None):
        """(status, headers, body); the body is data if it is JSON."""
        given = {"authorization": f"Bearer {self.token}", **(headers or {})}
        if body is not None:
            data, given["content-type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.site.rstrip("/") + path, data, given, method=method)
        try:
            with OPENER.open(request, timeout=60) as answer:
                return answer.status, answer.headers, _read(answer)
        except urllib.error.HTTPError as err:
            with err:
                return err.code, err.headers, _read(err)

    def good(self, method, path, body=None, **more):
        status, _, answer = self.call(method, path, body, **more)
        assert status == 200, (path, status, answer)
        return answer

    def problem(self, method, path, body=None, **more):
        status, _, answer = self.call(method, path, body, **more)
        assert status in (422, 507), (path, status, answer)
        return answer["problem"]


class _Still(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


OPENER = urllib.request.build_opener(_Still, urllib.request.ProxyHandler({}))


def _read(answer):
    body = answer.read()
    return json.loads(body) if "json" in (answer.headers.get("content-type") or "") else body


@contextmanager
def serving(app, host="127.0.0.1", port=0, token=None):
    """A server in a thread, behind its guard."""
    where = find_place(host, port, print, token)
    hint = "Open the address that semistruct printed in the terminal: it ends in a token."
    guard = Guard(app, where.token, where.host, hint)
    server = uvicorn.Server(uvicorn.Config(guard, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [where.socket]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Client(where.site, where.token)
    finally:
        server.should_exit = True
        thread.join(10)
        where.socket.close()


class Running:
    """`semistruct work` in a process of its own."""

    def __init__(self, folder, *options, port=None):
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
        port = port or free_port()
        command = [sys.executable, "-m", "semistruct", "work", str(folder), "--no-open", "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                break
        else:
            raise AssertionError(self.process.stderr.read())
        self.client = Client(self.address.partition("?")[0], self.address.partition("token=")[2])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self._close()

    def _close(self):
        self.process.stdout.close()
        self.process.stderr.close()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(what, seconds=120):
    """The first answer that is not false."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := what():
            return answer
        time.sleep(0.1)
    raise AssertionError("it did not happen")
