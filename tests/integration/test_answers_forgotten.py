"""What was bought for an investigation and lies under its name goes when its post is forgotten, on a real S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from uuid import uuid4

import pytest

from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.bus import Bus
from lifecycle.planning import step_name
from services.commands.erase import StoreEraser
from services.validator.handlers import Validator
from tests.support.factories import VERSION_ID, proposed, requested, snapshot, started
from tests.support.fakes import ListedSources, MemoryKeys, MemoryLog, StillClock, handled, investigator_over
from tests.support.openai_server import Answer, message
from tests.support.providers import OPENAI, provider
from tests.support.servers import S3

pytest_plugins = ["tests.support.servers"]

LONG = "So they say. " * 2_000
"""So much that no answer travels inside a fact."""
RUN = Answer((message(LONG),))
REVIEW = Answer((message(f'{{"approved": true, "reason": "{LONG}"}}'),))


@pytest.fixture
def blobs(s3: S3) -> Iterator[Blobs]:
    """The store."""
    store = Blobs(BlobSettings(s3.endpoint.partition("//")[2] or s3.endpoint, s3.access_key, s3.secret_key, s3.bucket))
    yield store
    store.close()


@pytest.mark.parametrize("who", ["investigator", "validator"])
async def test_what_a_worker_stored_is_found_by_its_investigation_and_goes(blobs: Blobs, who: str) -> None:
    investigation, other = requested().investigation_id, uuid4()
    elsewhere = await blobs.put_text(LONG, step_name(other, 1, None))
    eraser = StoreEraser(cast(Bus, None), blobs)
    if who == "investigator":
        log = MemoryLog(requested(), versions={VERSION_ID: snapshot()})
        async with provider(OPENAI, RUN) as (model, _):
            await handled(investigator_over(log, blobs, model).on_investigation_requested(requested(), 1), log)
        step = step_name(investigation, 1, None)
    else:
        log = MemoryLog(requested(), started(), proposed(), versions={VERSION_ID: snapshot()})
        async with provider(OPENAI, REVIEW) as (model, _):
            judge = Validator(log, blobs, MemoryKeys(), model, ListedSources(), StillClock())
            await handled(judge.on_claim_proposed(proposed(), 1), log)
        step = f"{investigation}/1/{proposed().claim_id}"
    kept = await blobs.answers(str(investigation))
    assert kept == await blobs.answers(step) != []
    await eraser.erase_folder(f"answers/{investigation}")
    assert await blobs.answers(str(investigation)) == []
    assert kept[0].sha256 not in await blobs.names()
    assert await blobs.answers(str(other)) == [elsewhere]
