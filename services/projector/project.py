"""From facts to changes: pure, and total over the list of events.

What a fact means for the tables is decided here and nowhere else. An event that means nothing to them stands in
`IGNORED` with the reason, so that a new event cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from contracts.v1 import (
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    ErasureOrdered,
    Event,
    IntegrityAnomalyDetected,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    ObservationReceived,
    PostViewed,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.ids import author_id
from contracts.v1.parts import TextRef
from contracts.v1.version import VersionEvent
from services.projector import bounds, metas
from services.projector.changes import (
    Anomaly,
    Author,
    Candidate,
    Changes,
    Content,
    Failure,
    Heading,
    Occurrence,
    OccurrenceSet,
    Page,
    Post,
    PromptRow,
    Review,
    Seen,
    SourceCheck,
    Verdict,
    Version,
)
from services.projector.expenses import Expense, cost_something, of_review, review_id
from services.projector.facts import Fact

IGNORED: Final[dict[type[Event], str]] = {
    ObservationReceived: "what a reader saw is shown only once it has become a version",
    CanonicalFetched: "the page comes again, as the server's HTML of the version made from it",
    ClaimValidationStarted: "what a review found and cost is told at its end",
    ErasureOrdered: "it removes rows instead of making some: see erase",
    PostViewed: "views have their own stream and their own fold: see views",
}


def plan(facts: Iterable[Fact], texts: Mapping[str, str]) -> Changes:
    """What the facts, in this order, do to the tables.

    Shapes: `texts` holds, by hash, every text the facts refer to that the tables do not hold yet.
    """
    draft = _Draft(texts)
    for fact in facts:
        if (project := _PROJECTIONS.get(type(fact.event))) is not None:
            project(draft, fact, fact.event)
    return draft.changes()


class _Draft:
    """The changes so far, by key."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.authors: dict[UUID, Author] = {}
        self.posts: dict[UUID, Post] = {}
        self.contents: dict[str, Content] = {}
        self.pages: dict[str, Page] = {}
        self.sets: dict[str, OccurrenceSet] = {}
        self.occurrences: list[Occurrence] = []
        self.versions: dict[UUID, Version] = {}
        self.headings: dict[UUID, Heading] = {}
        self.seen: dict[UUID, Seen] = {}
        self.metas: dict[str, dict[UUID, dict[str, Any]]] = {}
        self.failures: dict[UUID, Failure] = {}
        self.anomalies: dict[tuple[UUID, str], Anomaly] = {}
        self.candidates: dict[UUID, Candidate] = {}
        self.verdicts: dict[UUID, Verdict] = {}
        self.source_checks: dict[tuple[UUID, int, int], SourceCheck] = {}
        self.reviews: dict[UUID, Review] = {}
        self.review_prompts: dict[str, PromptRow] = {}
        self.review_expenses: dict[UUID, Expense] = {}
        self.investigations: list[Fact] = []

    def changes(self) -> Changes:
        return Changes(
            authors=tuple(self.authors.values()),
            posts=tuple(self.posts.values()),
            contents=tuple(self.contents.values()),
            pages=tuple(self.pages.values()),
            occurrence_sets=tuple(self.sets.values()),
            occurrences=tuple(self.occurrences),
            versions=tuple(self.versions.values()),
            headings=tuple(self.headings.values()),
            seen=tuple(self.seen.values()),
            metas={table: tuple(rows.values()) for table, rows in self.metas.items()},
            failures=tuple(self.failures.values()),
            anomalies=tuple(self.anomalies.values()),
            candidates=tuple(self.candidates.values()),
            verdicts=tuple(self.verdicts.values()),
            source_checks=tuple(self.source_checks.values()),
            reviews=tuple(self.reviews.values()),
            review_prompts=tuple(self.review_prompts.values()),
            review_expenses=tuple(self.review_expenses.values()),
            investigations=tuple(self.investigations),
        )

    def page(self, ref: TextRef | None, at: datetime) -> None:
        if ref is not None and ref.sha256 not in self.pages and (html := self.texts.get(ref.sha256)) is not None:
            self.pages[ref.sha256] = Page(ref.sha256, html, at)

    def failure(self, observation: UUID) -> Failure:
        return self.failures.setdefault(observation, Failure(observation))


def _sighting(draft: _Draft, fact: Fact, event: VersionEvent) -> None:
    _post(draft, fact, event)
    kept = _meta(draft, fact, event)
    if event.provenance == "CLIENT_FALLBACK":
        draft.failure(event.sighting.observation_id).post_version_id = event.version_id
    registered = draft.versions.get(event.version_id)
    row: Version | Seen
    if registered is not None:
        row = registered
    elif (seen := draft.seen.get(event.version_id)) is not None:
        row = seen
    else:
        row = draft.seen[event.version_id] = Seen(event.version_id, None, fact.at, 0)
    row.seen_count += 1
    row.last_seen_at = max(row.last_seen_at, fact.at)
    if row.server_verified_at is None and _is_verified(event, kept):
        row.server_verified_at = fact.at


def _registered(draft: _Draft, fact: Fact, event: VersionRegistered) -> None:
    if event.version_id not in draft.versions:
        earlier = draft.seen.pop(event.version_id, None)
        draft.versions[event.version_id] = Version(
            event.version_id,
            event.post_id,
            event.version_hash,
            event.content.sha256,
            event.occurrences_hash,
            earlier.server_verified_at if earlier else None,
            fact.at,
            earlier.last_seen_at if earlier else fact.at,
            earlier.seen_count if earlier else 0,
            fact.correlation,
        )
        _heading(draft, event)
        _content(draft, fact, event)
    _sighting(draft, fact, event)


def _verified(draft: _Draft, fact: Fact, event: VersionVerified) -> None:
    _heading(draft, event)
    _sighting(draft, fact, event)


def _heading(draft: _Draft, event: VersionRegistered | VersionVerified) -> None:
    seen = event.sighting
    confirmed = seen.server_html is not None
    before = draft.headings.get(event.version_id)
    if before is not None and (before.confirmed or not confirmed):
        return
    author = author_id(event.post.platform, seen.author.platform_user_id) if seen.author else None
    draft.headings[event.version_id] = Heading(
        event.version_id,
        bounds.url(seen.url),
        metas.title_of(event),
        author,
        bounds.name(seen.author.display_name) if seen.author else None,
        confirmed,
    )


def _content(draft: _Draft, fact: Fact, event: VersionRegistered) -> None:
    text_hash = event.content.sha256
    if text_hash not in draft.contents and (text := draft.texts.get(text_hash)) is not None:
        draft.contents[text_hash] = Content(text_hash, text, event.word_count, fact.at)
    if event.occurrences_hash not in draft.sets:
        draft.sets[event.occurrences_hash] = OccurrenceSet(event.occurrences_hash, fact.at)
        draft.occurrences += (
            Occurrence(
                event.occurrences_hash,
                occurrence.original_index,
                occurrence.normalized_text_offset,
                occurrence.source_url,
                occurrence.caption_text,
            )
            for occurrence in event.occurrences
        )


def _post(draft: _Draft, fact: Fact, event: VersionEvent) -> None:
    confirmed = event.sighting.server_html is not None
    url = bounds.url(event.sighting.url)
    author_row = _author(draft, fact, event, confirmed=confirmed)
    post = draft.posts.get(event.post_id)
    if post is None:
        draft.posts[event.post_id] = Post(
            event.post_id,
            event.post.platform,
            event.post.external_id,
            url,
            author_row,
            fact.at,
            fact.at,
            confirmed,
        )
        return
    post.updated_at = max(post.updated_at, fact.at)
    if confirmed:
        post.url, post.author_id, post.confirmed = url, author_row, True
    elif not post.confirmed:
        post.author_id = post.author_id or author_row


def _author(draft: _Draft, fact: Fact, event: VersionEvent, *, confirmed: bool) -> UUID | None:
    author = event.sighting.author
    if author is None:
        return None
    row = author_id(event.post.platform, author.platform_user_id)
    name = bounds.name(author.display_name)
    known = draft.authors.get(row)
    if known is None:
        draft.authors[row] = Author(
            row, event.post.platform, author.platform_user_id, name, fact.at, fact.at, confirmed
        )
    elif confirmed:
        known.display_name, known.updated_at, known.confirmed = name, fact.at, True
    return row


def _meta(draft: _Draft, fact: Fact, event: VersionEvent) -> bool:
    made = metas.meta(event)
    if made is None:
        return False
    table, row = made
    draft.page(event.sighting.server_html, fact.at)
    draft.page(event.sighting.client_html, fact.at)
    rows = draft.metas.setdefault(table, {})
    row |= {"post_version_id": event.version_id, "created_at": fact.at}
    older = rows.get(event.version_id)
    if older is None:
        rows[event.version_id] = row
    elif table != "x_version_meta":
        rows[event.version_id] = metas.merge(older, row)
    return True


def _is_verified(event: VersionEvent, kept: bool) -> bool:
    """Verified without the page that shows it would be a claim nobody can check."""
    if event.provenance != "SERVER_VERIFIED":
        return False
    if event.post.platform not in metas.NEEDS_SERVER_HTML:
        return True
    return kept and event.sighting.server_html is not None


def _unavailable(draft: _Draft, fact: Fact, event: CanonicalUnavailable) -> None:
    row = draft.failure(event.observation.observation_id)
    if row.reason is None:
        row.reason, row.detail, row.failed_at = event.reason, event.detail, fact.at


def _anomaly(draft: _Draft, fact: Fact, event: IntegrityAnomalyDetected) -> None:
    draft.anomalies.setdefault(
        (event.observation_id, event.kind),
        Anomaly(
            event.observation_id,
            event.kind,
            event.post_id,
            event.post.platform,
            event.post.external_id,
            event.observed,
            event.canonical,
            fact.at,
        ),
    )


def _proposed(draft: _Draft, fact: Fact, event: ClaimProposed) -> None:
    draft.candidates.setdefault(
        event.claim_id,
        Candidate(
            event.claim_id,
            event.investigation_id,
            event.attempt,
            event.ordinal,
            event.payload.model_dump(),
            fact.at,
        ),
    )


def _retained(draft: _Draft, fact: Fact, event: ClaimRetained) -> None:
    draft.candidates.setdefault(
        event.claim_id,
        Candidate(
            event.claim_id,
            event.investigation_id,
            None,
            event.ordinal,
            event.payload.model_dump(),
            fact.at,
            retained_from=event.retained_from,
        ),
    )
    _decide(draft, Verdict(event.claim_id, "APPROVED", "RETAINED", None, fact.at))


_Reviewed = ClaimApproved | ClaimRejected | ClaimValidationFailed | ClaimValidationRetryScheduled


def _looked_up(draft: _Draft, event: ClaimApproved | ClaimRejected | ClaimValidationFailed) -> None:
    for ordinal, source in enumerate(event.sources):
        row = SourceCheck(event.claim_id, event.round, ordinal, source.url, source.status, source.reason)
        if source.page is not None and source.final_url is not None and source.fetched_at is not None:
            row.final_url, row.fetched_at = source.final_url, source.fetched_at
            row.page_hash, row.size_bytes = source.page.sha256, source.page.size_bytes
            row.media_type = source.page.media_type
        draft.source_checks.setdefault((row.claim_id, row.round, row.ordinal), row)


def _reviewed(draft: _Draft, fact: Fact, event: _Reviewed) -> None:
    used = event.usage
    outcome, gate, reason, status = _said(event)
    review = Review(
        review_id(event),
        event.claim_id,
        event.round,
        outcome,
        gate,
        reason,
        status,
        used.input_tokens,
        used.output_tokens,
        used.total_tokens,
        used.cached_input_tokens,
        used.reasoning_output_tokens,
        used.cost_micro_usd,
        event.transcript.sha256 if event.transcript else None,
        fact.at,
        event.attempt if isinstance(event, ClaimValidationRetryScheduled) else 0,
        event.prompt.sha256 if event.prompt else None,
    )
    draft.reviews.setdefault(review.id, review)
    if event.prompt is not None:
        row = PromptRow(event.prompt.sha256, event.prompt.version, event.prompt.text, fact.at)
        draft.review_prompts.setdefault(row.hash, row)
    _paid(draft, fact, event)
    if not isinstance(event, ClaimValidationRetryScheduled):
        _looked_up(draft, event)


def _said(event: _Reviewed) -> tuple[str, str | None, str | None, int | None]:
    match event:
        case ClaimApproved():
            return "APPROVED", None, None, None
        case ClaimRejected():
            return "REJECTED", event.gate, event.reason, None
        case ClaimValidationRetryScheduled():
            return "RETRIED", None, event.reason, event.status_code
    return "FAILED", None, event.reason, event.status_code


def _paid(draft: _Draft, fact: Fact, event: _Reviewed) -> None:
    if cost_something(event.usage):
        expense = of_review(event, event.usage, fact.at)
        draft.review_expenses.setdefault(expense.id, expense)


def _approved(draft: _Draft, fact: Fact, event: ClaimApproved) -> None:
    _reviewed(draft, fact, event)
    _decide(draft, Verdict(event.claim_id, "APPROVED", None, None, fact.at))


def _rejected(draft: _Draft, fact: Fact, event: ClaimRejected) -> None:
    _reviewed(draft, fact, event)
    _decide(draft, Verdict(event.claim_id, "REJECTED", event.gate, event.reason, fact.at))


def _undecided(draft: _Draft, fact: Fact, event: ClaimValidationFailed) -> None:
    _reviewed(draft, fact, event)
    _decide(draft, Verdict(event.claim_id, "FAILED", None, event.reason, fact.at))


def _decide(draft: _Draft, verdict: Verdict) -> None:
    """The first verdict stands; having got none is not a verdict."""
    row = draft.candidates.get(verdict.claim_id) or draft.verdicts.get(verdict.claim_id)
    if row is None:
        draft.verdicts[verdict.claim_id] = verdict
    elif row.state == "PENDING" or (row.state == "FAILED" and verdict.state != "FAILED"):
        row.state, row.gate, row.reason = verdict.state, verdict.gate, verdict.reason
        row.decided_at = verdict.decided_at


def _investigation(draft: _Draft, fact: Fact, event: Event) -> None:
    draft.investigations.append(fact)


_PROJECTIONS: Final[dict[type[Event], Callable[[_Draft, Fact, Any], None]]] = {
    CanonicalUnavailable: _unavailable,
    VersionRegistered: _registered,
    VersionSeen: _sighting,
    VersionVerified: _verified,
    IntegrityAnomalyDetected: _anomaly,
    InvestigationRequested: _investigation,
    InvestigationStarted: _investigation,
    InvestigationAdvanced: _investigation,
    InvestigationDrafted: _investigation,
    InvestigationRetryScheduled: _investigation,
    InvestigationCompleted: _investigation,
    InvestigationFailed: _investigation,
    ClaimProposed: _proposed,
    ClaimRetained: _retained,
    ClaimApproved: _approved,
    ClaimRejected: _rejected,
    ClaimValidationFailed: _undecided,
    ClaimValidationRetryScheduled: _reviewed,
}

PROJECTED: Final = frozenset(_PROJECTIONS)
