"""Every event means something to the tables or stands in the list of those that do not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contracts.v1 import EVENTS, ClaimRetained, ClaimValidationFailed, Event
from contracts.v1.parts import Author
from services.projector.changes import Candidate, Changes, Verdict
from services.projector.project import IGNORED, PROJECTED, plan
from services.projector.reading import read_one
from tests.unit.projector.histories import Page, Tape, digest, uid


def planned(*events: Event, texts: dict[str, str] | None = None) -> Changes:
    tape = Tape()
    tape.add(*events)
    return plan([read_one(record) for record in tape.records], texts or {})


def test_every_event_is_projected_or_ignored_with_a_reason() -> None:
    assert set(EVENTS) == PROJECTED | set(IGNORED)
    assert not PROJECTED & set(IGNORED)
    assert all(reason for reason in IGNORED.values())


@pytest.mark.requirement("3.2-11")
def test_sightings_of_one_version_become_one_row() -> None:
    """3.2-11: seenCount / lastSeenAt maintained."""
    page = Page("a")
    changes = planned(page.registered("1"), page.seen("2"), page.registered("3"))
    (version,) = changes.versions
    assert (version.seen_count, changes.seen) == (3, ())
    (post,) = changes.posts
    assert post.url.endswith("?3")
    assert (version.last_seen_at - version.first_seen_at).total_seconds() == 2


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
def test_no_reader_changes_what_a_site_has_said(platform: str) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    page = Page("a", platform=platform)
    page.author, page.url = Author(platform_user_id="ada", display_name="Ada"), "https://real.example/"
    signed = page.registered("1")
    for changes in (planned(signed, page.forged("2")), planned(page.forged("0"), signed, page.forged("2"))):
        (post,), (author,), ((_, (row,)),) = changes.posts, changes.authors, changes.metas.items()
        assert (post.url, post.author_id, post.confirmed) == (signed.sighting.url, author.id, True)
        assert author.display_name == "Ada"
        assert row["title"] != "Forged"
        assert row["server_html_hash"] is not None
        assert row["client_html_hash"] is not None


@pytest.mark.requirement("2.9-04")
def test_a_row_names_the_page_that_the_site_named() -> None:
    """2.9-04: Identity correction by server pageId."""
    page = Page("en:19004")
    ((_, (row,)),) = planned(page.registered().model_copy(update={"post": page.post})).metas.items()
    assert (row["language"], row["page_id"]) == ("en", "19004")


def test_sightings_before_a_repeated_registration_are_not_lost() -> None:
    page = Page("a")
    changes = planned(page.seen("1"), page.registered("2"))
    assert [row.seen_count for row in changes.versions] == [2]
    assert changes.seen == ()


def test_texts_the_tables_hold_are_not_written_again() -> None:
    page = Page("a")
    assert planned(page.registered()).contents == ()
    texts = {digest(page.text): page.text}
    assert [row.content_text for row in planned(page.registered(), texts=texts).contents] == [page.text]


@pytest.mark.requirement("3.2-06")
@pytest.mark.parametrize("platform", ["LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
def test_first_page_of_a_reader_and_last_page_of_the_site(platform: str) -> None:
    """3.2-06: The site's HTML is the newest, a reader's the first."""
    mine = Page("a", platform=platform, provenance="CLIENT_FALLBACK", html="1")
    changes = planned(mine.registered(), mine.seen("b", html="2"), mine.verified())
    ((table, (row,)),) = changes.metas.items()
    assert table == f"{platform.lower()}_version_meta"
    assert (row["client_html_hash"], row["server_html_hash"]) == (digest("1"), digest("1"))


def test_a_site_without_a_table_has_posts_all_the_same() -> None:
    changes = planned(Page("a", platform="ELSEWHERE").registered())
    assert not changes.metas
    assert changes.versions[0].server_verified_at is not None


def verdicts(*events: Event) -> Sequence[tuple[str, str | None]]:
    changes = planned(*events)
    rows: list[Candidate | Verdict] = [*changes.candidates, *changes.verdicts]
    return [(row.state, row.gate) for row in rows]


def test_the_first_verdict_stands() -> None:
    page = Page("a")
    assert verdicts(page.proposed(0), page.rejected(0), page.approved(0)) == [("REJECTED", "MODEL")]
    assert verdicts(page.approved(0), page.rejected(0)) == [("APPROVED", None)]


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
