"""Which text counts, and under which identity: the site's wherever the site has spoken.

A reader is never refused because site and reader disagree; the disagreement becomes an anomaly (specification 2.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from contracts.v1 import Event, IntegrityAnomalyDetected, VersionRegistered, VersionSeen, VersionVerified
from contracts.v1.ids import post_id, version_id
from contracts.v1.parts import (
    CanonicalPage,
    ImageOccurrence,
    Observation,
    PostRef,
    Provenance,
    Sighting,
    TextRef,
)
from contracts.v1.version import VersionEvent
from platforms.base import Platform, metadata_text
from platforms.identity import content_hash, fit_occurrences, occurrences_hash, version_hash
from platforms.text import normalize, word_count
from platforms.urls import parse_url

_NAMES: Final = ("title", "author_name", "author_slug", "author_substack_handle")


@dataclass(frozen=True)
class Known:
    """What the log already says about a version, and by which observations it was registered and verified."""

    registered: bool = False
    verified: bool = False
    registered_by: UUID | None = None
    verified_by: UUID | None = None


def known_from(told: Iterable[Event]) -> Known:
    """Fold a version's facts; each kind's newest is enough."""
    facts = [fact for fact in told if isinstance(fact, VersionEvent)]

    def by(kind: type[VersionEvent]) -> UUID | None:
        return next((fact.sighting.observation_id for fact in reversed(facts) if isinstance(fact, kind)), None)

    return Known(
        registered=bool(facts),
        verified=any(fact.provenance == "SERVER_VERIFIED" for fact in facts),
        registered_by=by(VersionRegistered),
        verified_by=by(VersionVerified),
    )


@dataclass(frozen=True)
class Pinned:
    """A version, derived from content alone, and what contradicts the reader."""

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
) -> Pinned:
    """Decide which text and identity the version has.

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
        contradictions += _disputed(observation, page, site)
    if dropped:
        contradictions.append(("image_occurrences", "; ".join(dropped), f"{len(occurrences)} kept"))
    return Pinned(
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


def _disputed(observation: Observation, page: CanonicalPage, site: Platform) -> Iterator[tuple[str, str, str]]:
    """What the reader says of the post and the site says otherwise; what only one of them mentions is no dispute.

    Not all that a site tells: some of it changes by the minute.
    """
    for name in _NAMES:
        observed = metadata_text(observation.metadata, name)
        if observed is not None and name in page.metadata:
            canonical = metadata_text(page.metadata, name) or ""
            if _as_read(observed) != _as_read(canonical):
                yield name, observed, canonical
    observed, canonical = _host(observation.url), _host(page.url)
    # A name under the site's own domain is the site's, and the post's wherever `check` let it pass.
    if canonical and observed != canonical and observed != _host(site.address(observation)):
        yield "host", observed, canonical


def _as_read(name: str) -> str:
    return normalize(name.replace("_", " "))


def _host(url: str | None) -> str:
    page = parse_url(url or "")
    return "" if page is None else page.host.lower().removeprefix("www.")


def facts(
    pinned: Pinned,
    known: Known,
    content: TextRef,
    observation: Observation,
    page: CanonicalPage | None,
    site: Platform,
) -> list[Event]:
    """What happened, the version's own fact last: it is the answer the reader waits for.

    An observation that comes again tells the same fact again, or one reader would be counted as two.
    """
    provenance: Provenance = "SERVER_VERIFIED" if pinned.verified or known.verified else "CLIENT_FALLBACK"
    sighting = _sighting(observation, page if pinned.verified else None, site)
    version: Event
    if not known.registered or known.registered_by == observation.observation_id:
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
        verifies = pinned.verified and (not known.verified or known.verified_by == observation.observation_id)
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
    """What is told of a post beyond its text: where the site has spoken, its word and not the reader's."""
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
