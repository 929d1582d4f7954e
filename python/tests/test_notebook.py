"""What a notebook shows fits into it, and can do no harm there."""

import base64
import gzip
import html
import re
import unittest
from html.parser import HTMLParser
from unittest import mock

import profundo
import support
from profundo import _page


class Frame(HTMLParser):
    """The attributes of the first `iframe`."""

    def __init__(self, text):
        super().__init__()
        self.found = None
        self.others = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "iframe" and self.found is None:
            self.found = dict(attributes)
        else:
            self.others.append(tag)


def page(bundle):
    frame = Frame(bundle["text/html"])
    assert not frame.others, frame.others
    return frame.found


def picture(inner):
    packed = re.search(r"id=packed>([^<]*)<", inner).group(1)
    return gzip.decompress(base64.b64decode(packed)).decode()


class TestNotebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = profundo.load(support.recording())

    def test_a_text_and_a_page(self):
        bundle = self.profile._repr_mimebundle_()
        self.assertEqual(sorted(bundle), ["text/html", "text/plain"])
        self.assertEqual(bundle["text/plain"], self.profile.report(width=120))
        self.assertLess(len(bundle["text/html"].encode()), 900000)

    def test_the_frame_loads_nothing(self):
        frame = page(self.profile._repr_mimebundle_())
        self.assertEqual(frame["sandbox"], "allow-scripts")
        self.assertNotIn("src", frame)
        inner = frame["srcdoc"]
        self.assertIn("default-src 'none'", inner)
        self.assertIn("prefers-color-scheme:dark", inner)
        for forbidden in ("http://", "https://", "localhost", "file:"):
            self.assertNotIn(forbidden, re.sub(r"id=packed>[^<]*<", "", inner))

    def test_the_picture_and_the_lines_are_in_it(self):
        inner = page(self.profile._repr_mimebundle_())["srcdoc"]
        self.assertTrue(picture(inner).rstrip().endswith("</svg>"))
        self.assertIn("program.py:7", inner)
        self.assertIn(html.escape('# "&<b>"'), inner)
        self.assertNotIn("<b>", inner)

    def test_what_is_too_large_is_cut_and_said(self):
        full = len(self.profile._repr_mimebundle_()["text/html"])
        # Redrawing leaves a little out at a time.
        with mock.patch.object(_page, "LIMIT", full - 50), mock.patch.object(
            _page, "_LEFT_OUT", (5, 60)
        ):
            text = self.profile._repr_mimebundle_()["text/html"]
        self.assertLess(len(text), full)
        self.assertIn("Boxes narrower than", text)
        with mock.patch.object(_page, "LIMIT", 10):
            text = self.profile._repr_mimebundle_()["text/html"]
        self.assertIn("too large for a notebook", text)
        self.assertNotIn("id=packed", text)

    def test_a_recording_without_stacks_has_its_lines(self):
        counted = profundo.load(support.recording("lines", verb=("trace", "--lines")))
        inner = page(counted._repr_mimebundle_())["srcdoc"]
        self.assertIn("1,500,000", inner)
        self.assertNotIn("id=packed", inner)

    def test_pictures(self):
        for drawn in (self.profile.flame(), self.profile.heatmap(), self.profile.graph()):
            self.assertIn("<svg", drawn.svg)
            bundle = drawn._repr_mimebundle_()
            self.assertEqual(picture(page(bundle)["srcdoc"]), drawn.svg)
            self.assertIn(drawn.title, bundle["text/plain"])


if __name__ == "__main__":
    unittest.main()
