"""Logs for tests: facts as the services publish them, on tape, with their sequences."""

from __future__ import annotations

import hashlib
import random
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Self
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import JsonValue

from contracts.topology import ERRATA, VIEWS
from contracts.v1 import (
    AppealDecided,
    AppealOpened,
    AppealProofChecked,
    AppealProofOffered,
    CanonicalUnavailable,
    ClaimApproved,
    ClaimHeld,
    ClaimHoldEnded,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Envelope,
    Event,
    FindingChanged,
    IntegrityAnomalyDetected,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
    ObservationReceived,
    PostHinted,
    PostViewed,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1 import ids as derived
from contracts.v1.appeal import ProofOutcome
from contracts.v1.finding import FindingState
from contracts.v1.pages import Observation, Sighting
from contracts.v1.parts import (
    Author,
    BlobRef,
    CheckedSource,
    ClaimPayload,
    ImageOccurrence,
    InvestigationInput,
    ModelName,
    Origin,
    Picture,
    PostRef,
    Prompt,
    Provenance,
    PublishedClaim,
    Source,
    SourceStatus,
    TextRef,
    Usage,
)
from kit.ordered import StoredMessage
from tests.support import transcripts
from tests.support.envelopes import encode

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
FACT_CHECK = "FACT_CHECK"
MODEL = ModelName(provider="DEMO", model="demo-catalogue", version="1")
PROMPT = Prompt(version="v1", sha256=hashlib.sha256(b"look").hexdigest(), text="look")
REVIEW_PROMPT = Prompt(version="r1", sha256=hashlib.sha256(b"doubt").hexdigest(), text="doubt")


def digest(text: str) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()


def inline(text: str) -> TextRef:
    """A text that travels inside its fact."""
    return TextRef(sha256=digest(text), size_bytes=len(text.encode()), inline=text)


TRANSCRIPT = inline(transcripts.run())
OF_FAILURE = inline(transcripts.failure())


def uid(name: str) -> UUID:
    """The same id for the same name."""
    return uuid5(NAMESPACE_OID, name)


class Tape:
    """One stream as it grows. Units: facts are one second apart unless told."""

    def __init__(self, stream: str = ERRATA.name, start: datetime = START) -> None:
        self.stream = stream
        self.records: list[StoredMessage] = []
        self.now = start

    def add(self, *events: Event, at: datetime | None = None) -> None:
        """Store facts."""
        for event in events:
            self.now += timedelta(seconds=1)
            moment = at or self.now
            id_ = event.event_id()
            salt = urlsafe_b64encode(hashlib.sha256(id_.bytes).digest()).rstrip(b"=").decode()
            envelope = Envelope(id=id_, occurred_at=moment, correlation=uid("c"), salt=salt, event=event)
            self.raw(event.subject(), encode(envelope))

    def raw(self, subject: str, data: bytes) -> None:
        """Store bytes."""
        self.records.append(StoredMessage(self.stream, len(self.records) + 1, subject, data, self.now))


class Page:
    """A post on a site, one version of it, and everything that is said about that version."""

    def __init__(
        self,
        external_id: str,
        text: str = "The moon is made of cheese.",
        *,
        platform: str = "WIKIPEDIA",
        provenance: Provenance = "SERVER_VERIFIED",
        pictures: int = 0,
        html: str | None = None,
        words: int | None = None,
    ) -> None:
        self.text = text
        self.words = len(text.split()) if words is None else words
        self.post = PostRef(platform=platform, external_id=external_id)
        self.post_id = derived.post_id(self.post)
        self.provenance: Provenance = provenance
        self.html = html if html is not None else f"<p>{text}</p>"
        self.occurrences = tuple(
            ImageOccurrence(original_index=n, normalized_text_offset=n, source_url=f"https://img.example/{n}.png")
            for n in range(pictures)
        )
        self.occurrences_hash = digest(f"{len(self.occurrences)}")
        self.version_hash = digest(f"{digest(text)}\n{self.occurrences_hash}")
        self.version_id = derived.version_id(self.post_id, self.version_hash)
        self.investigation_id = derived.investigation_id(self.version_id, FACT_CHECK)
        self.origin: Origin = "ORIGINAL"
        self.origin_id: UUID | None = None
        self.url = f"https://site.example/{external_id}"
        self.author: Author | None = Author(
            platform_user_id=f"u-{external_id}", display_name=f"Author of {external_id}"
        )

    def checked_again(self, origin: Origin, origin_id: UUID) -> Self:
        """The same version, as another investigation of it sees it."""
        again = copy(self)
        again.origin, again.origin_id = origin, origin_id
        again.investigation_id = derived.investigation_id(self.version_id, FACT_CHECK, origin, origin_id)
        return again

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The fates of its pictures, each of another kind."""
        return tuple(map(_fate, self.occurrences))

    @property
    def metadata(self) -> dict[str, JsonValue]:
        """What the reader's browser tells of the page."""
        common: dict[str, JsonValue] = {"slug": "s", "title": "T", "author_name": "A"}
        match self.post.platform:
            case "X":
                return {"author_handle": "h", "text": self.text, "media_urls": ["https://m.example/1"], "like_count": 3}
            case "WIKIPEDIA":
                return {"language": "en", "page_id": "7", "revision_id": "70", "title": "T"}
            case "SUBSTACK":
                return common | {"substack_post_id": "9", "publication_subdomain": "p"}
            case "BLUESKY":
                return {"author_did": self.post.external_id.partition("/")[0]}
            case "LESSWRONG":
                return common | {"tags": ["one", "two"], "published_at": "2026-01-01T00:00:00Z"}
        return {}

    def sighting(self, who: str, *, provenance: Provenance | None = None, html: str | None = None) -> Sighting:
        """What one observation says of the version."""
        verified = (provenance or self.provenance) == "SERVER_VERIFIED"
        page = inline(html or self.html)
        with_html = self.post.platform != "X"
        return Sighting(
            observation_id=uid(f"{self.version_id}{who}"),
            url=f"{self.url}?{who}",
            author=self.author,
            server_html=page if verified and with_html else None,
            client_html=page if not verified and with_html else None,
            metadata=self.metadata,
        )

    def observation(self, who: str) -> Observation:
        """What one browser sent."""
        return Observation(
            observation_id=uid(f"{self.version_id}{who}"),
            post=self.post,
            url=self.url,
            text=inline(self.text),
            metadata=self.metadata,
        )

    def received(self, who: str) -> ObservationReceived:
        return ObservationReceived(observation=self.observation(who))

    def unavailable(self, who: str, reason: str = "TIMEOUT") -> CanonicalUnavailable:
        return CanonicalUnavailable(observation=self.observation(who), reason=reason, detail="no answer")

    def anomaly(self, who: str) -> IntegrityAnomalyDetected:
        return IntegrityAnomalyDetected(
            post_id=self.post_id,
            post=self.post,
            observation_id=uid(f"{self.version_id}{who}"),
            kind="TEXT",
            observed="a",
            canonical="b",
        )

    def registered(self, who: str = "first", *, content: TextRef | None = None) -> VersionRegistered:
        return VersionRegistered(
            version_id=self.version_id,
            post_id=self.post_id,
            post=self.post,
            version_hash=self.version_hash,
            provenance=self.provenance,
            sighting=self.sighting(who),
            content=content or inline(self.text),
            word_count=self.words,
            occurrences_hash=self.occurrences_hash,
            occurrences=self.occurrences,
        )

    def seen(self, who: str, *, html: str | None = None) -> VersionSeen:
        return VersionSeen(
            version_id=self.version_id,
            post_id=self.post_id,
            post=self.post,
            version_hash=self.version_hash,
            provenance=self.provenance,
            sighting=self.sighting(who, html=html),
        )

    def forged(self, who: str) -> VersionSeen:
        """A reader tells stories about a version, while its site is silent."""
        seen = self.seen(who)
        lie = {
            "url": "https://evil.example/",
            "author": self.author and self.author.model_copy(update={"display_name": "Evil Name"}),
            "server_html": None,
            "client_html": inline(f"<p>{who}</p>"),
            "metadata": {**self.metadata, "title": "Forged"},
        }
        return seen.model_copy(update={"sighting": seen.sighting.model_copy(update=lie)})

    def verified(self, who: str = "verify") -> VersionVerified:
        return VersionVerified(
            version_id=self.version_id,
            post_id=self.post_id,
            post=self.post,
            version_hash=self.version_hash,
            provenance="SERVER_VERIFIED",
            sighting=self.sighting(who, provenance="SERVER_VERIFIED"),
        )

    def requested(self, number: int = 1) -> InvestigationRequested:
        return InvestigationRequested(
            investigation_id=self.investigation_id,
            version_id=self.version_id,
            post_id=self.post_id,
            analysis=FACT_CHECK,
            origin=self.origin,
            origin_id=self.origin_id,
            requested_by="READER",
            round=number,
        )

    def started(self, attempt: int = 1, *, parent: Page | None = None, prompt: Prompt = PROMPT) -> InvestigationStarted:
        return InvestigationStarted(
            investigation_id=self.investigation_id,
            version_id=self.version_id,
            post_id=self.post_id,
            analysis=FACT_CHECK,
            attempt=attempt,
            worker=f"worker-{attempt}",
            input=InvestigationInput(
                provenance=self.provenance,
                platform=self.post.platform,
                url=self.url,
                content=inline(self.text),
                markdown_source="SERVER_HTML" if self.provenance == "SERVER_VERIFIED" else "NONE",
                markdown=inline(f"# {self.text}") if self.provenance == "SERVER_VERIFIED" else None,
                markdown_renderer_version="1" if self.provenance == "SERVER_VERIFIED" else None,
                pictures=self.pictures,
                parent_investigation_id=parent.investigation_id if parent else None,
                content_diff=inline("-old\n+new") if parent else None,
            ),
            prompt=prompt,
            model=MODEL,
        )

    def claim(self, number: int) -> tuple[UUID, ClaimPayload]:
        """One wrong sentence."""
        text = f"Wrong sentence {number}."
        payload = ClaimPayload(
            text=text,
            context=f"before {text} after",
            summary="It is not so.",
            reasoning="Because of **this**.",
            sources=(Source(url="https://source.example/1", title="S", snippet="so it is"),),
        )
        return derived.claim_id(self.investigation_id, payload.text, payload.context), payload

    def proposed(self, number: int, attempt: int = 1) -> ClaimProposed:
        claim, payload = self.claim(number)
        return ClaimProposed(
            investigation_id=self.investigation_id,
            claim_id=claim,
            version_id=self.version_id,
            analysis=FACT_CHECK,
            attempt=attempt,
            ordinal=number,
            payload=payload,
        )

    def reviewing(self, number: int) -> ClaimValidationStarted:
        return ClaimValidationStarted(
            investigation_id=self.investigation_id, claim_id=self.claim(number)[0], attempt=1, delivery_count=1
        )

    def approved(self, number: int) -> ClaimApproved:
        claim, payload = self.claim(number)
        return ClaimApproved(
            investigation_id=self.investigation_id,
            claim_id=claim,
            version_id=self.version_id,
            payload=payload,
            sources=(_looked_up(number, "found"),),
            usage=Usage(input_tokens=4, output_tokens=2, total_tokens=6),
            transcript=inline(transcripts.review()),
        )

    def held(self, approval: ClaimApproved) -> ClaimHeld:
        """An approval that nobody is shown yet."""
        return ClaimHeld(
            investigation_id=self.investigation_id, claim_id=approval.claim_id, approval=approval, held_at=START
        )

    def let_go(self, approval: ClaimApproved, hold_s: int = 0) -> ClaimHoldEnded:
        """Its hold is over."""
        return ClaimHoldEnded(
            investigation_id=self.investigation_id, claim_id=approval.claim_id, state="RELEASED", hold_s=hold_s
        )

    def tried(self, number: int, attempt: int = 1) -> ClaimValidationRetryScheduled:
        return ClaimValidationRetryScheduled(
            investigation_id=self.investigation_id,
            claim_id=self.claim(number)[0],
            review_attempt=attempt,
            failure="TRANSIENT",
            reason="reviewer is busy",
            status_code=503,
            error_name="Http503",
            usage=Usage(input_tokens=3, total_tokens=3),
            transcript=inline(transcripts.review()),
            prompt=REVIEW_PROMPT,
            retry_at=START + timedelta(hours=1),
        )

    def rejected(self, number: int) -> ClaimRejected:
        return ClaimRejected(
            investigation_id=self.investigation_id,
            claim_id=self.claim(number)[0],
            gate="MODEL",
            reason="not so wrong",
            sources=(_looked_up(number, "missing"), _looked_up(number, "unavailable")),
            transcript=inline(transcripts.review(approved=False)),
        )

    def drafted(self, claims: int = 0, attempt: int = 1, transcript: TextRef = TRANSCRIPT) -> InvestigationDrafted:
        return InvestigationDrafted(
            investigation_id=self.investigation_id,
            attempt=attempt,
            claim_ids=tuple(self.claim(number)[0] for number in range(claims)),
            model=MODEL,
            usage=Usage(input_tokens=10, output_tokens=5, total_tokens=15),
            transcript=transcript,
        )

    def advanced(self, calls: int = 1, attempt: int = 1) -> InvestigationAdvanced:
        spent = Usage(input_tokens=4 * calls, output_tokens=calls, total_tokens=5 * calls, cost_micro_usd=7 * calls)
        return InvestigationAdvanced(
            investigation_id=self.investigation_id,
            attempt=attempt,
            calls=calls,
            segment=inline(f"segment {calls} of attempt {attempt}"),
            usage=spent,
        )

    def retry(self, attempt: int = 1) -> InvestigationRetryScheduled:
        return InvestigationRetryScheduled(
            investigation_id=self.investigation_id,
            attempt=attempt,
            failure="TRANSIENT",
            reason="provider is busy",
            status_code=429,
            error_name="Http429",
            transcript=OF_FAILURE,
            retry_at=START + timedelta(hours=1),
        )

    def completed(self, claims: Sequence[int] = (), attempt: int = 1) -> InvestigationCompleted:
        return InvestigationCompleted(
            investigation_id=self.investigation_id,
            version_id=self.version_id,
            post_id=self.post_id,
            analysis=FACT_CHECK,
            attempt=attempt,
            model=MODEL,
            claims=tuple(PublishedClaim(claim_id=claim, payload=payload) for claim, payload in map(self.claim, claims)),
        )

    def changed(self, number: int, state: FindingState, follows: int = 0) -> FindingChanged:
        """What became of a published claim."""
        return FindingChanged(
            follows=follows,
            claim_id=self.claim(number)[0],
            investigation_id=self.investigation_id,
            state=state,
            cause="OPERATOR",
            note=f"Because of {number}.",
        )

    def appealed(self) -> AppealOpened:
        """A reader's objection to the result."""
        return AppealOpened(
            appeal_id=uid(f"appeal {self.investigation_id}"),
            investigation_id=self.investigation_id,
            kind="FALSE_POSITIVE",
            claim_ids=(self.claim(0)[0],),
            text="It was in another year.",
            links=("https://source.example/year",),
            range_key=digest("network"),
            by_author=True,
            statement="I meant that year.",
        )

    def offered(self) -> AppealProofOffered:
        """A page that is to prove that the objection is the author's."""
        opened = self.appealed()
        return AppealProofOffered(
            appeal_id=opened.appeal_id,
            investigation_id=self.investigation_id,
            author="ada",
            observation=Observation(
                observation_id=uid(f"proof {opened.appeal_id}"), post=self.post, url="https://site.example/token"
            ),
            until=START + timedelta(hours=72),
        )

    def proven(self, outcome: ProofOutcome = "PROVEN") -> AppealProofChecked:
        """What came of it."""
        offered = self.offered()
        proof = offered.observation.observation_id
        return AppealProofChecked(
            proof_id=proof if outcome == "PROVEN" else uid(f"{outcome} {proof}"),
            appeal_id=offered.appeal_id,
            investigation_id=self.investigation_id,
            outcome=outcome,
        )

    def decided(self) -> AppealDecided:
        """What became of the objection."""
        opened = self.appealed()
        return AppealDecided(
            appeal_id=opened.appeal_id,
            investigation_id=self.investigation_id,
            outcome="DISMISSED",
            reason="It was in that year.",
        )

    def failed(self, number: int = 1, attempt: int = 1) -> InvestigationFailed:
        return InvestigationFailed(
            investigation_id=self.investigation_id,
            version_id=self.version_id,
            attempt=attempt,
            round=number,
            failure="NON_RETRYABLE",
            reason="the key was refused",
            status_code=401,
        )

    def investigated(self) -> tuple[Event, ...]:
        """A whole run of ten facts: three candidates, two of which pass."""
        return (
            self.requested(),
            self.started(),
            self.proposed(0),
            self.proposed(1),
            self.proposed(2),
            self.drafted(3),
            self.approved(0),
            self.rejected(1),
            self.approved(2),
            self.completed((0, 2)),
        )

    def viewed(self, viewer: str, *, network: str = "n", reporter: str | None = None, nth: int = 0) -> PostViewed:
        return PostViewed(
            view_id=uid(f"{self.version_id}{viewer}{network}{nth}"),
            post_id=self.post_id,
            version_id=self.version_id,
            viewer_key=digest(viewer),
            ip_range_key=digest(network),
            reporter_key=digest(reporter) if reporter else None,
        )

    def hinted(self, network: str = "n", nth: int = 0) -> PostHinted:
        hint = uid(f"hint {self.post_id}{network}{nth}")
        return PostHinted(hint_id=hint, post_id=self.post_id, ip_range_key=digest(network))


def _looked_up(number: int, status: SourceStatus) -> CheckedSource:
    url = f"https://source.example/{number}"
    if status in ("unavailable", "unchecked"):
        return CheckedSource(url=url, status=status, reason="http_404")
    page = BlobRef(sha256=digest(url), size_bytes=len(url), media_type="text/html")
    return CheckedSource(url=url, status=status, final_url=f"{url}/", page=page, fetched_at=START)


def _fate(occurrence: ImageOccurrence) -> Picture:
    place = occurrence.model_dump()
    match occurrence.original_index % 4:
        case 0:
            blob = BlobRef(sha256=digest(occurrence.source_url), size_bytes=67, media_type="image/png")
            return Picture(**place, status="used", blob=blob)
        case 1:
            return Picture(**place, status="unavailable", reason="http_404")
        case 2:
            return Picture(**place, status="duplicate", same_as=0)
    return Picture(**place, status="omitted", reason="too_many")


PLATFORMS = ("WIKIPEDIA", "X", "LESSWRONG", "SUBSTACK", "ELSEWHERE")


def mixed(posts: int, seed: int = 0, *, words: int = 60) -> tuple[Tape, Tape]:
    """Both streams of a busy day: every kind of fact, repeats, retries, failures, edits, and disorder."""
    draw = random.Random(seed)
    errata, views = Tape(ERRATA.name), Tape(VIEWS.name)
    for number in range(posts):
        errata.add(*_life(draw, number, words))
    for number in range(posts):
        page = _page(draw, number, words, draw.randrange(2))
        for nth in range(draw.randrange(6)):
            who = f"v{draw.randrange(8)}"
            reporter = who if draw.random() < 0.5 else None
            views.add(page.viewed(who, network=f"n{draw.randrange(2)}", reporter=reporter, nth=nth))
            if nth % 2:
                views.add(page.hinted(f"n{number % 2}", nth))
            views.now += timedelta(hours=draw.randrange(9))
    return errata, views


def _page(draw: random.Random, number: int, words: int, edit: int) -> Page:
    text = " ".join(f"word{(number * 7 + n) % 997}" for n in range(words)) + f" {number} {edit}"
    return Page(
        f"p{number}",
        text,
        platform=PLATFORMS[number % len(PLATFORMS)],
        provenance="CLIENT_FALLBACK" if number % 3 == 0 or number % len(PLATFORMS) == 1 else "SERVER_VERIFIED",
        pictures=number % 3,
        words=20_000 if number % 11 == 0 else None,
    )


def _life(draw: random.Random, number: int, words: int) -> Iterator[Event]:
    old, new = _page(draw, number, words, 0), _page(draw, number, words, 1)
    yield old.received("first")
    if old.provenance == "CLIENT_FALLBACK":
        yield old.unavailable("first")
    if draw.random() < 0.1:
        yield old.anomaly("first")
    run: list[Event] = [old.registered(), *old.investigated()]
    if number % 2:
        first = next(place for place, event in enumerate(run) if isinstance(event, ClaimApproved))
        run[first:first] = [old.tried(0), old.tried(0, 2)]
    if draw.random() < 0.3:
        run[3:3] = [old.retry(), old.started(2)]
    if draw.random() < 0.3:
        run[3:3] = [old.advanced(1), old.advanced(2)]
    if draw.random() < 0.2:
        run[-1:] = [old.failed(attempt=1), old.requested(2)]
    if draw.random() < 0.3:
        place = draw.randrange(len(run) - 1)
        run[place], run[place + 1] = run[place + 1], run[place]
    if number % 5 == 2:
        approval = old.approved(0)
        at = run.index(approval)
        run[at:at] = [old.held(approval), old.let_go(approval)]
    for event in run:
        yield event
        if draw.random() < 0.1:
            yield event
        if draw.random() < 0.2:
            yield old.seen(f"again{draw.randrange(3)}", html=f"<p>{draw.randrange(3)}</p>")
    if number % 4 == 1 and any(isinstance(event, InvestigationCompleted) for event in run):
        states: tuple[FindingState, ...] = ("SUSPENDED", "RELEASED", "RETRACTED")
        yield from (old.changed(0, state, nth) for nth, state in enumerate(states[: number % 3 + 1]))
        yield from (old.appealed(), old.appealed(), old.offered(), old.proven(), old.proven("NO_TOKEN"))
        yield from (old.decided(),) if number % 3 else ()
    if old.provenance == "CLIENT_FALLBACK" and old.post.platform != "X":
        yield old.verified()
    if draw.random() < 0.5:
        yield new.registered()
        yield new.requested()
        yield new.started(
            parent=old if old.provenance == "SERVER_VERIFIED" and run[-1] == old.completed((0, 2)) else None
        )
        yield new.completed()
