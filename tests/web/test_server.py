"""The server as others meet it: who may ask, how much, for how long."""

import hashlib
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the extra web is not installed")
from lexicone.tasks import maze
from lexicone.web._app import MAX_FILE, MAX_QUESTION, STATIC
from lexicone.web._guard import own_names
from lexicone.web._pool import Refusal
from lexicone.web._server import Settings, in_background, serve
from lexicone.web._sources import Opened

pytestmark = pytest.mark.slow
JSON = "application/json"
EXTENDED = {"task": "maze:extended", "options": {"objectives": "path"}}
COIN = {"source": EXTENDED, "thresholds": [-3]}
LONG = {"source": {"task": "grid:100"}, "thresholds": [-1, -1], "gamma": 1.0}


@pytest.fixture(scope="module")
def address():
    with in_background(Opened(), Settings(port=0, workers=2, seconds=3.0)) as found:
        yield urlsplit(found)


def call(address, path, body=None, method=None, timeout=30.0, **headers):
    """Status, answer and headers."""
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and not isinstance(body, bytes):
        body, headers = json.dumps(body).encode(), {"Content-Type": JSON, **headers}
    try:
        connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


def test_the_page_and_its_parts_come_with_headers_that_forbid_the_rest(address):
    status, content, headers = call(address, "/")
    assert status == 200
    assert b"lexicone" in content
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for path in STATIC.iterdir():
        status, content, headers = call(address, f"/static/{path.name}")
        assert (status, content) == (200, path.read_bytes())
        assert headers["x-content-type-options"] == "nosniff"
        for outside in (b"https://", b"//cdn", b"eval(", b"innerHTML", b"new Function"):
            assert outside not in content  # without internet, and without code that is text


@pytest.mark.parametrize(
    "path",
    ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static/..%2f_app.py", "/etc/passwd"],
)
def test_no_other_file_is_handed_out(address, path):
    assert call(address, path)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
    ids=str,
)
def test_only_the_page_itself_may_ask(address, headers, status):
    body = json.dumps(COIN).encode()
    found = call(address, "/api/solve", body, **{"Content_Type": JSON, **headers})
    assert found[0] == status


def test_a_name_that_was_pointed_here_sees_not_even_the_page(address):
    assert call(address, "/", Host=f"evil.example:{address.port}")[0] == 421
    assert call(address, "/", Host=f"localhost:{address.port}")[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(address, method):
    assert call(address, "/api/solve", method=method)[0] == 405


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/solve", b"{", 400),
        ("/api/solve", b"[" * 100_000, 400),
        ("/api/solve", b"[]", 400),
        ("/api/solve", b"{}", 400),
        ("/api/__class__", b"{}", 404),
        ("/api/solve", b" " * (MAX_QUESTION + 1), 413),
        ("/api/load", b"no model", 400),
        ("/api/load", b"", 400),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_question_is_refused_in_words(address, path, body, status):
    kind = "application/octet-stream" if path == "/api/load" else JSON
    found, content, _ = call(address, path, body, Content_Type=kind)
    assert found == status
    assert json.loads(content)["error"]


def test_too_large_a_file_is_refused_before_it_is_whole(address):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(10 * MAX_FILE)}
    connection.putrequest("POST", "/api/load")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    try:
        for _ in range(MAX_FILE // 2**20 + 2):
            connection.send(bytes(2**20))
    except OSError:
        pass  # it hung up
    assert connection.getresponse().status == 413
    connection.close()


def test_a_model_is_loaded_and_only_who_has_it_can_name_it(address, tmp_path):
    maze("small", objectives="path").save(tmp_path / "small.npz")
    file = (tmp_path / "small.npz").read_bytes()
    status, content, _ = call(address, "/api/load", file, Content_Type="application/octet-stream")
    found = json.loads(content)
    assert (status, found["states"]) == (200, 9)
    digest = hashlib.sha256(file).hexdigest()
    assert found["file"] == digest
    question = {"source": {"file": digest, "name": "small.npz"}, "thresholds": [-4]}
    assert call(address, "/api/solve", question)[0] == 200
    other = {**question, "source": {"file": "0" * 64}}
    status, content, _ = call(address, "/api/solve", other)
    assert status == 404
    assert "load it again" in json.loads(content)["error"]


def test_a_window_that_asks_much_leaves_a_worker_to_others(address):
    slow = [
        threading.Thread(target=call, args=(address, "/api/solve", LONG), kwargs={"X_Window": "a"})
        for _ in range(2)
    ]
    for thread in slow:
        thread.start()
    time.sleep(0.2)
    begin = time.monotonic()
    assert call(address, "/api/solve", COIN, X_Window="b")[0] == 200
    waited = time.monotonic() - begin
    assert any(thread.is_alive() for thread in slow)
    assert waited < 3
    for thread in slow:
        thread.join(60)


def test_a_question_that_takes_too_long_is_answered_in_time(address):
    begin = time.monotonic()
    status, content, _ = call(address, "/api/solve", LONG)
    assert time.monotonic() - begin < 12
    found = json.loads(content)
    assert status == 503 or found["status"] in ("limit", "optimal")


def test_who_hangs_up_frees_the_worker_and_disturbs_nobody(address):
    with pytest.raises(TimeoutError):
        call(address, "/api/front", LONG, timeout=0.3, X_Window="first")
    begin = time.monotonic()
    status, _, _ = call(address, "/api/solve", COIN, X_Window="second")
    assert status == 200
    assert time.monotonic() - begin < 5


def test_a_server_whose_workers_do_not_start_says_so_and_ends(monkeypatch, capsys):
    async def fail(_):
        raise Refusal("no process", 500)

    monkeypatch.setattr("lexicone.web._pool.Pool._start", fail)
    with (
        pytest.raises(RuntimeError, match="could not be started"),
        in_background(Opened(), Settings(port=0)),
    ):
        pass
    with pytest.raises(OSError, match="could not be started"):
        serve(Opened(), Settings(port=0), print, False)
    assert "http" not in capsys.readouterr().out


def test_a_taken_port_leads_to_another_one(address):
    with in_background(Opened(), Settings(port=address.port, workers=1)) as other:
        assert urlsplit(other).port != address.port


@pytest.mark.parametrize(
    ("host", "names", "expected"),
    [
        ("127.0.0.1", (), {"127.0.0.1", "localhost", "[::1]"}),
        ("192.0.2.7", ("desk",), {"192.0.2.7", "desk"}),
        ("0.0.0.0", ("desk",), {"127.0.0.1", "localhost", "[::1]", "desk"}),
    ],
)
def test_the_names_that_it_answers_to(host, names, expected):
    assert own_names(host, 8421, names) == {f"{name}:8421" for name in expected}
    assert own_names(host, 80, names) == expected | {f"{name}:80" for name in expected}
