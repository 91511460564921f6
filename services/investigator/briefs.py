"""Builds the brief of a run from its frozen input."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from uuid import UUID

from analyses.flagging import Earlier, Look, Material
from contracts.v1.parts import ClaimPayload, InvestigationInput, Picture, TextRef
from kit.models.base import Article, Brief, Image, Limits
from services.investigator.ports import Blobs

Found = ClaimPayload | UUID
"""A decision of the model: a new claim, or the id of an earlier one that is kept."""


async def read_material(input_: InvestigationInput, blobs: Blobs) -> Material:
    """Load the texts of the input."""

    async def read(ref: TextRef | None) -> str | None:
        return None if ref is None else await blobs.get_text(ref)

    text = await blobs.get_text(input_.content)  # one after another: nearly all are inline
    markdown, diff = await read(input_.markdown), await read(input_.content_diff)
    return Material(
        platform=input_.platform,
        url=input_.url,
        text=text,
        markdown=markdown,
        author_name=input_.author_name,
        published_at=input_.published_at,
        has_video=input_.has_video,
        image_marker=input_.image_marker,
        pictures=input_.pictures,
        earlier=Earlier(input_.old_claims, diff or "") if input_.parent_investigation_id is not None else None,
        objection=input_.objection,
    )


async def write_brief(
    look: Look,
    material: Material,
    blobs: Blobs,
    research: Mapping[str, Callable[[str], Awaitable[str]]],
    limits: Limits,
) -> Brief[Found, None]:
    """Build the brief, with the bytes of the pictures."""

    async def load(part: str | Picture) -> str | Image:
        if isinstance(part, str):
            return part
        assert part.blob is not None
        return Image(part.blob, await blobs.get(part.blob.sha256))

    return Brief(
        step=look.name,
        instructions=look.prompt.text,
        parts=tuple(await asyncio.gather(*map(load, look.brief(material)))),
        read=look.read,
        turns=look.turns,
        tools=look.tools(material),
        decide=partial(look.decide, material=material),
        research=research,
        limits=limits,
        subject=Article(material.text, {claim.claim_id: claim.payload.text for claim in material.old_claims}),
    )
