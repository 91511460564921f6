"""Text and identity of a version: the site's if its page is available, else the reader's.

A contradiction between the two never refuses the reader; it becomes an anomaly (specification 2.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from contracts.rpc.values import NAME_CHARACTERS
from contracts.v1 import Event, IntegrityAnomalyDetected, VersionRegistered, VersionSeen, VersionVerified
from contracts.v1.ids import post_id, version_id
from contracts.v1.pages import CanonicalPage, Observation, Sighting
from contracts.v1.parts import ImageOccurrence, PostRef, Provenance, TextRef
from contracts.v1.version import VersionEvent
from platforms.base import Platform, metadata_text
from platforms.identity import content_hash, fit_occurrences, occurrences_hash, version_hash
from platforms.text import normalize, word_count
from platforms.urls import find_host


@dataclass(frozen=True)
class VersionState:
    """What the log has about a version, and by which observations it was registered and verified."""

    registered: bool = False
    verified: bool = False
    registered_by: UUID | None = None
    verified_by: UUID | None = None


def fold_version(events: Iterable[Event]) -> VersionState:
    """Fold a version's facts; the newest of each kind is enough."""
    make_events = [fact for fact in events if isinstance(fact, VersionEvent)]

    def by(kind: type[VersionEvent]) -> UUID | None:
        return next((fact.sighting.observation_id for fact in reversed(make_events) if isinstance(fact, kind)), None)

    return VersionState(
        registered=bool(make_events),
        verified=any(fact.provenance == "SERVER_VERIFIED" for fact in make_events),
        registered_by=by(VersionRegistered),
        verified_by=by(VersionVerified),
    )


@dataclass(frozen=True)
class PinnedVersion:
    """A version, derived from content alone, and its contradictions."""

    post: PostRef
    post_id: UUID
    version_id: UUID
    version_hash: str
    text: str
    occurrences_hash: str
    occurrences: tuple[ImageOccurrence, ...]
    verified: bool
    anomalies: tuple[IntegrityAnomalyDetected, ...]


def pin(
    observation: Observation, observed_text: str, page: CanonicalPage | None, canonical_text: str | None, site: Platform
) -> PinnedVersion:
    """Decide on text and identity of the version.

    Shapes: both texts are normalised; `canonical_text` belongs to `page`.
    """
    verified = page is not None and bool(canonical_text)
    post = page.post if page is not None and verified else observation.post
    text = canonical_text if verified and canonical_text else observed_text
    occurrences, dropped = fit_occurrences(observation.occurrences, text)
    hashed = occurrences_hash(occurrences)
    derived = version_hash(content_hash(text), hashed)
    post_uuid = post_id(post)
    contradictions = []
    if post != observation.post:
        contradictions.append(("identity", observation.post.external_id, post.external_id))
    if verified and observed_text and content_hash(observed_text) != content_hash(text):
        contradictions.append(("content", content_hash(observed_text), content_hash(text)))
    if page is not None and verified:
        contradictions += _find_disputes(observation, page, site)
    if dropped:
        contradictions.append(("image_occurrences", "; ".join(dropped), f"{len(occurrences)} kept"))
    return PinnedVersion(
        post=post,
        post_id=post_uuid,
        version_id=version_id(post_uuid, derived),
        version_hash=derived,
        text=text,
        occurrences_hash=hashed,
        occurrences=tuple(occurrences),
        verified=verified,
        anomalies=tuple(
            IntegrityAnomalyDetected(
                post_id=post_uuid,
                post=post,
                observation_id=observation.observation_id,
                kind=kind,
                observed=observed[:1_000],
                canonical=canonical[:1_000],
            )
            for kind, observed, canonical in contradictions
        ),
    )


def _find_disputes(observation: Observation, page: CanonicalPage, site: Platform) -> Iterator[tuple[str, str, str]]:
    """Metadata on which reader and site contradict each other, of the fields that the platform compares."""
    for name in site.disputed:
        observed = metadata_text(observation.metadata, name)
        if observed is not None and name in page.metadata:
            canonical = metadata_text(page.metadata, name) or ""
            if len(observed) >= NAME_CHARACTERS:  # the gateway may have cut it
                canonical = canonical[: len(observed)]
            if _normalize_name(observed) != _normalize_name(canonical):
                yield name, observed, canonical
    observed, canonical = find_host(observation.url), find_host(page.url)
    # A name under the site's own domain belongs to the site, and to the post as far as `check` accepts it.
    if canonical and observed != canonical and observed != find_host(site.address(observation)):
        yield "host", observed, canonical


def _normalize_name(name: str) -> str:
    return normalize(name.replace("_", " "))


def make_events(
    pinned: PinnedVersion,
    state: VersionState,
    content: TextRef,
    observation: Observation,
    page: CanonicalPage | None,
    site: Platform,
) -> list[Event]:
    """The events of an observation; the version's own event comes last, since it is the reply to the reader.

    A repeated observation yields the same event again, or one reader would be counted twice.
    """
    provenance: Provenance = "SERVER_VERIFIED" if pinned.verified or state.verified else "CLIENT_FALLBACK"
    sighting = _sighting(observation, page if pinned.verified else None, site)
    version: Event
    if not state.registered or state.registered_by == observation.observation_id:
        version = VersionRegistered(
            version_id=pinned.version_id,
            post_id=pinned.post_id,
            post=pinned.post,
            version_hash=pinned.version_hash,
            provenance=provenance,
            sighting=sighting,
            content=content,
            word_count=word_count(pinned.text),
            occurrences_hash=pinned.occurrences_hash,
            occurrences=pinned.occurrences,
        )
    else:
        verifies = pinned.verified and (not state.verified or state.verified_by == observation.observation_id)
        version = (VersionVerified if verifies else VersionSeen)(
            version_id=pinned.version_id,
            post_id=pinned.post_id,
            post=pinned.post,
            version_hash=pinned.version_hash,
            provenance=provenance,
            sighting=sighting,
        )
    return [*pinned.anomalies, version]


def _sighting(observation: Observation, page: CanonicalPage | None, site: Platform) -> Sighting:
    """What an observation says beyond the text; the site's metadata overrides the reader's."""
    metadata = observation.metadata if page is None else {**observation.metadata, **page.metadata}
    return Sighting(
        observation_id=observation.observation_id,
        url=(page.url if page is not None else None) or site.address(observation),
        author=site.author(metadata),
        server_html=None if page is None else page.html,
        client_html=observation.html,
        image_urls=observation.image_urls,
        metadata={name: value for name, value in metadata.items() if value is not None},
        attested=observation.attested,
        site_confirmed=page is not None,
        network_key=observation.network_key,
    )
