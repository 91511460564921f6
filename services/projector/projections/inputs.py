"""What an investigation was given: its input is frozen by the first attempt, with the fate of every picture."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from contracts.v1 import InvestigationStarted
from contracts.v1.parts import Picture
from services.projector.projections.material import Material
from services.projector.rows import investigations as rows
from services.projector.rows.table import Tables


def freeze(
    tables: Tables, state: rows.Investigation, event: InvestigationStarted, at: datetime, material: Material
) -> None:
    """Keep what the first attempt was given; later ones are given the same."""
    id_, given = state.id, event.input
    state.input_id = id_
    markdown = material.texts.get(given.markdown.sha256) if given.markdown else None
    source = given.markdown_source if markdown is not None else "NONE"
    if source == "NONE":
        markdown = None
    renderer = (given.markdown_renderer_version or "unknown") if markdown is not None else None
    tables[rows.INPUTS].add(rows.Input(id_, given.provenance, given.content.sha256, source, markdown, renderer, at))
    tables[rows.PROVENANCES].add(rows.Provenance(id_, given.provenance))
    _add_pictures(tables, id_, given.pictures, at)
    diff = material.texts.get(given.content_diff.sha256) if given.content_diff else None
    if given.parent_investigation_id is not None and diff is not None:
        state.parent_investigation_id, state.content_diff = given.parent_investigation_id, diff


def _add_pictures(tables: Tables, investigation: UUID, pictures: Iterable[Picture], at: datetime) -> None:
    order = 0
    for picture in pictures:
        blob = picture.blob
        if blob is not None:
            key = f"sha256/{blob.sha256}"
            tables[rows.IMAGE_BLOBS].add(
                rows.ImageBlob(blob.sha256, key, picture.source_url, blob.media_type, blob.size_bytes, at)
            )
            tables[rows.IMAGES].add(rows.InvestigationImage(investigation, blob.sha256, order))
            order += 1
        tables[rows.PICTURE_FATES].add(
            rows.PictureFate(
                investigation,
                picture.original_index,
                picture.source_url,
                picture.status,
                blob.sha256 if blob is not None else None,
                picture.same_as,
                picture.reason,
            )
        )
