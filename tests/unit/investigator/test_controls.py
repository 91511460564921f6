"""A model cannot tell a control from an ordinary post."""

from __future__ import annotations

from dataclasses import fields
from uuid import UUID

import pytest

from contracts.v1 import InvestigationRequested
from contracts.v1.ids import investigation_id
from kit.models.base import Brief
from tests.support.factories import requested, snapshot
from tests.support.fakes import MemoryLog
from tests.support.investigating import InMemory, Looker

BATCH = UUID("6a1f0c7e-4a11-5b1f-9d7c-8d2b5b1f6a52")
CODE = {"read", "decide", "research"}
"""Of a brief, what stays here; the rest is what a provider makes the request's bytes of."""


async def brief_of(request: InvestigationRequested) -> bytes:
    journal = InMemory(MemoryLog(versions={request.version_id: snapshot()}))
    await journal.tell(request)
    looker = Looker(journal)
    await looker.deliver(request=request)
    (brief,) = looker.model.briefs
    assert isinstance(brief, Brief)
    return repr([(each.name, getattr(brief, each.name)) for each in fields(brief) if each.name not in CODE]).encode()


@pytest.mark.requirement("TR-43")
async def test_a_control_has_the_prompt_of_an_ordinary_post_to_the_byte() -> None:
    """TR-43: Controls are committed to before they run, and their prompts are those of ordinary posts to the byte."""
    ordinary = requested()
    control = ordinary.model_copy(
        update={
            "origin": "CONTROL",
            "origin_id": BATCH,
            "investigation_id": investigation_id(ordinary.version_id, ordinary.analysis, "CONTROL", BATCH),
        }
    )
    assert await brief_of(control) == await brief_of(ordinary)
