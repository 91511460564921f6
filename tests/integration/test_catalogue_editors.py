"""Editors of one entry over a real broker: of two who change one version the stream takes one."""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import UUID, uuid4

import pytest

from contracts.accounts import Role
from contracts.jobs.catalogue import Edited, EditRequest, FlagRequest, FlagView, ResolveRequest, RevertRequest
from contracts.topology import JOBS
from contracts.v1 import EditMade, EntryPublished, EntryStaled, Event, FlagResolved
from contracts.v1.ids import entry_id
from kit.bus import Bus
from kit.clock import SystemClock
from kit.history import read_history
from services.gateway.domain import Account, Principal
from services.gateway.jobs.adapters import BusJobLog
from services.gateway.jobs.catalogue import Entries
from services.gateway.jobs.problems import Problem
from tests.support.job_log import MemoryWords

pytest_plugins = ["tests.support.delivering"]

ASSERTION: Final = UUID(int=0xA55)
ENTRY: Final = entry_id(ASSERTION)
EDITORS: Final = 5
ROUNDS: Final = 4


def account(number: int, role: Role = "moderator") -> Principal:
    return Principal(Account(UUID(int=number), role, "pro", None, has_webhook_secret=False), frozenset({"audit"}))


async def facts(bus: Bus, kind: type[Event]) -> list[Event]:
    return [each.event for each in await read_history(bus, "*", stream=JOBS) if isinstance(each.event, kind)]


def opened(bus: Bus) -> Entries:
    clock = SystemClock()
    return Entries(BusJobLog(bus), MemoryWords(clock), clock)


@pytest.mark.requirement("FH-119")
async def test_versions_have_no_gaps_under_many_editors(bus: Bus) -> None:
    """FH-119: Every change of an entry is one edit and one version."""
    entries = opened(bus)
    published = EntryPublished(entry_id=ENTRY, assertion_id=ASSERTION, wording="A", domain="x", by=UUID(int=1))
    await entries.publish(published, uuid4())

    async def edit(editor: int, version: int) -> Edited | int | None:
        request = EditRequest(
            version=version, edit_type="CLARIFICATION", reason="Why.", wording=f"Version {version} of {editor}"
        )
        try:
            return await entries.edit(ENTRY, request, account(editor), uuid4())
        except Problem as problem:
            return problem.status

    for version in range(1, ROUNDS + 1):
        outcomes = await asyncio.gather(*(edit(editor, version) for editor in range(EDITORS)))
        assert [each.version for each in outcomes if isinstance(each, Edited)] == [version + 1]
        assert [each for each in outcomes if not isinstance(each, Edited)] == [409] * (EDITORS - 1)
    reverted = await entries.revert(ENTRY, RevertRequest(version=ROUNDS + 1, reason="No."), account(1), uuid4())
    assert reverted.version == ROUNDS + 2
    hide = EditRequest(version=ROUNDS + 2, edit_type="MODERATION_ACTION", reason="Defames.", hidden=True)
    hidden = await entries.edit(ENTRY, hide, account(1), uuid4())
    assert (hidden.version, hidden.status) == (ROUNDS + 3, "HIDDEN")
    edits = await facts(bus, EditMade)
    assert [each.version for each in edits if isinstance(each, EditMade)] == list(range(2, ROUNDS + 4))
    assert len(await facts(bus, EntryStaled)) == ROUNDS + 1


@pytest.mark.requirement("FH-122")
async def test_of_moderators_who_decide_at_once_one_does(bus: Bus) -> None:
    """FH-122: A flag names what, who, why and how it ended."""
    entries = opened(bus)
    published = EntryPublished(entry_id=ENTRY, assertion_id=ASSERTION, wording="A", domain="x", by=UUID(int=1))
    await entries.publish(published, uuid4())
    flag = await entries.raise_flag(ENTRY, FlagRequest(issue_type="WRONG", description="No."), account(9), uuid4())

    async def decide(number: int) -> FlagView | int | None:
        request = ResolveRequest(status="ACCEPTED" if number % 2 else "DISMISSED", note="So.")
        try:
            return await entries.resolve_flag(flag.flag_id, request, account(number), uuid4())
        except Problem as problem:
            return problem.status

    outcomes = await asyncio.gather(*map(decide, range(EDITORS)))
    assert sum(isinstance(each, FlagView) for each in outcomes) == 1
    assert outcomes.count(409) == EDITORS - 1
    (resolved,) = await facts(bus, FlagResolved)
    assert isinstance(resolved, FlagResolved)
    assert len(await facts(bus, EntryStaled)) == (resolved.status == "ACCEPTED")
