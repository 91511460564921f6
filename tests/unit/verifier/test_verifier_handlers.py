"""There is exactly one answer wherever somebody can be asked."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, ObservationReceived
from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import PostRef, TextRef
from kit.errors import Reject, Retry
from services.verifier.domain import Overloaded, Unavailable
from services.verifier.handlers import Verifier

POST = PostRef(platform="WIKIPEDIA", external_id="en:1")
OBSERVATION = Observation(observation_id=uuid4(), post=POST, url="https://en.wikipedia.org/wiki/A")


class FixedPages:
    """Always the same outcome."""

    def __init__(self, outcome: CanonicalPage | Unavailable | Overloaded) -> None:
        self._outcome = outcome

    async def page(self, observation: Observation, delivery_count: int) -> CanonicalPage | Unavailable | Overloaded:
        return self._outcome


async def facts(outcome: CanonicalPage | Unavailable | Overloaded) -> list[object]:
    event = ObservationReceived(observation=OBSERVATION)
    return [fact async for fact in Verifier(FixedPages(outcome)).on_observation_received(event, 1)]


@pytest.mark.requirement("2.9-01")
async def test_a_page_that_was_served() -> None:
    """2.9-01: LessWrong server verification."""
    page = CanonicalPage(
        post=PostRef(platform="WIKIPEDIA", external_id="en:2"),
        source_url="https://en.wikipedia.org/w/api.php",
        html=TextRef(sha256="0" * 64, size_bytes=1, inline="x"),
        revision_id="7",
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert await facts(page) == [CanonicalFetched(observation=OBSERVATION, page=page)]


@pytest.mark.requirement("2.9-06", "2.9-14")
async def test_a_page_that_was_not() -> None:
    """2.9-06: Degraded path on fetch failure.
    2.9-14: Fetch failure reason kept for audit.
    """
    assert await facts(Unavailable("timeout", "no answer")) == [
        CanonicalUnavailable(observation=OBSERVATION, reason="timeout", detail="no answer")
    ]


async def test_a_crowd_is_told_to_come_back() -> None:
    with pytest.raises(Retry) as retry:
        await facts(Overloaded(0.5))
    assert retry.value.after_s == 0.5


async def test_a_site_that_nobody_knows_is_refused() -> None:
    seen = OBSERVATION.model_copy(update={"post": PostRef(platform="GEOCITIES", external_id="1")})
    verifier = Verifier(FixedPages(Unavailable("timeout")))
    with pytest.raises(Reject, match="GEOCITIES"):
        [fact async for fact in verifier.on_observation_received(ObservationReceived(observation=seen), 1)]
