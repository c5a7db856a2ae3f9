# ruff: noqa: F401, F811 (fixtures are imported)
"""What requests carry: too much, half of a character, files in forms; and what is answered if it cannot be used."""

import json
import os
import socket
import tempfile
import threading
import time
import warnings
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct.app.work import server
from semistruct.app.work.rules_text import EMPTY
from semistruct.app.work.warned import collected_warnings
from work_cases import LABELS, Client, bench, client, home


def test_who_sends_too_much_hears_so_after_the_last_byte(client, monkeypatch):
    monkeypatch.setattr(server, "LARGEST_REQUEST", 1000)
    data = b"x" * 40_000_000  # more than a connection holds
    for one in (client, Client(client.site, "no token")):
        assert one.call("POST", "/api/pool", data=data)[0] == 413


def test_who_asks_first_need_not_send_too_much(client):
    head = "POST /api/pool HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99000000000\r\nexpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(client.site).port), 10) as line:
        line.sendall(head.encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_only_writing_that_fails_is_a_lack_of_room(client, monkeypatch):
    words = {"text": "rules:\n  - present: cannot write\n    wieght: 3\n"}
    problem = client.good("PUT", "/api/rules", words)["problems"][0]["problem"]
    assert "wieght" in problem
    status, _, answer = client.call("POST", "/api/fields/rename", {"old": "cannot write"})
    assert (status, "cannot write" in answer["problem"]) == (422, True)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    status, _, answer = client.call("POST", "/api/labels", {"number": 0, "labels": LABELS})
    assert (status, "no space left on device" in answer["problem"]) == (507, True)
    status, _, answer = client.call("POST", "/api/pool/text", {"text": "Gus Fir 1999"})
    assert (status, client.good("GET", "/api/status")["pool"]) == (507, 6)
    assert "/pool.jsonl: cannot write" in answer["problem"]
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    assert client.call("POST", "/api/pool/text", {"text": "Gus Fir 1999"})[0] == 507
    monkeypatch.undo()
    assert client.good("POST", "/api/pool/text", {"text": "Gus Fir 1999"})["added"] == 1


HALF = "\ud800"
HALVES = {
    "/api/predict": [{"texts": [f"{HALF} x"]}, {"tokens": [[HALF]]}],
    "/api/pool/text": [{"text": f"Ann {HALF}"}],
    "/api/labels": [
        {"number": 0, "labels": ["name", "name", HALF]},
        {"number": 0, "labels": LABELS, "note": HALF},
        {"number": 0, "labels": LABELS, "window": HALF},
        {"number": 0, "labels": LABELS, "model": HALF},
    ],
    "/api/fields/rename": [{"old": HALF}, {"old": "name", "new": HALF}],
    "/api/like/apply": [{"places": [{"number": 0, "start": 0, "end": 1}], "label": HALF}],
    "/api/rules/check": [{"text": f"rules: [{{present: {HALF}}}]"}],
    "/api/rules/add": [{"rule": {"present": HALF}}, {"rule": {"present": "name"}, "comment": HALF}],
}


@pytest.mark.parametrize("path", HALVES)
def test_half_of_a_character_is_refused(client, bench, path):
    for body in HALVES[path]:
        assert "is half of a character" in client.problem("POST", path, body)
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        kind = {"content-type": "application/json"}
        assert "is half of a character" in client.problem("POST", path, data=raw, headers=kind)
    client.good("GET", "/api/changes")
    assert bench.decisions.last == {}


def test_whole_characters_outside_the_first_plane_are_taken(client):
    given = {"number": 0, "labels": LABELS, "note": "𝒳"}
    assert "\\ud835" in json.dumps(given)
    client.good("POST", "/api/labels", given)
    assert client.good("GET", "/api/sequences/0")["note"] == "𝒳"


@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("POST", "/api/rules/add", {"rule": {}}, "the rule is empty"),
        ("POST", "/api/rules/add", {"rule": {}, "comment": "why"}, "the rule is empty"),
        ("PUT", "/api/fields", {"names": ["name"], "tokens": f"pattern:{HALF}"}, "half of a character"),
        ("POST", "/api/pool?name=x.jsonl", b'{"tokens": ["\\ud800"], "labels": ["a"]}\n', "half of a character"),
        (
            "POST",
            "/api/pool?name=x.jsonl&labels=true",
            b'{"tokens": ["a"], "labels": ["\\ud800"]}',
            "half of a character",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(client, bench, method, path, body, problem):
    given = {"data": body} if isinstance(body, bytes) else {"body": body}
    assert problem in client.problem(method, path, **given)
    assert (len(bench.pool), bench.settings.tokens, bench.rules_text) == (6, "words", EMPTY)


def test_what_is_no_json_is_refused_in_a_sentence(client):
    for body in (b"{", b"[" * 100_000, b'{"number": ' + b"9" * 5000 + b"}", b"\xff\xfe\0"):
        status, _, answer = client.call("POST", "/api/labels", data=body, headers={"content-type": "application/json"})
        assert (status in (400, 422), "problem" in answer) == (True, True)
    assert client.good("GET", "/api/next?shown=1,%C2%B2,x,99999999999999999999")["sequence"]


def test_an_empty_rules_text_is_kept(client, bench):
    client.good("PUT", "/api/rules", {"text": ""})
    assert (bench.folder.path / "rules.yaml").read_bytes() == b""


FORM = (
    b'--x-1\r\nContent-Disposition: form-data; name="why"\r\n\r\nno file\r\n'
    b'--x-1\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n'
    b"Content-Type: text/plain\r\n\r\n%s\r\n--x-1--\r\n"
)
IS_FORM = {"content-type": 'multipart/form-data; boundary="x-1"'}


def test_a_file_in_a_form_is_taken_out_of_it(client, bench):
    content = "Gus Fír 1999\r\n\r\n--x 1\n".encode()
    data = FORM % ("naïve.txt".encode(), content)
    done = client.good("POST", "/api/pool", data=data, headers=IS_FORM)
    assert (done["added"], bench.pool.rows[6:]) == (2, ["Gus Fír 1999", "--x 1"])
    assert "the form has no file" in client.problem("POST", "/api/pool", data=b"--x-1--\r\n", headers=IS_FORM)
    problem = client.problem("POST", "/api/pool", data=FORM % ("naïve.txt".encode(), b" "), headers=IS_FORM)
    assert problem == "naïve.txt: there is no text in it"


def test_warnings_of_threads_do_not_get_mixed_up():
    """Each hears its own warnings, and afterwards the filters are as before."""
    before, said = [*warnings.filters], {}

    def listen(k):
        with collected_warnings() as heard:
            for _ in range(20):
                warnings.warn(f"of thread {k}", UserWarning, stacklevel=1)
                time.sleep(0.0005)
        said[k] = heard

    threads = [threading.Thread(target=listen, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {k: [f"of thread {k}"] for k in range(8)}
    assert warnings.filters == before
