"""The metadata of versions."""

from __future__ import annotations

from dataclasses import replace

from contracts.rpc.observation import ObservedWithText
from contracts.v1.version import VersionEvent
from platforms import find_platform
from platforms.stored import Document
from services.projector.facts.fact import Fact
from services.projector.projections import bounds
from services.projector.rows.table import Tables
from services.projector.rows.versions import METADATA, Metadata


def put(tables: Tables, fact: Fact, event: VersionEvent) -> bool:
    """Write a sighting's metadata; False if it lacks the page that its platform requires."""
    document = _document(event)
    if document is None:
        return False
    server, client = event.sighting.server_html, event.sighting.client_html
    row = Metadata(
        post_version_id=event.version_id,
        platform=event.post.platform,
        server_html_hash=server.sha256 if server else None,
        client_html_hash=client.sha256 if client else None,
        image_urls=list(event.sighting.image_urls),
        document=document,
        created_at=fact.at,
    )
    older = tables[METADATA].get((row.post_version_id, row.platform))
    tables[METADATA].put(row if older is None else merge(older, row))
    return True


def merge(older: Metadata, newer: Metadata) -> Metadata:
    """The metadata of two sightings: the site's newest, or else the first reader's; and the first reader's HTML."""
    row = newer if newer.server_html_hash else older
    client_html_hash = older.client_html_hash or newer.client_html_hash
    return replace(row, created_at=older.created_at, client_html_hash=client_html_hash)


def title_of(event: VersionEvent) -> str | None:
    """A post's title as people read it."""
    site = find_platform(event.post.platform)
    return None if site is None else bounds.title(site.title(event.sighting.metadata))


def _document(event: VersionEvent) -> Document | None:
    """The metadata to store; None without the page that the platform reads, empty for an unknown platform."""
    site = find_platform(event.post.platform)
    if site is None:
        return {}
    has_html = event.sighting.server_html is not None or event.sighting.client_html is not None
    if not has_html and not issubclass(site.observed, ObservedWithText):
        return None
    return site.document(event.post, event.sighting.metadata)
