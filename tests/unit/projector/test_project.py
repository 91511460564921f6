"""What facts about posts do to rows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.spent import find_transcript
from contracts.v1 import ClaimRetained, ClaimValidationFailed, Event
from contracts.v1.parts import Author
from platforms.base import HIDDEN_BY_AUTHOR
from services.projector.facts.reading import read_one
from services.projector.projections.errata import fold
from services.projector.projections.material import Material
from services.projector.rows.claims import CANDIDATES
from services.projector.rows.table import Tables
from services.projector.rows.versions import (
    AUTHORS,
    CONTENTS,
    METADATA,
    POSTS,
    VERSIONS,
    Metadata,
)
from services.projector.transcripts.exchange import MISSING
from tests.support.bluesky_page import PinnedPage
from tests.unit.projector.histories import Page, Tape, digest, uid


def folded(*events: Event, texts: dict[str, str] | None = None, tables: Tables | None = None) -> Tables:
    """The rows after these events, whose transcripts are gone."""
    tape, tables = Tape(), tables or Tables()
    tape.add(*events)
    facts = [read_one(record) for record in tape.records]
    exchanges = {ref.sha256: MISSING for fact in facts if (ref := find_transcript(fact.event)) is not None}
    fold(tables, facts, Material(texts or {}, exchanges))
    return tables


def meta(tables: Tables) -> Metadata:
    (row,) = tables[METADATA].written
    return row


@pytest.mark.requirement("3.2-11")
def test_sightings_of_one_version_become_one_row() -> None:
    """3.2-11: seenCount / lastSeenAt maintained."""
    page = Page("a")
    tables = folded(page.registered("1"), page.seen("2"), page.registered("3"))
    (version,), (post,) = tables[VERSIONS].new, tables[POSTS].new
    assert version.seen_count == 3
    assert post.url.endswith("?3")
    assert (version.last_seen_at - version.first_seen_at).total_seconds() == 2


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
def test_no_reader_changes_what_a_site_has_said(platform: str) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    page = Page("a", platform=platform)
    page.author, page.url = Author(platform_user_id="ada", display_name="Ada"), "https://real.example/"
    signed = page.registered("1")
    for tables in (folded(signed, page.forged("2")), folded(page.forged("0"), signed, page.forged("2"))):
        (post,), (author,), row = tables[POSTS].written, tables[AUTHORS].written, meta(tables)
        assert (post.url, post.author_id, post.confirmed) == (signed.sighting.url, author.id, True)
        assert author.display_name == "Ada"
        assert row.document["title"] != "Forged"
        assert row.server_html_hash is not None
        assert row.client_html_hash is not None


def test_a_post_whose_site_names_no_author_gets_none_from_a_reader() -> None:
    page, guest = Page("a"), Page("a", provenance="CLIENT_FALLBACK")
    page.author, guest.author = None, Author(platform_user_id="ada", display_name="Ada")
    (post,) = folded(page.registered("1"), guest.seen("2"))[POSTS].written
    assert (post.confirmed, post.author_id) == (True, None)
    (post,) = folded(guest.registered("2"), page.seen("1"))[POSTS].written
    assert (post.confirmed, post.author_id) == (True, None)


def test_who_asks_not_to_be_shown_is_shown_again_once_the_site_shows_them() -> None:
    page = PinnedPage("The moon is made of cheese.")
    for later, is_hidden in ((), True), ((page.seen("later"),), False), ((page.forged("later"),), True):
        tables = folded(page.registered(), page.unavailable("1", HIDDEN_BY_AUTHOR), *later)
        (author,) = tables[AUTHORS].written
        assert (author.hidden_at is not None) == is_hidden


@pytest.mark.requirement("2.9-04")
def test_a_row_names_the_page_that_the_site_named() -> None:
    """2.9-04: Identity correction by server pageId."""
    page = Page("en:19004")
    row = meta(folded(page.registered().model_copy(update={"post": page.post})))
    assert (row.document["language"], row.document["page_id"]) == ("en", "19004")


def test_a_version_that_is_there_already_is_changed_and_not_written_anew() -> None:
    page = Page("a")
    (earlier,) = folded(page.registered("1"))[VERSIONS].new
    tables = folded(page.registered("2"), page.seen("3"), tables=Tables({VERSIONS: [earlier]}))
    (version,) = tables[VERSIONS].changed
    assert (version.seen_count, version.first_seen_at, tables[VERSIONS].new) == (3, earlier.first_seen_at, [])


def test_texts_the_tables_hold_are_not_written_again() -> None:
    page = Page("a")
    assert not folded(page.registered())[CONTENTS].written
    texts = {digest(page.text): page.text}
    assert [row.content_text for row in folded(page.registered(), texts=texts)[CONTENTS].written] == [page.text]


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
def test_first_page_of_a_reader_and_last_page_of_the_site(platform: str) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    mine = Page("a", platform=platform, provenance="CLIENT_FALLBACK", html="1")
    row = meta(folded(mine.registered(), mine.seen("b", html="2"), mine.verified()))
    assert (row.client_html_hash, row.server_html_hash) == (digest("1"), digest("1"))


def test_a_site_that_is_not_known_has_posts_all_the_same() -> None:
    tables = folded(Page("a", platform="ELSEWHERE").registered())
    assert meta(tables).document == {}
    (version,) = tables[VERSIONS].new
    assert version.server_verified_at is not None


def verdicts(*events: Event) -> Sequence[tuple[str, str | None]]:
    return [(row.state, row.gate) for row in folded(*events)[CANDIDATES].written]


def test_the_first_verdict_stands() -> None:
    page = Page("a")
    assert verdicts(page.proposed(0), page.rejected(0), page.approved(0)) == [("REJECTED", "MODEL")]
    (earlier,) = folded(page.proposed(0), page.approved(0))[CANDIDATES].written
    assert not folded(page.rejected(0), tables=Tables({CANDIDATES: [earlier]}))[CANDIDATES].changed


def test_the_verdict_of_the_newest_round_replaces_that_of_an_earlier_one() -> None:
    """As in the result of that round, which its first verdict decides."""
    page, second = Page("a"), {"round": 2}
    first = (page.registered(), page.requested(), page.started(), page.proposed(0))
    again = (page.failed(), page.requested(2), page.started(2), page.proposed(0, 2).model_copy(update=second))
    approved, rejected = (each.model_copy(update=second) for each in (page.approved(0), page.rejected(0)))
    assert verdicts(*first, page.approved(0), *again, rejected, approved) == [("REJECTED", "MODEL")]
    assert verdicts(*first, page.rejected(0), *again, approved, rejected) == [("APPROVED", None)]
    assert verdicts(*first, *again, rejected, page.approved(0)) == [("REJECTED", "MODEL")]


@pytest.mark.requirement("2.4.3-10")
def test_having_no_verdict_is_not_one() -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim."""
    page = Page("a")
    unanswered = ClaimValidationFailed(
        investigation_id=page.investigation_id, claim_id=page.claim(0)[0], failure="TRANSIENT", reason="busy"
    )
    assert verdicts(page.proposed(0), unanswered) == [("FAILED", None)]
    assert verdicts(page.proposed(0), unanswered, page.approved(0)) == [("APPROVED", None)]
    assert verdicts(page.proposed(0), page.approved(0), unanswered) == [("APPROVED", None)]


def test_a_retained_claim_is_confirmed_at_once() -> None:
    page = Page("a")
    claim, payload = page.claim(0)
    kept = ClaimRetained(
        investigation_id=page.investigation_id, claim_id=claim, retained_from=uid("old"), ordinal=0, payload=payload
    )
    assert verdicts(kept) == [("APPROVED", "RETAINED")]
