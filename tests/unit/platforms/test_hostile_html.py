"""Every place that reads HTML of strangers, against HTML built to be slow: a bound on the processor time of each.

Cited pages and articles are read in a child process with limits of its own: see the tests of `kit.documents`. What
search engines say of pages is cut before it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from kit.models.websearch.engines import _words
from platforms import get_platform
from platforms.markdown import render
from platforms.markup_cost import UnparseableHtml
from services.projector.projections.metadata import title_of
from tests.support.growth import cpu_s
from tests.unit.projector.histories import Page

SIZE: Final = 450_000
"""Units: characters. The most that a request to the gateway holds."""
MAX_CPU_S: Final = 3.0
"""Each takes less than a second on a machine at rest; other tests run beside this one."""


def filled(start: str, unit: str) -> str:
    """As much as fits."""
    return start + unit * ((SIZE - len(start)) // len(unit))


HOSTILE: Final = {
    "options": filled("<select>", "<option>x"),
    "closed options": filled("<select>", "<option></option>"),
    "options without a list": filled("", "<option>x"),
    "options in groups": filled("<select>", "<optgroup><OPTION>x"),
    "options of many lists": filled("", "<select><option>x<option>y</select>"),
    "a shown option": filled("<select><button><selectedcontent></selectedcontent></button>", "<option selected>x"),
    "options beside other elements": filled("<select>" + "<option>x" * 4_000, "<i></i>"),
    "options under the limit": "<select>" + "<option>x" * 4_400,
    "nested": filled("", "<div>"),
    "nested lists": filled("", "<dl>x"),
    "formatting": "".join(f"<b id={n}>" for n in range(900)) + "<p>x" * 100_000,
    "names": "<p " + " ".join(f"{n:x}" for n in range(80_000)) + ">",
    "elements": "".join(f"<x{n:x}></x{n:x}>" for n in range(30_000)),
    "foreign sup": filled("<svg>", "<sup>2</sup>"),
    "marks": filled("a", "\u0301\u0327"),
    "entities": filled("", "&amp;"),
    "tables": filled("<table>", "<tr><td>x"),
    "raw text": filled("<title>", "<a>"),
}


def _extracts(name: str) -> Callable[[str], object]:
    """Gateway (LessWrong), ingest and verifier, each in a thread for what is long."""
    return lambda html: get_platform(name).extract_text(html, "en:1" if name == "WIKIPEDIA" else "1")


def _renders(html: str) -> object:
    """The investigator's input."""
    return render(html, base_url="https://en.wikipedia.org/wiki/A", occurrences=(), site=get_platform("WIKIPEDIA"))


def _titles(html: str) -> object:
    """The projector, on its loop: nothing there may take long, whatever older facts hold."""
    event: Any = Page("1").registered()
    metadata = {"title": "A", "display_title": html}
    return title_of(event.model_copy(update={"sighting": event.sighting.model_copy(update={"metadata": metadata})}))


PLACES: Final[dict[str, Callable[[str], object]]] = {
    **{f"text of {name}": _extracts(name) for name in ("LESSWRONG", "SUBSTACK", "WIKIPEDIA")},
    "Markdown": _renders,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_html_takes_longer_than_its_length_explains(name: str, place: str) -> None:
    def read() -> None:
        with suppress(UnparseableHtml):
            PLACES[place](HOSTILE[name])

    # Once more where it was too long: a core that is shared makes each second of it longer.
    assert cpu_s(read, below_s=MAX_CPU_S) < MAX_CPU_S


@pytest.mark.parametrize("name", HOSTILE)
def test_a_title_takes_no_time_on_the_projectors_loop(name: str) -> None:
    html = HOSTILE[name]
    assert cpu_s(lambda: [_titles(html), _titles(html[:1_000])], tries=1) < 0.2
    assert _titles(html) == "A"


def test_a_long_title_is_not_parsed_however_short_its_words_are() -> None:
    assert _titles("<b></b>" * 10 + "B") == "B"
    assert _titles("<b></b>" * 2_000 + "B") == "A"


def test_what_a_search_engine_says_of_a_page_is_cut_before_it_is_read() -> None:
    assert cpu_s(lambda: _words(HOSTILE["options"]), tries=1) < 0.5
    assert _words("<strong>a</strong> b &amp; c") == "a b & c"


@pytest.mark.parametrize("option", ["<option>x", "<OPTION>x"])
def test_lists_without_end_are_refused(option: str) -> None:
    """A twentieth of a megabyte: read, it would take a third of a second; the time grows with the square."""
    with pytest.raises(UnparseableHtml, match="options in lists"):
        get_platform("SUBSTACK").extract_text("<select>" + option * 5_500, "1")


def test_a_page_with_lists_is_read() -> None:
    countries = "<select>" + "<option>A country</option>" * 250 + "</select>"
    assert get_platform("SUBSTACK").extract_text(countries + "<p>A sentence." * 20_000, "1").endswith("A sentence.")
