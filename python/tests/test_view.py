"""The page of the command: as a cell of a notebook, as a file, and in the browser."""

import json
import os
import signal
import time
import unittest
import urllib.error
import urllib.request
from html.parser import HTMLParser
from unittest import mock

import profundo
import support
from profundo import _framed
from profundo._view import View


class Frame(HTMLParser):
    """The attributes of the first tag."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def server_of(url):
    """The process that serves an address, by the entry that it has left."""
    folder = os.path.join(os.environ["XDG_RUNTIME_DIR"], "profundo")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            if url in file.read():
                return int(name.split(".")[0])
    raise AssertionError(f"no server of {url}")


class TestView(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = support.recording()
        cls.profile = profundo.load(cls.path)

    def test_a_cell_has_a_page_that_loads_nothing(self):
        text = View([self.path])._repr_mimebundle_()["text/html"]
        self.assertLessEqual(len(text.encode()), _framed.LIMIT)
        (tag, frame), *others = Frame(text).tags
        self.assertEqual([name for name, _ in others], ["style", "div", "p", "pre"])
        self.assertEqual(tag, "iframe")
        self.assertEqual(frame["sandbox"], "allow-scripts")
        self.assertTrue(frame["srcdoc"].startswith("<!doctype html>"))
        self.assertIn("connect-src 'none'", frame["srcdoc"])

    def test_a_notebook_opens_no_browser(self):
        with mock.patch.dict("sys.modules", ipykernel=mock.Mock()):
            view = self.profile.view()
        self.assertIsNone(view.url)

    def test_a_page_is_saved(self):
        path = os.path.join(support.folder(), "page.html")
        view = View([self.path])
        view.save(path)
        view.save(path, max_page_size="1M")
        with open(path, encoding="utf-8") as file:
            self.assertIn('content="profundo"', file.read())
        with self.assertRaisesRegex(profundo.Error, "permitted"):
            view.save(path, max_page_size="1K")

    def test_a_page_is_served(self):
        runtime = os.path.join(support.folder(), "runtime")
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": runtime}):
            for name in "DISPLAY", "WAYLAND_DISPLAY", "BROWSER":
                os.environ.pop(name, None)
            view = self.profile.view()
            pid = server_of(view.url)
            try:
                with urllib.request.urlopen(view.url) as answer:
                    self.assertIn(b"<!doctype html>", answer.read())
                # Another page of the same recording has the same server.
                self.assertEqual(View([self.path]).open(), view.url)
            finally:
                os.kill(pid, signal.SIGINT)
            deadline = time.monotonic() + 30
            while os.listdir(os.path.join(runtime, "profundo")):
                self.assertLess(time.monotonic(), deadline, "the server goes on")
                time.sleep(0.05)
        with self.assertRaises(urllib.error.URLError):
            urllib.request.urlopen(view.url)

    def test_what_cannot_be_opened_is_said(self):
        with self.assertRaisesRegex(profundo.Error, "there is no recording"):
            View(["nothing.profundo"]).open()

    def test_two_are_compared(self):
        text = profundo.diff(self.path, self.path)
        with mock.patch.dict("sys.modules", ipykernel=mock.Mock()):
            shown = text.view()._repr_mimebundle_()["text/html"]
        self.assertIn("srcdoc", shown)

    def test_two_sets_of_runs_are_compared(self):
        other = support.recording("after", heavy=1500000)
        runtime = os.path.join(support.folder(), "runtime")
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        diff = profundo.diff([self.path, self.path], [other])
        with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": runtime}):
            for name in "DISPLAY", "WAYLAND_DISPLAY", "BROWSER":
                os.environ.pop(name, None)
            view = diff.view()
            pid = server_of(view.url)
            try:
                with urllib.request.urlopen(view.url + "api/about") as answer:
                    about = json.load(answer)
            finally:
                os.kill(pid, signal.SIGINT)
        paths = [os.path.basename(recording["path"]) for recording in about["recordings"]]
        self.assertEqual(about["before"], 2)
        self.assertEqual(paths, [os.path.basename(path) for path in (self.path, self.path, other)])


if __name__ == "__main__":
    unittest.main()
