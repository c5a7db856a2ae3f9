"""Corpora by name: fetched from a server on this machine, kept, checked and converted."""

import hashlib
import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from semistruct import read
from semistruct.base.errors import DataError
from semistruct.data.datasets import CORPORA, GENERATORS, corpora, get
from semistruct.data.datasets.corpora import PARTS, Remote, cache_folder, cached


class Handler(BaseHTTPRequestHandler):
    """Serves what the test put into `server.files`; `server.faults` says what goes wrong with the next answers."""

    def do_GET(self):
        self.server.asked.append(self.path)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault == "silence":
            return
        if self.path not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[self.path]
        self.send_response(200)
        if fault == "broken chunks":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"ff\r\nfar too short")
            return
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "half" else content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server on the loopback in the place of the public one, and an empty cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.files, server.faults, server.asked = {}, [], []
    server.place = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("SEMISTRUCT_MIRROR", server.place)
    monkeypatch.setenv("SEMISTRUCT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def offer(server, path, content, sha256=None):
    """Put a file on the server."""
    server.files[f"/{path}"] = content
    return Remote(path, sha256 or hashlib.sha256(content).hexdigest())


def left_behind(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# ---- fetching


def test_a_file_is_fetched_once(server, tmp_path):
    remote = offer(server, "a/b.txt", b"some text\n" * 20_000)
    for _ in range(2):
        path = cached(remote, tmp_path / "c")
        assert path == tmp_path / "c" / "b.txt"
        assert path.read_bytes() == server.files["/a/b.txt"]
    assert server.asked == ["/a/b.txt"]
    assert left_behind(tmp_path) == ["b.txt"]


def test_a_wrong_checksum_keeps_nothing(server, tmp_path):
    remote = offer(server, "x", b"changed", "0" * 64)
    found = hashlib.sha256(b"changed").hexdigest()
    with pytest.raises(DataError, match=rf"/x: its SHA-256 is {found}, expected 0{{64}}; nothing was kept"):
        cached(remote, tmp_path / "c")
    assert left_behind(tmp_path) == []
    assert len(server.asked) == 1


@pytest.mark.parametrize("fault", ["half", "silence", "broken chunks"])
def test_an_interrupted_transfer_is_tried_again(server, tmp_path, fault):
    remote = offer(server, "x", b"abcdefgh")
    server.faults = [fault]
    assert cached(remote, tmp_path).read_bytes() == b"abcdefgh"
    assert len(server.asked) == 2


@pytest.mark.parametrize(("fault", "why"), [("half", r"\(incompleteread\(4 .*"), ("silence", r"\(.*\)")])
def test_a_transfer_interrupted_twice(server, tmp_path, fault, why):
    remote = offer(server, "x", b"abcdefgh")
    server.faults = [fault, fault]
    with pytest.raises(DataError, match=rf"/x: the transfer was interrupted {why}; a copy of the file put at .*x also"):
        cached(remote, tmp_path)
    assert len(server.asked) == 2
    assert left_behind(tmp_path) == []


def test_a_server_that_does_not_answer(server, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "TIMEOUT", 0.05)
    server.RequestHandlerClass = type("Slow", (Handler,), {"do_GET": lambda self: threading.Event().wait(0.3)})
    with pytest.raises(DataError, match=r"the transfer was interrupted \(timed out\)"):
        cached(offer(server, "x", b"x"), tmp_path)


@pytest.mark.parametrize(("place", "why"), [("http://127.0.0.1:1", ".*"), ("nonsense", "unknown url type.*")])
def test_offline(tmp_path, monkeypatch, place, why):  # nobody listens there
    monkeypatch.setenv("SEMISTRUCT_MIRROR", place)
    with pytest.raises(DataError, match=rf"{place}/x: cannot be reached \({why}\); a copy of the file put at .*x also"):
        cached(Remote("x", "0"), tmp_path)


def test_a_file_that_is_not_there(server, tmp_path):
    with pytest.raises(DataError, match="/x: the server answers 404 Not Found; a copy of the file put at"):
        cached(Remote("x", "0"), tmp_path)
    assert len(server.asked) == 1


def test_a_file_put_into_the_cache_by_hand(server, tmp_path):
    (tmp_path / "x").write_bytes(b"mine")
    remote = Remote("somewhere/x", hashlib.sha256(b"mine").hexdigest())
    assert cached(remote, tmp_path).read_bytes() == b"mine"
    (tmp_path / "x").write_bytes(b"other")
    with pytest.raises(DataError, match=r"x: its SHA-256 is \w{64}, expected \w{64}; delete the file"):
        cached(remote, tmp_path)
    assert (tmp_path / "x").read_bytes() == b"other"
    assert server.asked == []


def test_a_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot write"):
        cached(offer(server, "x", b"x"), tmp_path / "file")


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("SEMISTRUCT_CACHE", raising=False)
    assert cache_folder() == tmp_path / "home" / ".cache" / "semistruct"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "semistruct"
    monkeypatch.setenv("SEMISTRUCT_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


# ---- conversion

CITATIONS = {
    "train": "A\tauthor\tf=1\tg\n.\tauthor\tf=2\tg\nSorting\ttitle\tf\tg\n\nB\tauthor\tf\tg\n",
    "dev": "C\tauthor\tf\n\n",
    "test": "D\tauthor\tf\nX\ttitle\tf\n\nE\tauthor\tf\n",
    "pool": "F\tO\tf\nG\tO\tf\n\nD\tO\tf\nX\tO\tf\n\nH\tO\tf\n",
}
PAGE = (
    "<title> On {0}-folds: a view +L+ of AT&T's O(n) </title> <author> Ann {0}, B. Bee </author> +L+ +L+ stray "
    "<email> ann@x-y.edu </email> <abstract> We left <this> out +L+ </abstract> <intro> 1 Out, too +L+ </intro> "
    "<page> +PAGE+ </page> <note> To appear. +PAGE+ +L+ </note>\n"
)
BORDERS = {"marks": "<NEW_HEADER>\n{}", "lines": "{}", "blank lines": "{}\n"}


@pytest.fixture
def publish(server, monkeypatch):
    """publish(name, contents) puts made-up raw files of a corpus on the server, with their checksums."""

    def call(name, contents):
        files = {role: offer(server, CORPORA[name].files[role].path, text) for role, text in contents.items()}
        monkeypatch.setitem(corpora.CORPORA, name, replace(CORPORA[name], files=files))

    return call


def test_citations(publish, server):
    publish("citations", {part: text.encode() for part, text in CITATIONS.items()})
    parts = get("citations")
    assert tuple(parts) == PARTS
    assert [len(corpus) for corpus in parts.values()] == [2, 1, 2, 2]
    assert parts["train"].tokens == [["A", ".", "Sorting"], ["B"]]
    assert parts["train"].labels == [["author", "author", "title"], ["author"]]
    assert parts["pool"].tokens == [["F", "G"], ["H"]]
    assert parts["pool"].labels == [None, None]
    assert len(server.asked) == 4


def test_a_citation_without_label(publish):
    publish("citations", {part: text.encode() for part, text in CITATIONS.items()} | {"dev": b"a\tx\tf\nb\n"})
    with pytest.raises(DataError, match=r"citation_dev\.txt:2: expected a token, a TAB and a label"):
        get("citations")


@pytest.mark.parametrize("border", BORDERS)
def test_headers(publish, border):
    pages = [BORDERS[border].format(PAGE.format(f"N{i}")) for i in [*range(302), 5, 301]]
    fragment = BORDERS[border].format("<title> Too short </title>\n")
    publish("headers", {"pages": "".join([fragment, *pages]).encode()})
    parts = get("headers")
    assert [len(corpus) for corpus in parts.values()] == [100, 100, 100, 2]
    example = parts["train"].examples[0]
    words = "On N0-folds : a view *NEWLINE* of AT & T's O ( n ) | Ann N0 , B . Bee *NEWLINE* | ann @ x-y . edu"
    title, author, email = (part.split() for part in words.split(" | "))
    note = ["To", "appear", ".", "*NEWLINE*"]
    assert example.tokens == title + author + email + note
    assert example.labels == ["title"] * 14 + ["author"] * 7 + ["email"] * 5 + ["note"] * 4
    assert [parts[part].tokens[0][1] for part in PARTS] == ["N0-folds", "N100-folds", "N200-folds", "N300-folds"]
    assert parts["pool"].labels == [None, None]


def test_headers_in_another_encoding(publish):
    text = "".join(PAGE.format(f"É{i}") for i in range(301))
    publish("headers", {"pages": text.encode("latin-1")})
    assert get("headers")["train"].tokens[0][1] == "É0-folds"


def test_too_few_headers(publish):
    publish("headers", {"pages": PAGE.encode() * 400})
    with pytest.raises(DataError, match=r"tagged_headers\.txt: 1 title pages found, expected more than 300"):
        get("headers")


# ---- the command line


def test_list(good, publish, server):
    publish("citations", {part: text.encode() for part, text in CITATIONS.items()})
    listed = {corpus["name"]: corpus for corpus in json.loads(good("data", "list", "--json"))["corpora"]}
    assert list(listed) == ["citations", "headers", "apartments"]
    assert [corpus["public"] for corpus in listed.values()] == [True, True, False]
    assert not any(corpus["fetched"] for corpus in listed.values())
    assert {name for name, corpus in listed.items() if corpus["synthetic"]} == set(GENERATORS)
    get("citations")
    test = cache_folder() / "citations" / "citation_test.txt"
    test.rename(test.with_suffix(".away"))
    assert not json.loads(good("data", "list", "--json"))["corpora"][0]["fetched"]
    test.with_suffix(".away").rename(test)
    asked = len(server.asked)
    assert [c["fetched"] for c in json.loads(good("data", "list", "--json"))["corpora"]] == [True, False, False]
    out = good("data", "list")
    assert "semistruct data get citations (fetched)" in out
    assert "semistruct data make apartments (synthetic)" in out
    assert "semistruct data get apartments" not in out
    assert len(server.asked) == asked


def test_get(good, publish, server, tmp_path, monkeypatch):
    publish("citations", {part: text.encode() for part, text in CITATIONS.items()})
    out = good("data", "get", "citations", "-o", tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert f"{folder / 'train.tsv'}: 2 sequences" in out
    assert f"{folder / 'unlabeled.txt'}: 2 sequences" in out
    assert left_behind(folder) == ["dev.tsv", "test.tsv", "train.tsv", "unlabeled.txt"]
    assert (folder / "train.tsv").read_text() == "A\tauthor\n.\tauthor\nSorting\ttitle\n\nB\tauthor\n\n"
    assert (folder / "unlabeled.txt").read_text() == "F\nG\n\nH\n\n"
    assert read(folder / "unlabeled.txt").tokens == [["F", "G"], ["H"]]
    monkeypatch.chdir(tmp_path)
    result = json.loads(good("data", "get", "citations", "--json"))
    assert result["sequences"] == {"train": 2, "dev": 1, "test": 2, "pool": 2}
    assert left_behind(tmp_path / "citations") == left_behind(folder)
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["get", "apartments"], "apartments: its public place .* is gone; .*--format transposed.*data make apartments"),
        (["get", "nonesuch"], "there is no corpus 'nonesuch'; there are citations, headers, apartments"),
        (["get", "headers"], "tagged_headers.txt: the server answers 404"),
        (["make", "headers"], "there is no synthetic corpus 'headers'; there are citations, apartments"),
    ],
)
def test_what_cannot_be_had(run, server, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("data", *args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert re.search(message, err)
    assert left_behind(tmp_path) == []


def test_get_into_a_file(run, publish, tmp_path):
    publish("citations", {part: text.encode() for part, text in CITATIONS.items()})
    (tmp_path / "file").write_text("precious")
    code, _, err = run("data", "get", "citations", "-o", tmp_path / "file")
    assert (code, err) == (2, f"semistruct: {tmp_path / 'file'}: cannot write: file exists\n")


def test_make_apartments(good, tmp_path):
    good("data", "make", "apartments", "-n", 20, "-o", tmp_path / "ads.tsv")
    made = GENERATORS["apartments"](20)
    assert read(tmp_path / "ads.tsv").labels == made.labels
    good("data", "make", "apartments", "-n", 20, "--to", "text", "-o", tmp_path / "pool.txt")
    assert read(tmp_path / "pool.txt").tokens == made.tokens
    good("data", "make", "apartments", "-n", 20, "--to", "transposed", "-o", tmp_path / "ads")
    assert read(tmp_path / "ads").labels == made.labels
