"""What decides without a model never decides otherwise under the same version, so a replay can say why it differs."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import JsonValue

from analyses import FLAGGING
from analyses.flagging import Earlier, FlaggingKind, Material, Rejection
from analyses.kinds import InvalidSubmission
from analyses.research import parse_author_history, parse_fetch_url
from analyses.snippets import find, is_too_short, page_text
from contracts.v1.parts import ClaimPayload, PublishedClaim, Source

RELEASED: dict[str, str] = json.loads((Path(__file__).parent / "released_rules.json").read_text("utf-8"))
TEXT = (
    "Mount Everest was first climbed in 1963. Some say so. The wall is 3,000 km long \u2014 \u201cquite long\u201d. "
    "Some say so. Bats don\u2019t see. Water boils at 100 \u00b0C; ice melts at 0 \u00b0C."
)
PAGE = page_text(
    "A page about bats. Bats can see: all species do, and some see very well. In 1953 two people reached the top. "
    "The wall is 21,196 km long. It\u2019s \u201cwell known\u201d that wa\u00adter boils."
)
GOOD: dict[str, JsonValue] = {
    "text": "Mount Everest was first climbed in 1963.",
    "context": "Mount Everest was first climbed in 1963. Some say so.",
    "summary": "It was 1953.",
    "reasoning": "Two people reached the top ten years before.",
    "sources": [{"url": "https://e.org/a", "title": "A", "snippet": "In 1953 two people reached the top."}],
}
SUBMITTED: tuple[dict[str, JsonValue], ...] = (
    GOOD,
    GOOD | {"text": "Mount Everest was first climbed in 1964."},
    GOOD | {"text": "  Some say so.  ", "context": "The wall is 3,000 km long. Some say so."},
    GOOD | {"text": "Some say so.", "context": "Some say so. Bats don't see."},
    GOOD | {"text": "Some say so.", "context": "Some say so."},
    GOOD | {"text": "Bats don't see.", "context": "Some say so. Bats don't see. Water boils"},
    GOOD | {"text": '**The wall** is 3,000 km long - "quite long".', "context": "The wall is 3,000 km long"},
    GOOD | {"text": ""},
    GOOD | {"text": "a\x00b"},
    GOOD | {"text": "x" * 4_001},
    GOOD | {"sources": []},
    GOOD | {"sources": [{"url": "ftp://e.org", "title": "A", "snippet": "In 1953 two people reached the top."}]},
    GOOD | {"sources": [{"url": "https://e.org", "title": "A", "snippet": "1953"}]},
    GOOD | {"sources": [{"url": "https://e.org", "title": "A", "snippet": "Two words ... here"}]},
    GOOD | {"more": 1},
    {"text": "Bats don't see."},
)
SNIPPETS = (
    "Bats can see: all species do",
    "bats  can see - all species do",
    "Bats can see ... some see very well",
    "some see very well ... Bats can see",
    "In 1954 two people reached the top.",
    "The wall is 21196 km long",
    "The wall is 1,196 km long",
    'It\'s "well known" that water boils',
    "Bats",
    "",
)
LOOKUPS = ("{}", "{", '{"url": "https://e.org"}', '{"url": "file:///etc"}', '{"limit": 3}', '{"limit": 0}', "[]")
OLD = UUID(int=7)


def decided(each: FlaggingKind) -> str:
    """The hash of what is decided about all of these."""
    old = (PublishedClaim(claim_id=OLD, payload=_claim("Mount Everest was first climbed in 1963.")),)
    calls = (*map(json.dumps, SUBMITTED), json.dumps({"id": str(OLD)}), '{"id": "7"}', "{", "null")
    names = ("submit_correction", "retain_correction", "fetch_url", "no_such")
    said: list[object] = [_decision(each, name, arguments, old) for name, arguments in product(names, calls)]
    said += [
        _kept(each, text)
        for text in ("Mount Everest was first climbed in 1963.", "Some say so.", "No.", "limbed in 1963.")
    ]
    said += [(find(snippet, PAGE), is_too_short(snippet)) for snippet in SNIPPETS]
    for read in (parse_fetch_url, parse_author_history):
        for arguments in LOOKUPS:
            try:
                said.append(read(arguments))
            except InvalidSubmission as error:
                said.append(str(error))
    return sha256(repr(said).encode()).hexdigest()


def _claim(text: str) -> ClaimPayload:
    source = Source(url="https://e.org", title="A", snippet="In 1953 two people reached the top.")
    return ClaimPayload(text=text, context=text, summary="No.", reasoning="No.", sources=(source,))


def _decision(each: FlaggingKind, name: str, arguments: str, old: tuple[PublishedClaim, ...]) -> object:
    try:
        taken = each.update.decide(name, arguments, Material("X", "u", TEXT, earlier=Earlier(old, "")))
    except InvalidSubmission as error:
        return str(error)
    if isinstance(taken, UUID):
        return taken
    anchored = each.anchor(taken, TEXT)
    return anchored, each.locate(anchored, TEXT), each.check(anchored, TEXT)


def _kept(each: FlaggingKind, text: str) -> ClaimPayload | Rejection:
    return each.retain(_claim(text), TEXT)


@pytest.mark.requirement("2.12-04", "2.6-01")
@pytest.mark.parametrize("each", FLAGGING, ids=lambda each: each.name)
def test_what_decides_without_a_model_never_changes_under_a_version(each: FlaggingKind) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    2.6-01: A page load registers the version, then records the view.
    """
    assert RELEASED.get(each.rules) == decided(each), (
        f"Something is decided otherwise than under {each.rules}: give the rules a new version and add it to "
        "released_rules.json, or a replay of what was recorded will say DIFFERENT and nobody will know why."
    )
