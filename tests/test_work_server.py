# ruff: noqa: F401, F811 (fixtures are imported)
"""The server of the workbench: who may use it, what it answers, and what it refuses in one sentence."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

pytest.importorskip("fastapi", reason="the extra `work` is not installed")

from semistruct import SSVM, Rules, load, make_citations, read
from semistruct.app.work import server
from semistruct.app.work.app import model_app
from semistruct.app.work.folder import Folder
from semistruct.app.work.labels import Decision
from semistruct.app.work.server import find_place
from semistruct.app.work.tasks import Material, Sample, pick_first
from semistruct.app.work.worker import CancelledTask, Worker, WorkError
from semistruct.data.formats import FORMATS
from semistruct.data.tokens import GIVEN, UNCUT
from semistruct.rules import EndsWith
from work_cases import LABELS, ROOT, TEXTS, Client, Running, bench, client, free_port, home, made, serving

# ---- who may use it


def test_without_the_token_nothing_is_told(client):
    described = client.good("GET", "/api/openapi.json")["paths"]
    calls = [(method.upper(), path.format(number=0)) for path, found in described.items() for method in found]
    assert len(calls) > 25
    for method, path in [*calls, ("GET", "/api/openapi.json"), ("GET", "/nothing"), ("POST", "/"), ("PUT", "/page/x")]:
        for token in ("", "x", client.token[:-1]):
            status, _, body = Client(client.site, token).call(method, path)
            assert (status, b"token" in body) == (401, True), (method, path)
    for path in (f"/api/status?token={client.token}", "//api/status", "/page/../api/status", "/page/%2e%2e/api/status"):
        assert Client(client.site, "").call("GET", path)[0] in (401, 404), path


def test_the_files_of_the_page_need_no_token_and_nothing_sets_a_cookie(client):
    stranger = Client(client.site, "")
    for path, part in (("/", b"<script"), (f"/?token={client.token}", b"<script"), ("/page/main.js", b"import")):
        status, headers, page = stranger.call("GET", path)
        assert (status, part in page, headers["set-cookie"]) == (200, True, None)
        assert client.token.encode() not in page
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
    cookie = {"cookie": f"semistruct={client.token}; token={client.token}"}
    assert stranger.call("GET", "/api/status", headers=cookie)[0] == 401


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"host": "evil.example"}, 403),
        ("GET", {"host": "127.0.0.1.evil.example:80"}, 403),
        ("GET", {"host": "localhost:1"}, 200),
        ("POST", {"origin": "http://evil.example"}, 403),
        ("POST", {"origin": "null"}, 403),
        ("GET", {"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_other_names_and_other_pages_are_refused(client, method, headers, status):
    path = "/api/status" if method == "GET" else "/api/undo"
    assert client.call(method, path, None if method == "GET" else {}, headers=headers)[0] == status
    assert client.call("POST", "/api/train", {}, headers={"origin": client.site.rstrip("/")})[0] == 200


def test_uploads_are_limited(client, monkeypatch):
    monkeypatch.setattr(server, "LARGEST_REQUEST", 1000)
    assert client.call("POST", "/api/pool", data=b"x" * 1001)[0] == 413
    for _ in range(20):  # the answer is heard, whatever comes first
        chunks = iter([b"x" * 600, b"x" * 600])  # without a length in front
        assert client.call("POST", "/api/pool", data=chunks, headers={"transfer-encoding": "chunked"})[0] == 413
    assert client.good("POST", "/api/pool?name=more.txt", data=b"Gus Fir 1999\n")["added"] == 1


def test_answers_are_sent_at_once():
    """asyncio sets TCP_NODELAY, but only for sockets that were made as those of TCP."""

    async def option():
        where, found = find_place("127.0.0.1", 0, print), asyncio.Future()
        server = await asyncio.start_server(lambda _, writer: found.set_result(writer), sock=where.socket)
        _, mine = await asyncio.open_connection("127.0.0.1", where.port)
        writer = await found
        value = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for one in (mine, writer, server):
            one.close()
            await one.wait_closed()
        return value

    assert asyncio.run(option())


def test_a_server_tells_its_own_way_to_the_token(tmp_path):
    model = tmp_path / "m.model"
    SSVM(features=["word"], C=1.0).fit([["a", "b"]], [["x", "y"]]).save(model)
    command = [sys.executable, "-m", "semistruct", "serve", str(model), "--port", str(free_port())]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}) as served:
        try:
            site = re.search(r"http://\S+:\d+/", served.stdout.readline())[0]
            status, _, body = Client(site, "").call("POST", "/api/predict", {"texts": ["a b"]})
        finally:
            served.terminate()
    assert (status, body) == (401, b"Send the token that `semistruct serve` printed: `Authorization: Bearer TOKEN`.")


@pytest.mark.parametrize("path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page//etc/passwd", "/page/..%2fapp.py"])
def test_nothing_but_the_page_is_served(client, path):
    assert client.call("GET", path)[0] == 404


def test_a_port_in_use_is_told_and_the_next_is_taken():
    said = []
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        where = find_place("127.0.0.1", port, said.append)
        where.socket.close()
    assert where.port > port
    assert f"port {port} cannot be used (address already in use)" in said[0]
    assert len(where.token) >= 32


# ---- labels


def test_labels_go_in_and_come_out(client, bench):
    shown = client.good("GET", "/api/next?window=a")["sequence"]
    assert shown["words"] == TEXTS[shown["number"]].split()
    given = {"number": shown["number"], "labels": LABELS, "origin": "typed", "window": "a", "actions": 3}
    assert client.good("POST", "/api/labels", given) == {"version": 1, "overwrote": False}
    assert [one["labels"] for one in client.good("GET", "/api/labels")["labels"]] == [LABELS]
    status = client.good("GET", "/api/changes?since=0")
    assert status["changes"][-1] == {
        "n": status["status"]["change"], "kind": "decided", "number": shown["number"], "window": "a",
        "numbers": None, "words": None,
    }  # fmt: skip
    assert status["status"]["actions"] == 3
    assert client.good("POST", "/api/undo", {})["numbers"] == [shown["number"]]
    assert client.good("GET", "/api/labels")["labels"] == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"number": 99, "labels": LABELS}, "the pool has no sequence 99; it has 6"),
        ({"number": -1, "labels": LABELS}, "the pool has no sequence -1; it has 6"),
        ({"number": 0, "labels": ["name"]}, "3 tokens but 1 labels"),
        ({"number": 0, "labels": ["name", "name", "place"]}, "there is no field 'place'"),
        ({"number": 0, "labels": LABELS, "unknown": [0]}, "said to be unknown"),
        ({"number": 0, "labels": [None] * 3}, "no token has a label"),
        ({"number": 0, "labels": LABELS, "origin": "given"}, "origin: input should be 'typed'"),
        ({"number": "x"}, "number: input should be a valid integer"),
        (
            {"number": 0, "labels": ["name"] * 4, "offsets": [[0, 3], [4, 7], [8, 10], [10, 13]]},
            "not those of the text",
        ),
    ],
)
def test_labels_that_do_not_fit_are_refused(client, given, problem):
    assert problem in client.problem("POST", "/api/labels", given)
    assert client.good("GET", "/api/labels")["labels"] == []


def test_a_split_token_keeps_its_place_in_the_text(client, bench):
    offsets = [[0, 3], [4, 7], [8, 10], [10, 12]]
    client.good("POST", "/api/labels", {"number": 0, "labels": [*LABELS, "year"], "offsets": offsets})
    view = client.good("GET", "/api/sequences/0")
    assert view["words"] == ["Ann", "Lee", "19", "84"]
    assert view["joined"] == [False, False, False, True]
    line = json.loads((bench.folder.path / "labels.jsonl").read_text())
    assert [line["text"][a:b] for a, b in line["meta"]["offsets"]] == line["tokens"]


def test_many_threads_lose_nothing(client, bench):
    def label(number):
        client.good("POST", "/api/labels", {"number": number, "labels": LABELS})

    threads = [threading.Thread(target=label, args=(n % 6,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bench.decisions.last) == list(range(6))
    assert len((bench.folder.path / "labels.jsonl").read_text().splitlines()) == 24
    assert len(bench.steps) == 24


def test_fields_are_named_renamed_and_counted(client):
    client.good("POST", "/api/labels", {"number": 0, "labels": LABELS})
    assert [one["name"] for one in client.good("PUT", "/api/fields", {"names": ["name", "year", "place"]})["fields"]][
        -1
    ] == "place"
    assert "in use" in client.problem("PUT", "/api/fields", {"names": ["name"]})
    assert client.good("GET", "/api/fields/use?name=year") == {"sequences": 1, "tokens": 1, "rules": 0}
    assert client.good("POST", "/api/fields/rename", {"old": "year", "new": "date"})["tokens"] == 1
    assert client.good("GET", "/api/cut?tokens=pattern:.")["words"][:3] == ["A", "n", "n"]
    assert "does not compile" in client.problem("GET", "/api/cut?tokens=pattern:(")
    assert "cut in another way" in client.problem("PUT", "/api/fields", {"names": ["name"], "tokens": "whitespace"})


def test_rules_are_checked_kept_and_switched(client):
    text = "rules:\n  - present: name\n"
    checked = client.good("POST", "/api/rules/check", {"text": text + "  - prese"})
    assert checked["problems"][0]["line"] == 3
    kept = client.good("PUT", "/api/rules", {"text": text, "before": "rules: []\n"})
    assert kept["version"] == 2
    status, _, theirs = client.call("PUT", "/api/rules", {"text": text + "# x\n", "before": "rules: []\n"})
    assert (status, theirs["text"], "changed elsewhere" in theirs["problem"]) == (409, text, True)
    assert client.call("POST", "/api/rules/switch", {"line": 2, "on": False, "before": "rules: []\n"})[0] == 409
    assert client.good("GET", "/api/rules")["text"] == text
    assert client.good("PUT", "/api/rules", {"text": text, "before": "rules: []\n"})["version"] == 2  # says the same
    assert client.good("POST", "/api/rules/switch", {"line": 2, "on": False})["rules"][0]["on"] is False
    added = client.good(
        "POST", "/api/rules/add", {"rule": {"words": ["Ann Lee"], "are": ["name"]}, "comment": "a\nb: c"}
    )
    assert added["rules"][-1]["text"] == "Ann Lee is name"
    assert "no rule 'wrds'" in client.problem("POST", "/api/rules/add", {"rule": {"wrds": ["x"]}})
    assert "at_most_once" in client.good("GET", "/api/rules/words")["rules"]


def test_the_labels_are_exported_in_every_format(client, tmp_path):
    assert "nothing to export" in client.problem("GET", "/api/export?format=tsv")
    for number in (1, 3):
        client.good("POST", "/api/labels", {"number": number, "labels": LABELS})
    for format in FORMATS:
        if format == "spacy":
            pytest.importorskip("spacy")
        _, headers, body = client.call("GET", f"/api/export?format={format}")
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        (tmp_path / "export").write_bytes(body)
        corpus = read(tmp_path / "export", format=format)
        assert ["".join(row) for row in corpus.tokens] == ["BoFox1987", "DiElm1991"], format
        assert corpus.labels == ([None] * 2 if format == "text" else [LABELS] * 2), format
        assert headers["content-disposition"].startswith('attachment; filename="labels.')
    body = client.call("GET", "/api/export?format=conll&scheme=bio")[2]
    assert b"B-name" in body
    assert b"1993" in client.call("GET", "/api/export?format=jsonl&what=pool")[2]
    assert "there is no format 'docx'" in client.problem("GET", "/api/export?format=docx")
    assert "what: input should be 'labels' or 'pool'" in client.problem("GET", "/api/export?what=all")
    assert "state: input should be" in client.problem("GET", "/api/sequences?state=unsur")


def test_the_interface_is_described(client):
    described = client.good("GET", "/api/openapi.json")
    for path in ("/api/predict", "/api/labels", "/api/rules", "/api/train", "/api/status"):
        assert path in described["paths"]
    assert all(call.get("description") for path in described["paths"].values() for call in path.values())


def test_without_a_model_there_are_no_labels(client):
    assert "no model yet" in client.problem("POST", "/api/predict", {"texts": ["Ann Lee"]})
    assert "no model yet" in client.problem("GET", "/api/model")


# ---- a model as a service


def test_a_service_tells_how_likely_its_own_answers_are_right(tmp_path):
    """Under the rules, as they were found."""
    data = make_citations(12)
    rules = Rules([EndsWith("author", weight="hard")])
    SSVM(features=["word", "shape"], rules=rules).fit(data.tokens, data.labels).save(tmp_path / "m")
    model, X = load(tmp_path / "m"), make_citations(5, seed=1).tokens
    with serving(model_app(tmp_path / "m")) as client:
        found = client.good("POST", "/api/predict", {"tokens": X})["sequences"]
    assert [one["labels"] for one in found] == model.predict(X)
    wanted = [[round(p, 2) for p in row.tolist()] for row in model.confidence(X)]
    assert [one["confidence"] for one in found] == wanted
    assert wanted != [[round(p, 2) for p in row.tolist()] for row in model.confidence(X, model.predict(X), rules=False)]


def test_a_service_refuses_text_as_the_command_does(tmp_path):
    """If the tokens that the model learned from do not tell how text is cut."""
    X, y = [["New York", "1936"], ["A. B.", "1937"]], [["place", "date"], ["place", "date"]]
    model = SSVM(features=["word"]).fit(X, y)
    assert model.tokens_ == GIVEN
    model.save(tmp_path / "m")
    with serving(model_app(tmp_path / "m")) as client:
        assert UNCUT in client.problem("POST", "/api/predict", {"texts": ["New York 1936"]})
        assert UNCUT in client.problem("POST", "/api/predict/file?name=a.txt", data=b"New York 1936")
        found = client.good("POST", "/api/predict", {"tokens": X})["sequences"]
        assert [one["labels"] for one in found] == y


def test_a_model_is_served(tmp_path):
    data = make_citations(8)
    model = SSVM(features=["word", "shape"], tol=0.1).fit(data.tokens, data.labels)
    model.save(tmp_path / "refs.model")
    text = data.examples[0].text
    with serving(model_app(tmp_path / "refs.model")) as client:
        assert client.good("GET", "/api/status")["labels"] == model.classes_
        found = client.good("POST", "/api/predict", {"texts": [text]})["sequences"][0]
        assert found["labels"] == model.predict([found["tokens"]])[0]
        assert all(text[span["start"] : span["end"]] == span["text"] for span in found["spans"])
        tokens = client.good("POST", "/api/predict", {"tokens": [data.tokens[1]]})["sequences"][0]
        assert tokens["labels"] == model.predict([data.tokens[1]])[0]
        assert "either" in client.problem("POST", "/api/predict", {})
        assert "no tokens" in client.problem("POST", "/api/predict", {"texts": [" "]})
        status, headers, body = client.call("POST", "/api/predict/file?name=new.txt", data=text.encode())
        assert (status, headers["content-disposition"]) == (200, 'attachment; filename="new-labelled.txt"')
        (tmp_path / "new.txt").write_bytes(body)
        assert read(tmp_path / "new.txt", format="inline").labels == [found["labels"]]
        lines = b"A. Bo. One title. 1984.\n\nC. Fox. Two. 1987.\n"
        _, headers, _ = client.call("POST", "/api/predict/file?name=new.txt", data=lines)
        assert json.loads(headers["semistruct-told"]) == ["new.txt: 1 empty line is left out"]
        form = (
            b'--x\r\nContent-Disposition: form-data; name="f"; filename="new.txt"\r\n\r\n%s\r\n--x--\r\n'
            % text.encode()
        )
        kind = {"content-type": "multipart/form-data; boundary=x"}
        assert client.call("POST", "/api/predict/file", data=form, headers=kind)[2] == body
        assert "half of a character" in client.problem("POST", "/api/predict", {"texts": ["\ud800 x"]})
        assert "no text in it" in client.problem("POST", "/api/predict/file?name=a.txt", data=b" ")


# ---- processes


def test_a_process_that_ends_is_told_and_replaced():
    worker = Worker()
    given = Material([], [], [], Sample([], []), "rules: []", ROOT, []), Sample([7], [["Ann", "1984"]])
    try:
        assert [pick.number for pick in worker.answer(pick_first, given, 120)] == [7]
        with pytest.raises(WorkError, match="an error in semistruct itself: TypeError"):
            worker.answer(len, given, 60)
        future = worker.ask(pick_first, given)
        worker._process.kill()
        worker._process.wait()
        with suppress(WorkError):  # unless it was quicker
            future.result(60)
        assert worker.answer(pick_first, given, 120)
        future = worker.ask(pick_first, given)
        worker.cancel(future)
        with suppress(CancelledTask):
            assert future.result(60)
    finally:
        worker.stop()
    assert isinstance(worker.ask(pick_first, given).exception(), WorkError)


def test_the_command_opens_a_folder_once(tmp_path, run):
    running = Running(tmp_path / "home", "--demo", "-r", "citations")
    try:
        status = running.client.good("GET", "/api/status")
        assert status["pool"] == 400
        assert {"author", "title"} <= {one["name"] for one in status["fields"]}
        assert running.client.good("GET", "/api/rules")["rules"][0]["text"] == "each label at most once"
        code, _, err = run("work", tmp_path / "home", "--no-open")
        assert code == 2
        assert f"another workbench has the folder open, at {running.client.site}; close that one first" in err
    finally:
        running.stop()
    folder = Folder.open(tmp_path / "home")
    assert folder.settings.names
    folder.close()


def test_the_command_says_what_the_folder_has_already(tmp_path):
    bench = made(tmp_path / "home")
    bench.set_rules("rules: [{present: name}]")
    bench.decide(Decision(0, tuple(LABELS), "typed"))
    bench.close()
    path = tmp_path / "home" / "labels.jsonl"
    path.write_text(path.read_text() + '{"id": 1')
    running = Running(tmp_path / "home", "--demo", "--pool", tmp_path / "more.txt", "-r", "citations")
    running.client.good("GET", "/api/status")
    running.process.terminate()
    _, said = running.process.communicate(timeout=20)
    assert said.splitlines()[:4] == [
        "semistruct: the folder has a pool of 6 sequences already, so --demo adds none",
        f"semistruct: the folder has a pool of 6 sequences already, so {tmp_path}/more.txt is not read; "
        "add it on the page, under Pool",
        "semistruct: the folder has rules already, so citations is not read; the page shows them under Rules",
        "semistruct: labels.jsonl: the last line was cut off; what there is of it is in labels.jsonl.cut",
    ]


def test_the_command_refuses_what_it_cannot_use(tmp_path, run):
    code, _, err = run("work", tmp_path / "home", "--pool", tmp_path / "none.txt", "--no-open")
    assert (code, err) == (2, f"semistruct: {tmp_path}/none.txt: cannot read: no such file or directory\n")
    code, _, err = run("serve", tmp_path / "none.model")
    assert code == 2
    assert "none.model" in err
