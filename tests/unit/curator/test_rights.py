"""What an objection is about is withdrawn once, however often the message comes and wherever the curator dies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import AssertionInvalidated, Event, FlagRaised, FlagResolved
from contracts.v1.parts import EphemeralRef
from services.curator.rights import Withdrawals
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock, handled
from tests.support.job_api import assertion, run
from tests.support.objections import cites, decision, objection, requests

THEIRS, OTHER = "https://news.example/a", "https://other.example/b"
CLAIM = "the owner lied"


class Killed(BaseException):
    """The process died."""


class Curator:
    """A curator over a log and the words of analyses; it dies where it should."""

    def __init__(self, *events: Event) -> None:
        self.log = MemoryLog(*events)
        self.removed: set[str] = set()
        self.dies_after: int | None = None

    async def find_flag(self, flag_id: UUID) -> FlagRaised | None:
        return next(
            (each for each in self.log.events if isinstance(each, FlagRaised) and each.flag_id == flag_id), None
        )

    async def read(self, kinds: Sequence[type[Event]], since: datetime) -> AsyncIterator[Event]:
        for event in tuple(self.log.events):
            if isinstance(event, tuple(kinds)):
                yield event

    async def remove(self, ref: EphemeralRef) -> None:
        if self.dies_after is not None:
            if not self.dies_after:
                raise Killed
            self.dies_after -= 1
        self.removed.add(ref.sha256)

    async def hear(self, event: FlagRaised | FlagResolved, dies_after: int | None = None) -> None:
        self.dies_after = dies_after
        withdrawals = Withdrawals(self, self, StillClock(NOW))
        if isinstance(event, FlagRaised):
            await handled(withdrawals.on_flag_raised(event, 1), self.log)
        else:
            await handled(withdrawals.on_flag_resolved(event, 1), self.log)

    @property
    def withdrawn(self) -> list[UUID | None]:
        return [each.analysis_id for each in self.log.events if isinstance(each, AssertionInvalidated)]


def claims(*numbers: int) -> list[Event]:
    """Claims of the same words under different guards, each analysed once, and one of other words."""
    ours = [event for number in numbers for event in (requests(number, CLAIM), cites(number, OTHER))]
    return [*ours, requests(99, "the owner won"), cites(99, OTHER)]


@pytest.mark.requirement("FH-28")
async def test_a_claims_analyses_are_withdrawn_once_a_moderator_agrees() -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    flag = objection(1, claim=CLAIM)
    curator = Curator(*claims(1, 2), flag)
    await curator.hear(flag)
    await curator.hear(decision(flag, accepted=False))
    assert curator.withdrawn == []
    await curator.hear(decision(flag))
    assert curator.withdrawn == [run(1), run(2)]
    assert curator.removed == {cites(number).body.sha256 for number in (1, 2)}


@pytest.mark.requirement("FH-28")
@pytest.mark.parametrize(
    "flag",
    [objection(1, claim=CLAIM, issue="SPAM"), objection(1, claim="something else"), objection(1)],
    ids=["no right", "another claim", "nothing"],
)
async def test_another_objection_withdraws_nothing(flag: FlagRaised) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    curator = Curator(*claims(1), flag)
    await curator.hear(flag)
    await curator.hear(decision(flag))
    assert curator.withdrawn == []


@pytest.mark.requirement("FH-28")
async def test_an_analysis_that_a_moderator_invalidated_before_is_withdrawn() -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    flag = objection(1, OTHER)
    moderated = AssertionInvalidated(assertion_id=assertion(1), analysis_id=run(1), why="MODERATION")
    curator = Curator(requests(1), cites(1, OTHER), moderated, flag)
    await curator.hear(flag)
    assert [each.why for each in curator.log.events if isinstance(each, AssertionInvalidated)] == [
        "MODERATION",
        "RIGHTS",
    ]


async def test_a_decision_on_an_erased_objection_withdraws_nothing() -> None:
    curator = Curator(*claims(1))
    await curator.hear(decision(objection(1, claim=CLAIM)))
    assert curator.withdrawn == []


async def test_what_is_analysed_anew_is_withdrawn_by_a_new_objection_only() -> None:
    first, second = objection(1, claim=CLAIM), objection(2, claim=CLAIM)
    curator = Curator(*claims(1), first, second)
    await curator.hear(decision(first))
    for event in claims(2):
        curator.log.publish(event.model_copy(update={"follows": curator.log.last(event.subject())}))
    assert curator.withdrawn == [run(1)]
    await curator.hear(decision(second))
    assert curator.withdrawn == [run(1), run(2)]


@pytest.mark.requirement("FH-28")
@given(
    numbers=st.lists(st.integers(1, 9), unique=True, max_size=5),
    deaths=st.lists(st.integers(0, 5), max_size=4),
    by_address=st.booleans(),
)
async def test_a_withdrawal_happens_once_wherever_the_curator_dies(
    numbers: list[int], deaths: list[int], by_address: bool
) -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    flag = objection(1, OTHER) if by_address else objection(1, claim=CLAIM)
    curator = Curator(*claims(*numbers), flag)
    event = flag if by_address else decision(flag)
    for dies_after in [*deaths, None, None]:
        try:
            await curator.hear(event, dies_after)
        except Killed:
            continue
    expected = [run(number) for number in [*numbers, *([99] if by_address else [])]]
    assert curator.withdrawn == expected
    assert curator.removed == {cites(number).body.sha256 for number in [*numbers, *([99] if by_address else [])]}
