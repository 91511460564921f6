"""The input of a run: chosen from the facts of a version, with the article as Markdown.

Markdown is used only if its HTML has the text of the version. A reader could otherwise send HTML of another article.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from pydantic import TypeAdapter, ValidationError

from contracts.v1 import VersionRegistered
from contracts.v1.pages import Sighting
from contracts.v1.parts import ImageOccurrence, InvestigationInput, MarkdownSource, TextRef
from contracts.v1.version import VersionEvent
from kit.blob_settings import BlobMissing
from platforms import get_platform
from platforms.markdown import Rendered, render
from platforms.markup_cost import UnparseableHtml
from services.investigator.ports import Blobs

log = structlog.get_logger(__name__)
_datetime = TypeAdapter(datetime)


@dataclass(frozen=True)
class VersionSnapshot:
    """A version as the log has it.

    Shapes: `html` is what `source` names, None exactly if that is NONE; `occurrences` are relative to `base_url`.
    """

    plain: InvestigationInput
    base_url: str
    occurrences: tuple[ImageOccurrence, ...]
    source: MarkdownSource
    html: TextRef | None
    external_id: str = ""


def choose_snapshot(facts: Sequence[VersionEvent]) -> VersionSnapshot | None:
    """Choose from a version's facts, in the order of the log; None if it was not registered.

    Takes the best provenance; the newest metadata, a reader's only if the site gave none; the latest HTML of the site
    if it verified the text, else the first HTML of a reader. Source: requirements 2.4.4.
    """
    registered = next((fact for fact in facts if isinstance(fact, VersionRegistered)), None)
    if registered is None:
        return None
    newest = next((fact.sighting for fact in reversed(facts) if _is_of_the_site(fact.sighting)), facts[-1].sighting)
    verified = any(fact.provenance == "SERVER_VERIFIED" for fact in facts)
    published = newest.metadata.get("published_at") or newest.metadata.get("posted_at")
    source: MarkdownSource = "SERVER_HTML" if verified else "CLIENT_HTML"
    pages = (
        [fact.sighting.server_html for fact in reversed(facts)]
        if verified
        else [fact.sighting.client_html for fact in facts]
    )
    html = next((page for page in pages if page is not None), None)
    return VersionSnapshot(
        plain=InvestigationInput(
            provenance="SERVER_VERIFIED" if verified else "CLIENT_FALLBACK",
            platform=registered.post.platform,
            url=newest.url,
            author_name=newest.author.display_name if newest.author else None,
            published_at=_parse_datetime(published),
            content=registered.content,
        ),
        base_url=registered.sighting.url,
        occurrences=registered.occurrences,
        source=source if html is not None else "NONE",
        html=html,
        external_id=registered.post.external_id,
    )


def _is_of_the_site(sighting: Sighting) -> bool:
    """Whether address, dates and author are the site's own: the gates judge by them."""
    return sighting.server_html is not None if sighting.site_confirmed is None else sighting.site_confirmed


class _Unusable(Exception):
    """The HTML does not belong to the version."""


async def add_markdown(snapshot: VersionSnapshot, texts: Blobs) -> InvestigationInput:
    """The input with the article as Markdown; without it, and with a warning, if the HTML is unusable."""
    if snapshot.html is None:
        return snapshot.plain
    try:
        html, text = await asyncio.gather(texts.get_text(snapshot.html), texts.get_text(snapshot.plain.content))
        # In a thread: a long page would block the event loop and with it the heartbeat of this run.
        rendered = await asyncio.to_thread(_render, html, text, snapshot)
    except (BlobMissing, UnparseableHtml, _Unusable) as error:
        log.warning("the model gets plain text", url=snapshot.plain.url, source=snapshot.source, reason=str(error))
        return snapshot.plain
    return snapshot.plain.model_copy(
        update={
            "markdown_source": snapshot.source,
            "markdown": await texts.put_text(rendered.text),
            "markdown_renderer_version": rendered.renderer_version,
            "has_video": rendered.has_video,
            "image_marker": rendered.image_marker,
        }
    )


def _render(html: str, text: str, snapshot: VersionSnapshot) -> Rendered:
    try:
        site = get_platform(snapshot.plain.platform)
    except KeyError:
        raise _Unusable(f"unknown platform {snapshot.plain.platform!r}") from None
    if site.extract_text(html, snapshot.external_id) != text:
        raise _Unusable("the HTML holds another text than the version")
    return render(
        html, base_url=snapshot.base_url, occurrences=snapshot.occurrences, site=site, external_id=snapshot.external_id
    )


def _parse_datetime(value: object) -> datetime | None:
    try:
        return _datetime.validate_python(value) if isinstance(value, str) else None
    except ValidationError:
        return None
