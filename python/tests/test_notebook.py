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
from profundo import _framed, _picture
from profundo._view import View


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
    # Beside the frame there is what a notebook shows that is not trusted, and the style that hides it.
    assert frame.others == ["style", "div", "p", "pre"], frame.others
    return frame.found


def picture(inner):
    packed = re.search(r"id=packed>([^<]*)<", inner).group(1)
    return gzip.decompress(base64.b64decode(packed)).decode()


def hits_in(found):
    """All hits of lines in answers."""
    if isinstance(found, dict):
        own = [found["hits"]] if isinstance(found.get("hits"), int) else []
        return own + [hits for one in found.values() for hits in hits_in(one)]
    return [hits for one in found for hits in hits_in(one)] if isinstance(found, list) else []


class TestNotebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = profundo.load(support.recording())

    def test_a_text_and_a_page(self):
        bundle = self.profile._repr_mimebundle_()
        self.assertEqual(sorted(bundle), ["text/html", "text/plain"])
        self.assertEqual(bundle["text/plain"], self.profile.report(width=120))
        self.assertLess(len(bundle["text/html"].encode()), _framed.LIMIT)

    def test_the_text_stands_beside_the_page_for_notebooks_that_are_not_trusted(self):
        bundle = self.profile._repr_mimebundle_()
        # As sanitizers do: no frame, no style.
        kept = re.sub(r"<(iframe|style)\b.*?</\1>", "", bundle["text/html"], flags=re.DOTALL)
        self.assertEqual(
            html.unescape(re.search(r"<pre>(.*)</pre>", kept, re.DOTALL).group(1)),
            bundle["text/plain"],
        )
        self.assertIn("Trust Notebook", kept)
        hidden = re.search(r"<style>(.*?)</style>", bundle["text/html"]).group(1)
        self.assertIn(".profundo-text{display:none}", hidden)

    def test_names_in_the_text_are_no_html(self):
        kept = _framed.framed("", 100, "<script>alert(1)</script> & </pre>")
        self.assertNotIn("<script", kept)
        self.assertEqual(kept.count("</pre>"), 1)

    def test_the_frame_loads_nothing(self):
        for bundle in (self.profile._repr_mimebundle_(), self.profile.flame()._repr_mimebundle_()):
            frame = page(bundle)
            self.assertEqual(frame["sandbox"], "allow-scripts")
            self.assertNotIn("src", frame)
            inner = frame["srcdoc"]
            self.assertIn("default-src 'none'", inner)
            self.assertNotRegex(inner, r"connect-src (?!'none')")
            for forbidden in ('src="', "src='", "localhost", "file://"):
                self.assertNotIn(forbidden, re.sub(r"id=packed>[^<]*<", "", inner))

    def test_the_page_is_that_of_the_command(self):
        answers = support.carried(self.profile._repr_mimebundle_()["text/html"])
        lines = next(answers[name] for name in answers if "what=lines" in name)
        files = {row["file"].rsplit("/", 1)[-1]: row for row in lines["files"]}
        hot = {line["line"]: line for line in files["program.py"]["lines"]}
        self.assertIn('# "&<b>"', hot[7]["text"])
        ours = {line.line: line.self_share for line in self.profile.lines}
        self.assertEqual(hot[7]["self_share"], ours[7])

    def test_a_part_has_a_page_of_its_own(self):
        part = self.profile.select(focus="light")
        answers = support.carried(part._repr_mimebundle_()["text/html"])
        summary = next(answers[name] for name in answers if "what=summary" in name)
        self.assertEqual(summary["selection"]["samples"], part._head()["selection"]["samples"])
        self.assertLess(summary["selection"]["samples"], self.profile.quality.samples)

    def test_its_name_and_its_place_are_data(self):
        view = View([self.profile.path], None, 'In [1] "<b>', "source?file=a&total=1")
        inner = page(view._repr_mimebundle_())["srcdoc"]
        self.assertIn('name="profundo-title" content="In [1] &quot;&lt;b&gt;"', inner)
        self.assertIn('name="profundo-place" content="source?file=a&amp;total=1"', inner)

    def test_a_picture_that_is_too_large_is_cut_and_said(self):
        full = len(self.profile.flame()._repr_mimebundle_()["text/html"])
        # Redrawing leaves a little out at a time.
        with mock.patch.object(_framed, "LIMIT", full - 50), mock.patch.object(
            _picture, "_LEFT_OUT", (5, 60)
        ):
            text = self.profile.flame()._repr_mimebundle_()["text/html"]
        self.assertLess(len(text), full)
        self.assertIn("Boxes narrower than", text)
        with mock.patch.object(_framed, "LIMIT", 10):
            text = self.profile.flame()._repr_mimebundle_()["text/html"]
        self.assertIn("too large for a notebook", text)
        self.assertNotIn("id=packed", text)

    def test_a_recording_without_stacks_has_its_lines(self):
        counted = profundo.load(support.recording("lines", verb=("trace", "--lines")))
        answers = support.carried(counted._repr_mimebundle_()["text/html"])
        self.assertIn(1_500_000, hits_in(answers))

    def test_pictures(self):
        for drawn in (self.profile.flame(), self.profile.heatmap(), self.profile.graph()):
            self.assertIn("<svg", drawn.svg)
            bundle = drawn._repr_mimebundle_()
            self.assertEqual(picture(page(bundle)["srcdoc"]), drawn.svg)
            self.assertIn(drawn.title, bundle["text/plain"])


if __name__ == "__main__":
    unittest.main()
