"""The middlewares for servers, with applications that need no framework."""

import json
import os
import unittest

import support
from profundo.middleware import _asking

#: Work by name, and applications of both kinds that do it.
PROGRAM = """\
import asyncio, json, os, sys, threading, time
import profundo
from profundo.middleware import ASGIMiddleware, WSGIMiddleware


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))


def red(seconds): burn(seconds)
def green(seconds): burn(seconds)
def blue(seconds): burn(seconds)


async def app(scope, receive, send):
    if scope["type"] != "http":
        await send({"type": scope["type"] + ".seen"})
        return
    name = scope["path"].strip("/")
    if name == "raise":
        raise ValueError("on purpose")
    status = 503 if name == "fail" else 200
    for _ in range(20):
        if name in globals():
            globals()[name](0.008)
        await asyncio.sleep(0)
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for part in (b"one ", b"two ", b"three"):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


async def ask(app, path, query="", client=("127.0.0.1", 1), host=b"localhost", kind="http"):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "method": "GET", "path": path, "query_string": query.encode(),
             "client": client, "headers": [(b"host", host)]}
    await app(scope, None, send)
    if kind != "http":
        return sent
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body


def wsgi(environ, start_response):
    name = environ["PATH_INFO"].strip("/")
    if name == "raise":
        raise ValueError("on purpose")
    status = "503 Out" if name == "fail" else "200 OK"
    write = start_response(status, [("Content-Type", "text/plain")])
    write(b"zero ")
    return Parts(name)


class Parts:
    closed = 0

    def __init__(self, name):
        self.parts = iter([b"one ", b"two ", b"three"])
        self.name = name

    def __iter__(self):
        return self

    def __next__(self):
        part = next(self.parts)
        if self.name in globals():
            globals()[self.name](0.05)
        return part

    def close(self):
        Parts.closed += 1


def call(app, path, query="", **more):
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query,
               "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:8000"}
    environ.update(more)
    started, body = [], []

    def start_response(status, headers, exc_info=None):
        started[:] = [status, dict(headers)]
        return body.append

    parts = app(environ, start_response)
    body.extend(parts)
    if hasattr(parts, "close"):
        parts.close()
    return started[0], started[1], b"".join(body)


def shares(document):
    return {row["function"]: row["total_share"] for row in document["functions"]}
"""


class TestAsking(unittest.TestCase):
    """Who may ask, and how."""

    def environ(self, query="profile", address="127.0.0.1", host="localhost", **more):
        return dict(QUERY_STRING=query, REMOTE_ADDR=address, HTTP_HOST=host, **more)

    def scope(self, query=b"profile", address="127.0.0.1", host=b"localhost", *headers):
        return {
            "query_string": query,
            "client": (address, 1),
            "headers": [(b"host", host), *headers],
        }

    def test_a_query_asks(self):
        for query in ("profile", "profile=", "profile=1", "profile=text", "a=b&profile=json&c"):
            self.assertTrue(_asking.environ_asks(self.environ(query)), query)
            self.assertTrue(_asking.scope_asks(self.scope(query.encode())), query)
        for query in ("", "a=profile", "my_profile=1", "profile=alice", "profiles", None):
            self.assertFalse(_asking.environ_asks(self.environ(query)), query)
            self.assertFalse(_asking.scope_asks(self.scope((query or "").encode())), query)

    def test_strangers_get_none(self):
        here = ("127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1")
        away = ("10.0.0.1", "127.0.0.1.example.org", "1270.0.0.1", "", "fe80::1", "testclient")
        for address in here + away:
            is_here = address in here
            self.assertIs(_asking.environ_asks(self.environ(address=address)), is_here, address)
            self.assertIs(_asking.scope_asks(self.scope(address=address)), is_here, address)
        self.assertFalse(_asking.scope_asks({**self.scope(), "client": None}))

    def test_a_name_of_elsewhere_gets_none(self):
        for host in ("localhost", "localhost:8000", "127.0.0.1:80", "[::1]:8000", "app.localhost"):
            self.assertTrue(_asking.environ_asks(self.environ(host=host)), host)
            self.assertTrue(_asking.scope_asks(self.scope(host=host.encode())), host)
        for host in ("example.org", "localhost.example.org", "127.0.0.1.nip.io", "[2001::1]:80"):
            self.assertFalse(_asking.environ_asks(self.environ(host=host)), host)
            self.assertFalse(_asking.scope_asks(self.scope(host=host.encode())), host)

    def test_clients_of_a_proxy_get_none(self):
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via"):
            key = "HTTP_" + name.upper().replace("-", "_")
            self.assertFalse(_asking.environ_asks(self.environ(**{key: "10.1.1.1"})), name)
            header = (name.lower().encode(), b"10.1.1.1")
            self.assertFalse(
                _asking.scope_asks(self.scope(b"profile", "127.0.0.1", b"localhost", header)), name
            )


class TestMiddleware(unittest.TestCase):
    def run_with(self, code, **options):
        """What a program with the applications prints, without anything on the standard error."""
        done = support.python(PROGRAM + code, **options)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_concurrent_requests_of_asgi_are_separate(self):
        said = self.run_with(
            """
async def main():
    wrapped = ASGIMiddleware(app)
    asked = [("/red", "profile=json"), ("/green", "profile=speedscope"), ("/blue", ""),
             ("/green", "profile=json"), ("/red", "profile=speedscope"), ("/blue", "")]
    return await asyncio.gather(*(ask(wrapped, *one) for one in asked))

answers = asyncio.run(main())
for status, headers, body in answers:
    print(status, headers[b"content-type"].decode(), len(body))
for name, answer, other in (("red", answers[0], answers[4]), ("green", answers[3], answers[1])):
    document = json.loads(answer[2])
    # It has worked for 20 times 8 ms.
    assert 0.12 < document["selection"]["seconds"] < 0.22, document["selection"]
    request = document["request"]
    assert request["path"] == "/" + name and request["status"] == 200, request
    assert request["body_bytes"] == len(b"one two three"), request
    frames = {frame["name"] for frame in json.loads(other[2])["shared"]["frames"]}
    assert frames & {"red", "green", "blue"} == {name}, frames
assert answers[2][2] == answers[5][2] == b"one two three"
"""
        )
        self.assertEqual(said.count("200 application/json"), 4)
        self.assertEqual(said.count("200 text/plain 13"), 2)

    def test_forms(self):
        self.run_with(
            """
wrapped = WSGIMiddleware(wsgi)
status, headers, body = call(wrapped, "/red", "profile")
assert status == "200 OK" and headers["Content-Type"] == "text/html; charset=utf-8", headers
assert headers["Content-Length"] == str(len(body)) and headers["Cache-Control"] == "no-store"
assert body.startswith(b"<!doctype html>") and b"<iframe srcdoc=" in body, body[:200]
assert b"GET /red: answered 200, 18 bytes, after" in body, body[:900]
_, headers, body = call(wrapped, "/red", "profile=text")
assert headers["Content-Type"].startswith("text/plain") and b"Hottest lines" in body, body
assert b"sum(range(500))" in body and b"Next:" not in body
_, headers, body = call(wrapped, "/red", "profile=speedscope")
assert any("red" in frame["name"] for frame in json.loads(body)["shared"]["frames"])
assert Parts.closed == 3
# A request that is too short for a sample has an answer, too.
status, _, body = call(wrapped, "/nothing", "profile=text")
assert status == "200 OK", body
status, _, body = call(wrapped, "/nothing", "profile")
assert status == "200 OK" and body.startswith(b"<!doctype html>"), body
"""
        )

    def test_what_does_not_ask_passes_untouched(self):
        self.run_with(
            """
import inspect
wrapped = WSGIMiddleware(wsgi)
environ = {"PATH_INFO": "/", "QUERY_STRING": "", "REMOTE_ADDR": "127.0.0.1"}
assert isinstance(wrapped(environ, lambda *_: lambda _: None), Parts)
assert call(wrapped, "/", "profile", REMOTE_ADDR="10.0.0.1")[2] == b"zero one two three"

wrapped = ASGIMiddleware(app)
for kind in ("lifespan", "websocket"):
    assert asyncio.run(ask(wrapped, "/", "profile", kind=kind)) == [{"type": kind + ".seen"}]
assert asyncio.run(ask(wrapped, "/", "profile", client=("10.0.0.1", 1)))[2] == b"one two three"
with open("/proc/self/maps") as maps:
    assert "libprofundo-agent" not in maps.read()
"""
        )

    def test_failures_pass_untouched(self):
        self.run_with(
            """
for query in ("profile", ""):
    for wrapped in (WSGIMiddleware(wsgi), WSGIMiddleware(wsgi, directory=os.environ["KEPT"])):
        status, headers, body = call(wrapped, "/fail", query)
        assert (status, body) == ("503 Out", b"zero one two three"), (status, body)
        assert headers == {"Content-Type": "text/plain"}, headers
        try:
            call(wrapped, "/raise", query)
        except ValueError as error:
            assert str(error) == "on purpose"
        else:
            raise AssertionError
    for wrapped in (ASGIMiddleware(app), ASGIMiddleware(app, directory=os.environ["KEPT"])):
        status, headers, body = asyncio.run(ask(wrapped, "/fail", query))
        assert (status, body) == (503, b"one two three"), (status, body)
        try:
            asyncio.run(ask(wrapped, "/raise", query))
        except ValueError as error:
            assert str(error) == "on purpose"
        else:
            raise AssertionError
""",
            env={"KEPT": os.path.join(support.folder(), "failures")},
        )

    def test_a_directory_keeps_profiles(self):
        folder = os.path.join(support.folder(), "kept")
        code = """
import os
folder = os.environ["KEPT"]
wrapped = WSGIMiddleware(wsgi, directory=folder, ending=".speedscope.json")
assert call(wrapped, "/red", "profile")[2] == b"zero one two three"
wrapped = ASGIMiddleware(app, directory=folder, when=lambda scope: scope["path"] == "/green")
assert asyncio.run(ask(wrapped, "/green"))[2] == b"one two three"
assert asyncio.run(ask(wrapped, "/blue", "profile"))[2] == b"one two three"
"""
        self.run_with(code, env={"KEPT": folder})
        names = sorted(os.listdir(folder), key=lambda name: "green" in name)
        self.assertEqual(len(names), 2, names)
        self.assertRegex(names[0], r"^\d{8}-\d{6}-GET-red-\d+ms-\w+\.speedscope\.json$")
        self.assertRegex(names[1], r"^\d{8}-\d{6}-GET-green-\d+ms-\w+\.html$")
        with open(os.path.join(folder, names[0])) as file:
            self.assertIn("red", [frame["name"] for frame in json.load(file)["shared"]["frames"]])
        self.assertEqual(os.stat(os.path.join(folder, names[1])).st_mode & 0o777, 0o600)

    def test_off(self):
        self.run_with(
            """
assert call(WSGIMiddleware(wsgi), "/red", "profile")[2] == b"zero one two three"
assert asyncio.run(ask(ASGIMiddleware(app), "/red", "profile"))[2] == b"one two three"
""",
            env={"PROFUNDO": "0"},
        )

    def test_wrong_options_are_said_at_once(self):
        self.run_with(
            """
for options in ({"memori": True}, {"rate": -1}, {"ending": "html"}):
    for kind in (WSGIMiddleware, ASGIMiddleware):
        try:
            kind(wsgi, **options)
        except (TypeError, ValueError):
            pass
        else:
            raise AssertionError(options)
"""
        )

    def test_where_nothing_can_be_recorded_the_answer_says_why(self):
        self.run_with(
            """
status, headers, body = call(WSGIMiddleware(wsgi), "/red", "profile")
assert status.startswith("500") and b"There is no profile of this request: " in body, body
assert b"/nowhere/profundo" in body, body
""",
            env={"PROFUNDO_BINARY": "/nowhere/profundo"},
        )


if __name__ == "__main__":
    unittest.main()
