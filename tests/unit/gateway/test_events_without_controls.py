"""Clients of `/events` get nothing of a control, and a page of nothing else does not end their history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import ClaimApproved, FindingChanged, InvestigationCompleted
from kit.ordered import StoredMessage
from kit.pages import LogPage
from services.gateway.public.stream.controls import WithoutControls

ORDINARY, CONTROL = UUID(int=1), UUID(int=2)
SUBJECTS: Final = [
    f"{event.SUBJECT}.{key}"
    for event in (ClaimApproved, InvestigationCompleted, FindingChanged)
    for key in (ORDINARY, CONTROL)
]


class Log:
    """A log of these subjects, numbered from 1."""

    def __init__(self, subjects: Sequence[str]) -> None:
        now = datetime(2026, 11, 25, tzinfo=UTC)
        self.messages = [StoredMessage("ERRATA", n, each, b"", now) for n, each in enumerate(subjects, 1)]

    async def page(self, patterns: Sequence[str], after: int, limit: int, max_bytes: int) -> LogPage:
        left = [each for each in self.messages if each.sequence > after]
        return LogPage(tuple(left[:limit]), len(left) > limit)

    async def newest(self) -> int:
        return len(self.messages)

    async def follow(self, after: int, patterns: Sequence[str]) -> AsyncGenerator[Sequence[StoredMessage], None]:
        yield self.messages

    async def find_controls(self, investigations: Collection[UUID]) -> Collection[UUID]:
        return {CONTROL} & set(investigations)


@given(st.lists(st.sampled_from(SUBJECTS), max_size=20), st.integers(1, 4))
async def test_what_is_found_in_controls_is_left_out(subjects: list[str], limit: int) -> None:
    source = Log(subjects)
    log = WithoutControls(source, source)
    wanted = [n for n, each in enumerate(subjects, 1) if not each.endswith(str(CONTROL)) or "finding" in each]
    got, after, more = [], 0, True
    while more:
        page = await log.page((), after, limit, 0)
        assert page.messages or not page.more
        got += [each.sequence for each in page.messages]
        after, more = got[-1] if got else 0, page.more
    assert got == wanted
    assert [each.sequence async for batch in log.follow(0, ()) for each in batch] == wanted
