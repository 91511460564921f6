"""Controls are requested so many a day, in an order that their posts do not give away."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from contracts.v1 import Event, InvestigationRequested
from services.curator.controls import ControlList, ControlLists, ControlRuns, ListedControl
from services.curator.record.controls import Batch
from tests.support.factories import NOW
from tests.support.fakes import StillClock


def listed(*numbers: int) -> ControlList:
    """A list of posts in their order."""
    return ControlList(
        controls=tuple(
            ListedControl(version_id=UUID(int=number), post_id=UUID(int=number), salt=f"{number:064x}")
            for number in numbers
        )
    )


class Instance:
    """Lists that are committed to, of which some controls were requested in the last 24 hours."""

    def __init__(self, *lists: ControlList, requested: int = 0) -> None:
        self.lists = lists
        self.before = requested
        self.requested_meanwhile = 0
        self.events: list[InvestigationRequested] = []

    async def requested(self, since: object) -> int:
        return self.before

    async def batches(self) -> list[Batch]:
        until = NOW + timedelta(days=1)
        return [
            Batch(id=each.batch_id, size=len(each.controls), closes_at=until, committed_at=NOW, opened_at=None)
            for each in self.lists
        ]

    async def runs(self, batch: UUID) -> list[Any]:
        self.before += self.requested_meanwhile
        return []

    async def publish(self, event: Event, correlation: UUID) -> bool:
        assert isinstance(event, InvestigationRequested)
        self.events.append(event)
        return True


async def test_so_many_a_day_of_all_lists_together(tmp_path: Path) -> None:
    instance, lists = Instance(listed(1, 2, 3), listed(4, 5, 6), requested=1), ControlLists(tmp_path)
    for each in instance.lists:
        lists.write(each)
    given = cast("Any", instance)
    assert await ControlRuns(lists, given, given, StillClock(NOW), a_day=6).run_once() == 5
    batches = [each.origin_id for each in instance.events]
    assert batches == [instance.lists[0].batch_id] * 3 + [instance.lists[1].batch_id] * 2


async def test_what_another_curator_requests_meanwhile_counts(tmp_path: Path) -> None:
    instance, lists = Instance(listed(1, 2, 3)), ControlLists(tmp_path)
    lists.write(instance.lists[0])
    instance.requested_meanwhile = 1
    given = cast("Any", instance)
    assert await ControlRuns(lists, given, given, StillClock(NOW), a_day=2).run_once() == 1


def test_their_order_is_neither_that_of_the_list_nor_of_the_posts() -> None:
    given = listed(*range(1, 10))
    posts = [each.post_id for each in given.in_order]
    assert sorted(posts) == [each.post_id for each in given.controls] != posts
    assert [each.post_id for each in listed(*range(9, 0, -1)).in_order] == posts
