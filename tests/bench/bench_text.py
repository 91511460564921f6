"""HTML to text and normalisation, against lxml with the same walk and against splitting at white space alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import lxml.html

from platforms.markup import BLOCKS
from platforms.text import html_to_text, normalize
from platforms.wikipedia_text import article_text
from tests.bench.report import Report, at_least, of_raw
from tests.support.recorded import RECORDED

SECONDS = 1.0
GENERATED = "generated article"
_BLOCKS = frozenset(BLOCKS.split(","))
_NEVER = frozenset(("script", "style", "noscript"))


def bench(folder: Path, report: Report) -> None:
    """Generated pages, and recorded ones where they lie beside the checkout."""
    report.head("text")
    pages = {GENERATED: generated(60)} | recorded()
    for name, html in pages.items():
        size_mb = len(html.encode()) / 1e6
        raw = size_mb / _seconds(lxml_text, html)
        for function, what in ((html_to_text, "html_to_text"), (article_text, "article_text")):
            rate = size_mb / _seconds(function, html)
            target = of_raw(1) if name == GENERATED else at_least(30)
            report.line(f"{what}, {name}, {size_mb:.1f} MB", rate, "MB/s", ratio=rate / raw, target=target)
        report.line("  lxml, the same walk", raw, "MB/s")
        text = _spaced(html)
        size_mb = len(text.encode()) / 1e6
        rate, raw = size_mb / _seconds(normalize, text), size_mb / _seconds(lambda text: " ".join(text.split()), text)
        report.line(f"normalize, {name}, {size_mb:.1f} MB", rate, "MB/s", ratio=rate / raw, target=at_least(20))
        report.line("  split and join only", raw, "MB/s")


def generated(sections: int) -> str:
    """An article as the site's parser writes them: links, notes, a table, a list and pictures in every section."""
    return '<div class="mw-parser-output" lang="en">' + "".join(map(_section, range(sections))) + "</div>"


def recorded() -> dict[str, str]:
    """Recorded pages; none in a stranger's clone."""
    file = RECORDED / "wikipedia_pages.json"
    if not file.exists():
        return {}
    return {case["id"]: case["input"]["parseApiHtml"] for case in json.loads(file.read_text())["cases"]}


def lxml_text(html: str) -> str:
    """What `html_to_text` gives, as far as lxml reads HTML as browsers do."""
    parts: list[str] = []
    _walk(lxml.html.fragment_fromstring(html, create_parent="div"), parts)
    return normalize("".join(parts))


def _walk(element: lxml.html.HtmlElement, parts: list[str]) -> None:
    for child in element:
        kept = isinstance(child.tag, str) and child.tag not in _NEVER
        block = child.tag in _BLOCKS
        if kept:
            parts.append(" " if block else "")
            parts.append(child.text or "")
            _walk(child, parts)
            parts.append(" " if block else "")
        parts.append(child.tail or "")


def _section(number: int) -> str:
    words = " ".join(
        f'<a href="/wiki/Page_{n}" title="Page {n}">word {n}</a> and “quoted” text – caf\u00e9, na\u00efve'
        f'<sup id="cite_ref-{n}" class="reference"><a href="#cite_note-{n}">[{n}]</a></sup>.'
        for n in range(number * 40, number * 40 + 40)
    )
    rows = "".join(f"<tr><th>Row {n}</th><td>{n * 17}</td><td>plain cell text</td></tr>" for n in range(12))
    return (
        f'<div class="mw-heading mw-heading2"><h2 id="Section_{number}">Section {number}</h2>'
        '<span class="mw-editsection">[<a href="/w/index.php">edit</a>]</span></div>'
        f'<figure typeof="mw:File/Thumb"><a href="/wiki/File:{number}.jpg">'
        f'<img src="//upload.example.org/{number}.jpg" width="220" height="160" class="mw-file-element"></a>'
        f"<figcaption>A picture, {number}</figcaption></figure>"
        f'<p>{words}</p><style data-mw-deduplicate="r{number}">.mw-parser-output .x{{margin:0}}</style>'
        f'<table class="wikitable"><tbody>{rows}</tbody></table><ul><li>{words}</li><li>Another item</li></ul>\n'
    )


def _spaced(html: str) -> str:
    return "".join(lxml.html.fragment_fromstring(html, create_parent="div").itertext())


def _seconds(function: Callable[[str], str], argument: str) -> float:
    """CPU time of the quickest of as many calls as fit into a second, at least three."""
    best, calls, until = float("inf"), 0, perf_counter() + SECONDS
    while calls < 3 or perf_counter() < until:
        began = process_time()
        function(argument)
        best, calls = min(best, process_time() - began), calls + 1
    return best
