"""Posts and versions: the site's data overrides readers' data, of which the first counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.v1 import CanonicalUnavailable, IntegrityAnomalyDetected, VersionRegistered, VersionVerified
from contracts.v1.ids import author_id, post_id
from contracts.v1.version import VersionEvent
from platforms import find_platform
from platforms.base import HIDDEN_BY_AUTHOR
from services.projector.facts.fact import Fact
from services.projector.projections import bounds, metadata
from services.projector.projections.material import Material
from services.projector.rows import versions as rows
from services.projector.rows.table import RowKey, Tables

VERSION: Final = rows.VERSIONS.by()
_AUTHOR: Final = rows.AUTHORS.by()
_POST: Final = rows.POSTS.by()
_HEADING: Final = rows.HEADINGS.by()
_FAILURE: Final = rows.FAILURES.by()
_METADATA: Final = rows.METADATA.by()


def sighting_keys(event: VersionEvent) -> Sequence[RowKey]:
    """The rows that a sighting is about."""
    keys: list[RowKey] = [
        (VERSION, event.version_id),
        (_POST, event.post_id),
        (_METADATA, (event.version_id, event.post.platform)),
    ]
    if (author := _author_of(event)) is not None:
        keys.append((_AUTHOR, author))
    if event.provenance == "CLIENT_FALLBACK":
        keys.append((_FAILURE, event.sighting.observation_id))
    return keys


def heading_keys(event: VersionRegistered | VersionVerified) -> Sequence[RowKey]:
    """The rows that a sighting is about if it may change the version's heading."""
    return (*sighting_keys(event), (_HEADING, event.version_id))


def failure_keys(event: CanonicalUnavailable) -> Sequence[RowKey]:
    """The row of an observation that could not be confirmed, and its author's."""
    author = _hidden_author(event)
    failure: RowKey = (_FAILURE, event.observation.observation_id)
    return (failure,) if author is None else (failure, (_AUTHOR, author))


def register(tables: Tables, fact: Fact, event: VersionRegistered, material: Material) -> None:
    """A version was observed for the first time, or by two readers at once."""
    if tables[rows.VERSIONS].get(event.version_id) is None:
        tables[rows.VERSIONS].put(
            rows.Version(
                event.version_id,
                event.post_id,
                event.version_hash,
                event.content.sha256,
                event.occurrences_hash,
                None,
                fact.at,
                fact.at,
                0,
                fact.correlation,
            )
        )
    _put_heading(tables, event)
    _add_content(tables, fact, event, material)
    sight(tables, fact, event, material)


def verify(tables: Tables, fact: Fact, event: VersionVerified, material: Material) -> None:
    """A site confirmed a version that a reader sent."""
    _put_heading(tables, event)
    sight(tables, fact, event, material)


def sight(tables: Tables, fact: Fact, event: VersionEvent, material: Material) -> None:
    """A version was observed, by a reader or on its site."""
    _put_post(tables, fact, event)
    has_meta = metadata.put(tables, fact, event)
    if has_meta:
        for ref in (event.sighting.server_html, event.sighting.client_html):
            if ref is not None and (html := material.texts.get(ref.sha256)) is not None:
                tables[rows.HTMLS].add(rows.Html(ref.sha256, html, fact.at))
    if event.provenance == "CLIENT_FALLBACK":
        observation = event.sighting.observation_id
        failure = tables[rows.FAILURES].get(observation) or rows.Failure(observation)
        tables[rows.FAILURES].put(replace(failure, post_version_id=event.version_id))
    version = tables[rows.VERSIONS].edit(event.version_id)
    if version is not None:
        verified_at = version.server_verified_at or _verified_at(fact, event, has_meta=has_meta)
        if verified_at != version.server_verified_at:
            tables.listable.setdefault(version.id)
        version.seen_count += 1
        version.last_seen_at = max(version.last_seen_at, fact.at)
        version.server_verified_at = verified_at


def fail(tables: Tables, fact: Fact, event: CanonicalUnavailable, material: Material) -> None:
    """An observation could not be confirmed; the first reason stands."""
    observation = event.observation.observation_id
    failure = tables[rows.FAILURES].get(observation) or rows.Failure(observation)
    if failure.reason is None:
        tables[rows.FAILURES].put(
            replace(
                failure,
                reason=event.reason,
                detail=event.detail,
                failed_at=fact.at,
                post_id=post_id(event.observation.post),
            )
        )
    author = _hidden_author(event)
    if author is not None and (known := tables[rows.AUTHORS].get(author)) is not None:
        tables[rows.AUTHORS].put(replace(known, hidden_at=fact.at))


def contradict(tables: Tables, fact: Fact, event: IntegrityAnomalyDetected, material: Material) -> None:
    """What a reader sent and what the site says differ."""
    tables[rows.ANOMALIES].add(
        rows.Anomaly(
            event.observation_id,
            event.kind,
            event.post_id,
            event.post.platform,
            event.post.external_id,
            event.observed,
            event.canonical,
            fact.at,
        )
    )


def _put_heading(tables: Tables, event: VersionRegistered | VersionVerified) -> None:
    sighting = event.sighting
    confirmed = sighting.server_html is not None
    before = tables[rows.HEADINGS].get(event.version_id)
    if before is not None and (before.confirmed or not confirmed):
        return
    tables[rows.HEADINGS].put(
        rows.Heading(
            event.version_id,
            bounds.url(sighting.url),
            metadata.title_of(event),
            _author_of(event),
            bounds.name(sighting.author.display_name) if sighting.author else None,
            confirmed,
        )
    )


def _add_content(tables: Tables, fact: Fact, event: VersionRegistered, material: Material) -> None:
    text_hash = event.content.sha256
    if (text := material.texts.get(text_hash)) is not None:
        tables[rows.CONTENTS].add(rows.Content(text_hash, text, event.word_count, fact.at))
    tables[rows.OCCURRENCE_SETS].add(rows.OccurrenceSet(event.occurrences_hash, fact.at))
    for occurrence in event.occurrences:
        tables[rows.OCCURRENCES].add(
            rows.Occurrence(
                event.occurrences_hash,
                occurrence.original_index,
                occurrence.normalized_text_offset,
                occurrence.source_url,
                occurrence.caption_text,
            )
        )


def _put_post(tables: Tables, fact: Fact, event: VersionEvent) -> None:
    confirmed = event.sighting.server_html is not None
    url = bounds.url(event.sighting.url)
    author = _put_author(tables, fact, event, confirmed=confirmed)
    post = tables[rows.POSTS].edit(event.post_id)
    if post is None:
        platform, external_id = event.post.platform, event.post.external_id
        post = rows.Post(event.post_id, platform, external_id, url, author, fact.at, fact.at, confirmed)
        tables[rows.POSTS].put(post)
    post.updated_at = max(post.updated_at, fact.at)
    if confirmed:
        post.url, post.author_id, post.confirmed = url, author, True
    elif not post.confirmed and post.author_id is None:
        post.author_id = author


def _put_author(tables: Tables, fact: Fact, event: VersionEvent, *, confirmed: bool) -> UUID | None:
    given = event.sighting.author
    id_ = _author_of(event)
    if given is None or id_ is None:
        return None
    name = bounds.name(given.display_name)
    known = tables[rows.AUTHORS].get(id_)
    if known is None:
        author = rows.Author(id_, event.post.platform, given.platform_user_id, name, fact.at, fact.at, confirmed)
        tables[rows.AUTHORS].put(author)
    elif confirmed:
        tables[rows.AUTHORS].put(replace(known, display_name=name, updated_at=fact.at, confirmed=True, hidden_at=None))
    return id_


def _hidden_author(event: CanonicalUnavailable) -> UUID | None:
    """The author who asked not to be shown, if that is why the page is unavailable."""
    observation = event.observation
    site = find_platform(observation.post.platform)
    if event.reason != HIDDEN_BY_AUTHOR or site is None:
        return None
    author = site.author(observation.metadata)
    return author_id(observation.post.platform, author.platform_user_id) if author else None


def _author_of(event: VersionEvent) -> UUID | None:
    author = event.sighting.author
    return author_id(event.post.platform, author.platform_user_id) if author else None


def _verified_at(fact: Fact, event: VersionEvent, *, has_meta: bool) -> datetime | None:
    """When the site verified the version; None without the page, which is the evidence."""
    shown = has_meta and event.sighting.server_html is not None
    return fact.at if shown and event.provenance == "SERVER_VERIFIED" else None
