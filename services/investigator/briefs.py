"""What a look is asked: the frozen input as the kind's material, and that as a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from uuid import UUID

from analyses.flagging import Earlier, Look, Material
from contracts.v1.parts import ClaimPayload, InvestigationInput, Picture, TextRef
from services.investigator.ports import Article, Blobs, Brief, Image, Limits

Found = ClaimPayload | UUID
"""What a look decides: a new claim, or the id of an old one that is kept."""


async def read_material(taken: InvestigationInput, blobs: Blobs) -> Material:
    """The input with its texts."""

    async def read(ref: TextRef | None) -> str | None:
        return None if ref is None else await blobs.get_text(ref)

    text = await blobs.get_text(taken.content)  # one after another: nearly all are inline
    markdown, diff = await read(taken.markdown), await read(taken.content_diff)
    return Material(
        platform=taken.platform,
        url=taken.url,
        text=text,
        markdown=markdown,
        author_name=taken.author_name,
        published_at=taken.published_at,
        has_video=taken.has_video,
        image_marker=taken.image_marker,
        pictures=taken.pictures,
        earlier=Earlier(taken.old_claims, diff or "") if taken.parent_investigation_id is not None else None,
    )


async def write_brief(
    look: Look,
    material: Material,
    blobs: Blobs,
    research: Mapping[str, Callable[[str], Awaitable[str]]],
    limits: Limits,
) -> Brief[Found, None]:
    """The conversation, with the bytes of the pictures that are shown in it."""

    async def load(part: str | Picture) -> str | Image:
        if isinstance(part, str):
            return part
        assert part.blob is not None, "a picture that is shown has bytes"
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
