"""What strangers write, on their pages or through a model, costs what its length costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyses import opinion
from analyses.anchoring import anchor
from analyses.blocks import make_markers
from analyses.diff import diff
from analyses.gates import judge
from analyses.snippets import MAX_PARTS, find, page_text
from contracts.v1.parts import ClaimPayload, Source
from tests.support.growth import assert_linear, cpu_s
from tests.unit.analyses.gates.cases import case, page

PAGE = Source(url="https://example.org", title="t", snippet="s")
MARKS = "\u0301\u0327"


def claim(text: str) -> ClaimPayload:
    return ClaimPayload(text=text, context=text, summary="s", reasoning="r", sources=(PAGE,))


WORK: dict[str, tuple[Callable[[str], object], Callable[[int], str], int]] = {
    "marks on a page": (page_text, lambda n: "a" + MARKS * n, 5_000),
    "marks in a quotation": (lambda quote: find(quote, page_text("a page")), lambda n: "abcd" + MARKS * n, 5_000),
    "marks in a claim": (lambda text: anchor(claim(text), "a post"), lambda n: "abcd" + MARKS * n, 5_000),
    "marks in a message": (lambda text: make_markers("POST", text), lambda n: "a" + MARKS * n, 5_000),
    "letters that become marks": (
        lambda text: make_markers("POST", text), lambda n: "a" + "\u0301" * n + "\uff9e" * n, 5_000
    ),
    "brackets in a claim": (lambda text: anchor(claim(text), "a post"), lambda n: "[" + "[a]" * n, 500),
    "blanks in an opinion": (lambda answer: opinion.read(answer, ()), lambda n: "yes" + " " * n + "x", 60),
    "blanks in a source's words": (
        lambda snippet: judge(case(pages=(page(0, snippet), page(1)))), lambda n: f"300 m{' ' * n}high", 2_000
    ),
    "links without end in a claim": (
        lambda text: anchor(claim(text), "a post"), lambda n: "[a](b" * n + " " * n, 500
    ),
    "a long sentence instead of many": (
        lambda text: diff(text.replace(" ", ". "), text), lambda n: " ".join(map(str, range(n))), 2_000
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_the_cost_grows_with_the_length_alone(name: str) -> None:
    work, make, size = WORK[name]
    assert_linear(work, make, size)


def test_a_quotation_in_a_thousand_pieces_is_none() -> None:
    """Each piece may stand at ten thousand places."""
    page = page_text("abcd " * 20_000)
    assert cpu_s(lambda: find(" ... ".join(["abcd"] * 1_000), page), below_s=1) < 1
    assert find(" ... ".join(["abcd"] * MAX_PARTS), page) is not None
    assert find(" ... ".join(["abcd"] * (MAX_PARTS + 1)), page) is None


def test_many_common_pieces_of_a_quotation_cost_no_more_than_few() -> None:
    """Each stands everywhere on the page, and the last only before the others."""
    page = page_text("absent words " + "abcd " * 20_000)
    few, many = (" ... ".join([*["abcd"] * count, "absent words"]) for count in (1, MAX_PARTS - 1))
    assert find(few, page) is find(many, page) is None
    assert cpu_s(lambda: find(many, page)) < 4 * cpu_s(lambda: find(few, page))
