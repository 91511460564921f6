"""The words of a document: all that is visible, nothing that is not, and a clear no where there are none."""

from __future__ import annotations

import json
import signal
import sys
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.documents.decoding import MAX_CHARACTERS, Interrupted, Unreadable, detect_kind
from kit.documents.readable import Readable, read_document
from kit.documents.reading import Reader
from tests.support.pdf_files import pdf

PAGE = b"""<!doctype html><html><head><title> A  page </title><style>p {color: red}</style></head>
<body><nav>Home</nav><h1>On   bats</h1><p>Bats <b>can</b>&nbsp;see &amp; hear.</p>And<br>more<!-- no -->
<ul><li>one<li>two</ul><script>alert(1)</script><table><tr><td>a</td><td>b</td></tr></table><noscript>off</noscript>
<div><div><p>deep</p></div>tail</div></body></html>"""


def test_a_page_is_its_visible_words_in_order_a_line_for_each_block() -> None:
    found = read_document(PAGE, "text/html; charset=utf-8")
    assert found == Readable("A page", "Home\nOn bats\nBats can see & hear.\nAnd\nmore\none\ntwo\na\nb\ndeep\ntail")


HEAD = """<!doctype html><html><head><title>Bats</title>
<meta property="article:published_time" content="2020-01-01"><link rel="canonical" href="https://bats.example/1">
%s</head><body><nav>Home</nav><article><h1>Bats</h1><p>They see.</p></article></body></html>"""
LINKED = (
    '<script type="application/ld+json">{"@graph": [{"@type": "WebSite", "name": "x"}, {"@type": "NewsArticle", '
    '"datePublished": ["2026-11-15T08:00:00Z \\ud800"]}]}</script>'
)


@pytest.mark.parametrize(
    ("linked", "published"),
    [
        ("", "2020-01-01"),
        (LINKED, "2026-11-15T08:00:00Z \ufffd"),
        ('<script type="application/ld+json">{"datePublished": [</script>', "2020-01-01"),
        ('<script type="application/ld+json">["datePublished", 1, null]</script>', "2020-01-01"),
        ('<script type="application/ld+json">{"datePublished": {}}</script>', "2020-01-01"),
    ],
)
def test_what_a_page_says_of_itself_stands_beside_all_of_its_text(linked: str, published: str) -> None:
    found = read_document((HEAD % linked).encode(), "text/html")
    assert found == Readable("Bats", "Home\nBats\nThey see.", published, "https://bats.example/1")


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        ("caf\u00e9".encode(), "text/plain", "caf\u00e9"),
        ("caf\u00e9".encode("latin-1"), "text/plain", "caf\u00e9"),
        ("caf\u00e9".encode("latin-1"), "text/plain; charset=ISO-8859-1", "caf\u00e9"),
        ("\u65e5\u672c".encode("shift_jis"), 'text/plain; charset="Shift_JIS"', "\u65e5\u672c"),
        ("\u65e5\u672c".encode("utf-16"), "text/plain", "\u65e5\u672c"),
        ("\ufeffhello".encode(), "text/plain", "hello"),
        (b"caf\xc3\xa9", "text/plain; charset=no-such", "caf\u00e9"),
        (b"caf\xc3\xa9", "text/plain; charset=base64", "caf\u00e9"),
        (b"a-b", "text/plain; charset=punycode", "a-b"),
        ("caf\u00e9 \u201cq\u201d".encode("cp1252"), "text/plain; charset=latin1", "caf\u00e9 \u201cq\u201d"),
        ("caf\u00e9 \u201cq\u201d".encode("cp1252"), "text/plain; charset=UTF-8", "caf\u00e9 \u201cq\u201d"),
        ("caf\u00e9".encode(), "text/plain; charset=ISO-8859-1", "caf\u00e9"),
        ("\u2014caf\u00e9".encode() + b"\xff", "text/plain; charset=utf-8", "\u2014caf\u00e9\ufffd"),
        ("\u9555\u57fa".encode("gbk"), "text/plain; charset=gb2312", "\u9555\u57fa"),
        ("\u65e5\u672c".encode("cp932"), "text/plain; charset=x-sjis", "\u65e5\u672c"),
        ("\u65e5\u672c".encode("cp932"), "text/plain; charset=Windows-31J", "\u65e5\u672c"),
        ("\u0e44\u0e17\u0e22".encode("cp874"), "text/plain; charset=windows-874", "\u0e44\u0e17\u0e22"),
        ("\u05e9\u05dd".encode("iso8859-8"), "text/plain; charset=iso-8859-8-i", "\u05e9\u05dd"),
        (b"<meta charset='windows-1251'><p>\xcf\xf0\xe8", "text/html", "\u041f\u0440\u0438"),
        (b"<meta charset='utf-16'><p>words", "text/html", "words"),
        (b"<?xml version='1.0' encoding='KOI8-R'?><p>\xf0\xd2\xc9", "text/html", "\u041f\u0440\u0438"),
        (b"<?xml version='1.0' encoding='utf-16'?><p>words", "text/html", "words"),
        (b"a\0b \t c\r\n\r\n d", "text/plain", "ab c\nd"),
        (b"<rss><title>News</title></rss>", "application/rss+xml", "<rss><title>News</title></rss>"),
        (b"", "text/html", ""),
    ],
)
def test_letters_are_read_as_their_sender_wrote_them(data: bytes, content_type: str, text: str) -> None:
    assert read_document(data, content_type).text == text


def test_json_is_written_out() -> None:
    assert read_document(b'{"b":[1,"\\u00e9"]}', "application/json").text == '{\n  "b": [\n    1,\n    "\u00e9"\n  ]\n}'
    assert read_document(b'{"b":', "application/ld+json").text == '{"b":'
    assert read_document(b"[" * 100_000, "application/json").text == "[" * 100_000
    assert read_document(b"9" * 10_000, "application/json").text == "9" * 10_000
    assert read_document(b'"\\ud800"', "application/json").text == '"\ufffd"'


def test_a_pdf_is_the_words_on_its_pages() -> None:
    assert read_document(pdf("Bats can see.", "They hear too.", title="On bats"), "application/pdf") == Readable(
        "On bats", "Bats can see.\nThey hear too."
    )
    assert read_document(pdf("Bats."), "text/html").text == "Bats.", "whatever it is called"


def test_the_glyphs_of_a_pdf_are_read_as_the_letters_that_were_written() -> None:
    """Neither a claim nor a quotation is found among ligatures, or among Arabic letters in the forms of glyphs."""
    drawn = pdf(r"O\001cers first.", r"\002\003", glyphs="/uniFB03 /uniFE90 /uniFEDF")  # from left to right
    assert read_document(drawn, "application/pdf").text == "Officers first.\n\u0644\u0628"


@pytest.mark.parametrize(
    ("data", "content_type", "said"),
    [
        (pdf(""), "application/pdf", "no text"),
        (pdf("Bats.")[:200], "application/pdf", "cannot be read"),
        (b"\x89PNG\r\n", "image/png", "image/png"),
        (b"PK\x03\x04\0\0", None, "octet-stream"),
        (b"<svg><text>x</text></svg>", "image/svg+xml", "svg"),
    ],
)
def test_what_has_no_words_is_unreadable(data: bytes, content_type: str | None, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        read_document(data, content_type)


@pytest.mark.parametrize(
    ("data", "content_type", "expected"),
    [
        (b"  <!-- x --> <!DOCTYPE html>", None, "html"),
        (b"<html>", "application/octet-stream", "html"),
        (b"just words", "", "plain"),
        (b"x", "TEXT/HTML ; charset=x", "html"),
        (b"x", "application/xhtml+xml", "html"),
        (b"x", "application/problem+json", "json"),
        (b"junk\n%PDF-1.7", "application/octet-stream", "pdf"),
        (b"<!-- x --><html><title>What %PDF-1.7 means</title>", "text/html", "html"),
        (b"<!doctype html><title>What %PDF-1.7 means</title>", None, "html"),
        (b"x", "video/mp4", "video/mp4"),
        (b"x", "text/html, text/html", "html"),
        (b"x", "text/html charset=utf-8", "html"),
        (b"x", "application/pdf, text/html", "pdf"),
        (b"<html>", "unclear", "html"),
        (b"<html>", "*/*", "html"),
        (b"<?xml version='1.0'?>\n<!-- x --><!DOCTYPE html>", None, "html"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "text/xml", "html"),
        (b"\xef\xbb\xbf<!doctype html>", None, "html"),
        ("\ufeff<html>".encode("utf-16-le"), None, "html"),
        ("\ufeffjust words".encode("utf-16-be"), "application/octet-stream", "plain"),
        ("\ufeff<html>".encode("utf-16-le"), "text/plain", "plain"),
        (b"<?xml version='1.0'?><rss>", None, "xml"),
        (b"<feed>", "application/atom+xml; charset=utf-8", "xml"),
        (b"<svg>", "application/xml", "xml"),
        (b"<?xml version='1.0'?><math>", "text/plain", "plain"),
    ],
)
def test_kinds(data: bytes, content_type: str | None, expected: str) -> None:
    assert detect_kind(data, content_type) == expected


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("rose by <del>5</del><ins>6</ins> percent", "rose by 6 percent"),
        ("Taxes fell. <s>It is <b>4</b> percent.</s>", "Taxes fell."),
        ('rose by 5<sup><a href="#n3">3</a></sup> percent', "rose by 5 percent"),
        ('rose by 5<a href="/a#n3"><sup>3, 4</sup></a> percent', "rose by 5 percent"),
        ('fell.<sup><a href="#n3">[3]</a></sup> So', "fell.[3] So"),
        ("10<sup>6</sup> or <b>10</b><sup>\u22126</sup> m<sup>2</sup>", "10^6 or 10^\u22126 m2"),
        ('on the 20<sup>th</sup>, H<sub>2</sub>O, <sup><a href="/x">5</a></sup>', "on the 20th, H2O, 5"),
        ("<p>In 1931</p><sup>2</sup>", "In 1931\n2"),
        ("<ruby>\u6771\u4eac<rp>(</rp><rt>\u3068\u3046</rt><rp>)</rp></ruby>\u306f", "\u6771\u4eac\u306f"),
    ],
)
def test_numbers_and_words_are_those_that_the_page_stands_by(written: str, read: str) -> None:
    assert read_document(f"<!doctype html><body><div>{written}</div>".encode(), "text/html").text == read


def test_long_documents_are_cut() -> None:
    deep = b"[" * 500 + b"[]," * 100_000 + b"[]" + b"]" * 500
    assert len(read_document(deep, "application/json").text) == MAX_CHARACTERS
    assert len(read_document(b"a " * MAX_CHARACTERS, "text/plain").text) <= MAX_CHARACTERS


pieces = st.lists(
    st.sampled_from(
        [b"<p>", b"</p>", b"<table>", b"<td", b">", b"<script>", b"</script>", b"text ", b"<!--", b"-->", b"\0",
         b"\xff", b"<title>", b"</body>", b"<svg>", b"&#xD800;", b"<br/>", b"<template>", b"%PDF-", b"{", b'"']
    )
).map(b"".join)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(pieces, st.sampled_from(["text/html", "text/plain", "application/json", "application/pdf", None]))
def test_any_bytes_are_read_or_refused(data: bytes, content_type: str | None) -> None:
    try:
        found = read_document(data, content_type)
    except Unreadable:
        return
    found.text.encode()
    assert "\0" not in found.text
    assert "\0" not in (found.title or "")


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (PAGE, "text/html"),
        (pdf("Bats."), "application/pdf"),
        (b"words", "text/plain"),
        (b"x" * 2_000_000, "text/plain"),
    ],
)
async def test_apart_and_here_read_the_same(data: bytes, content_type: str) -> None:
    assert await Reader(within_s=60).read(data, content_type) == read_document(data, content_type)


async def test_what_is_unreadable_is_so_apart() -> None:
    with pytest.raises(Unreadable, match="no text"):
        await Reader(within_s=60).read(pdf(""), "application/pdf")


async def test_reading_ends_when_its_time_is_over() -> None:
    began = monotonic()
    with pytest.raises(Unreadable, match="longer than"):
        await Reader(within_s=0.3, command=(sys.executable, "-c", "while True: pass")).read(b"<p>x", "text/html")
    assert monotonic() - began < 20


async def test_a_child_that_dies_is_no_answer() -> None:
    with pytest.raises(Unreadable, match="time or memory"):
        await Reader(within_s=60, command=(sys.executable, "-c", "raise MemoryError")).read(b"<p>x", "text/html")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_child_that_others_end_says_nothing_of_the_document(number: signal.Signals) -> None:
    command = (sys.executable, "-c", f"import os; os.kill(os.getpid(), {number})")
    with pytest.raises(Interrupted):
        await Reader(within_s=60, command=command).read(b"<p>x", "text/html")


async def test_the_child_is_told_nothing_of_us() -> None:
    say = "print(json.dumps({'title': None, 'text': json.dumps(dict(os.environ))}))"
    tell = f"import json, os, sys; sys.stdin.read(); {say}"
    found = await Reader(within_s=60, command=(sys.executable, "-I", "-c", tell)).read(b"<p>x", "text/html")
    assert set(json.loads(found.text)) <= {"LC_CTYPE"}
