"""What a run looks at: chosen from what the log says of a version, with the article as Markdown.

Markdown is given to the model only if it says what the version's text says. HTML that a reader sent beside another text
would otherwise have the model look at an article that nobody reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from pydantic import TypeAdapter, ValidationError

from contracts.v1 import VersionRegistered
from contracts.v1.parts import ImageOccurrence, InvestigationInput, MarkdownSource, TextRef
from contracts.v1.version import VersionEvent
from kit.blobs import BlobMissing
from platforms import platform
from platforms.markdown import Rendered, render
from platforms.markup import UnparseableHtml
from services.investigator.ports import Blobs

log = structlog.get_logger(__name__)
_moment = TypeAdapter(datetime)


@dataclass(frozen=True)
class Seen:
    """A version as the log knows it.

    Shapes: `html` is what `source` names, None exactly if that is NONE; `base_url` is where `occurrences` were seen.
    """

    plain: InvestigationInput
    base_url: str
    occurrences: tuple[ImageOccurrence, ...]
    source: MarkdownSource
    html: TextRef | None
    external_id: str = ""


def look(facts: Sequence[VersionEvent]) -> Seen | None:
    """Choose from a version's facts, in the order of the log; None if it was not registered.

    Shapes: the best provenance, the newest description. Of the site's HTML the latest counts, and no reader's beside
    it; of readers' the first. Source: specification 2.4.4, CONTRACT 4.9.
    """
    registered = next((fact for fact in facts if isinstance(fact, VersionRegistered)), None)
    if registered is None:
        return None
    newest = facts[-1].sighting
    verified = any(fact.provenance == "SERVER_VERIFIED" for fact in facts)
    published = newest.metadata.get("published_at") or newest.metadata.get("posted_at")
    source: MarkdownSource = "SERVER_HTML" if verified else "CLIENT_HTML"
    pages = (
        [fact.sighting.server_html for fact in reversed(facts)]
        if verified
        else [fact.sighting.client_html for fact in facts]
    )
    html = next((page for page in pages if page is not None), None)
    return Seen(
        plain=InvestigationInput(
            provenance="SERVER_VERIFIED" if verified else "CLIENT_FALLBACK",
            platform=registered.post.platform,
            url=newest.url,
            author_name=newest.author.display_name if newest.author else None,
            published_at=_moment_or_none(published),
            content=registered.content,
        ),
        base_url=registered.sighting.url,
        occurrences=registered.occurrences,
        source=source if html is not None else "NONE",
        html=html,
        external_id=registered.post.external_id,
    )


class _Unusable(Exception):
    """This HTML is not to be shown as the version."""


async def with_markdown(seen: Seen, texts: Blobs) -> InvestigationInput:
    """The input with the article as Markdown, or without where there is no HTML that can be used; the log says why."""
    if seen.html is None:
        return seen.plain
    try:
        html, text = await asyncio.gather(texts.get_text(seen.html), texts.get_text(seen.plain.content))
        # A long page takes long enough for others to notice, this run's own heartbeat among them.
        rendered = await asyncio.to_thread(_render, html, text, seen)
    except (BlobMissing, UnparseableHtml, _Unusable) as error:
        log.warning("the model gets plain text", url=seen.plain.url, source=seen.source, reason=str(error))
        return seen.plain
    return seen.plain.model_copy(
        update={
            "markdown_source": seen.source,
            "markdown": await texts.put_text(rendered.text),
            "markdown_renderer_version": rendered.renderer_version,
            "has_video": rendered.has_video,
            "image_marker": rendered.image_marker,
        }
    )


def _render(html: str, text: str, seen: Seen) -> Rendered:
    try:
        site = platform(seen.plain.platform)
    except KeyError:
        raise _Unusable(f"no platform {seen.plain.platform!r} is known here") from None
    if site.extract_text(html, seen.external_id) != text:
        raise _Unusable("the HTML holds another text than the version")
    return render(html, base_url=seen.base_url, occurrences=seen.occurrences, site=site, external_id=seen.external_id)


def _moment_or_none(value: object) -> datetime | None:
    try:
        return _moment.validate_python(value) if isinstance(value, str) else None
    except ValidationError:
        return None
