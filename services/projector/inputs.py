"""What an investigation was given: its input is frozen by the first attempt, with the fate of every picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from contracts.v1 import InvestigationStarted
from contracts.v1.parts import Picture
from services.projector.investigations import (
    ImageBlob,
    Input,
    Investigation,
    InvestigationImage,
    Lifecycles,
    PictureFate,
)


def freeze(
    lives: Lifecycles, state: Investigation, event: InvestigationStarted, at: datetime, texts: Mapping[str, str]
) -> None:
    """Keep what the first attempt was given; later ones are given the same."""
    given = event.input
    markdown = texts.get(given.markdown.sha256) if given.markdown else None
    source = given.markdown_source if markdown is not None else "NONE"
    if source == "NONE":
        markdown = None
    renderer = (given.markdown_renderer_version or "unknown") if markdown is not None else None
    lives.inputs[state.id] = Input(state.id, given.provenance, given.content.sha256, source, markdown, renderer, at)
    state.input_id = state.id
    _pictures(lives, state.id, given.pictures, at)
    diff = texts.get(given.content_diff.sha256) if given.content_diff else None
    if given.parent_investigation_id is not None and diff is not None:
        state.parent_investigation_id, state.content_diff = given.parent_investigation_id, diff


def _pictures(lives: Lifecycles, investigation: UUID, pictures: Iterable[Picture], at: datetime) -> None:
    order = 0
    for picture in pictures:
        blob = picture.blob
        if blob is not None:
            key = f"sha256/{blob.sha256}"
            lives.image_blobs.setdefault(
                blob.sha256, ImageBlob(blob.sha256, key, picture.source_url, blob.media_type, blob.size_bytes, at)
            )
            lives.images.append(InvestigationImage(investigation, blob.sha256, order))
            order += 1
        lives.picture_fates.append(
            PictureFate(
                investigation,
                picture.original_index,
                picture.source_url,
                picture.status,
                blob.sha256 if blob is not None else None,
                picture.same_as,
                picture.reason,
            )
        )
