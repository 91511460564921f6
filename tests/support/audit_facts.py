"""Reads the stream of audits, and asserts that the money in it adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

import nats.errors
import nats.js.errors

from contracts.topology import JOBS
from contracts.v1 import CreditPosted, Event, JobEnded, JobRequested
from kit.bus import Bus
from kit.history import StoredFact
from services.gateway.jobs.adapters import BusJobLog
from services.gateway.ports import Unavailable
from tests.support.audit_instance import WITHIN_S
from tests.support.system import until

E = TypeVar("E", bound=Event)
T = TypeVar("T")


async def insist(ask: Callable[[], Awaitable[T]]) -> T:
    """Retry until there is an answer, as a client does with an idempotency key."""

    async def try_once() -> tuple[T] | None:
        try:
            return (await ask(),)
        except Unavailable:
            return None

    (found,) = await until(try_once, "an answer", within_s=WITHIN_S)
    return found


async def facts(bus: Bus, after: int = 0) -> list[StoredFact]:
    """All facts of the stream after a sequence."""

    return list(await insist(partial(BusJobLog(bus).read, ">", after=after)))


def of(found: Iterable[StoredFact], kind: type[E]) -> list[E]:
    """The facts of a class."""
    return [each.event for each in found if isinstance(each.event, kind)]


async def count(bus: Bus, kind: type[Event]) -> set[str]:
    """The keys of the stored facts of a class, empty while the broker is down; cheaper than reading the facts."""
    try:
        info = await bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{kind.SUBJECT}.>")
    except (nats.errors.Error, nats.js.errors.Error, TimeoutError):
        return set()
    return {subject.rpartition(".")[2] for subject in info.state.subjects or {}}


async def ended(bus: Bus, jobs: Collection[UUID], within_s: float = WITHIN_S) -> dict[UUID, JobEnded]:
    """How each of the jobs ended, once all have and their credit is settled or released."""
    wanted = {str(each) for each in jobs}

    async def all_over() -> bool:
        return wanted <= await count(bus, JobEnded)

    async def all_closed() -> bool:
        entries = of(await facts(bus), CreditPosted)
        return set(jobs) <= {each.job_id for each in entries if each.entry in ("SETTLED", "RELEASED")}

    await until(all_over, "all jobs are over", within_s=within_s)
    await until(all_closed, "all jobs are closed", within_s=within_s)
    return {each.job_id: each for each in of(await facts(bus), JobEnded) if each.job_id in jobs}


def require_balances(found: Sequence[StoredFact]) -> dict[UUID, int]:
    """Assert that each job has one reservation and one end, and that every entry is the sum of those before it.

    Returns what each job was charged.
    """
    used: Counter[UUID] = Counter()
    open_: dict[UUID, dict[UUID, int]] = {}
    charged: dict[UUID, int] = {}
    for each in of(found, CreditPosted):
        reservations = open_.setdefault(each.period_id, {})
        assert each.job_id is not None
        if each.entry == "RESERVED":
            assert each.job_id not in charged, "reserved again after its end"
            assert reservations.setdefault(each.job_id, each.micro_usd) == each.micro_usd
        else:
            reserved = reservations.pop(each.job_id)  # a second end would find nothing
            charged[each.job_id] = each.micro_usd if each.entry == "SETTLED" else 0
            assert 0 <= charged[each.job_id] <= reserved
            used[each.period_id] += charged[each.job_id]
        assert each.used_micro_usd == used[each.period_id]
        assert {one.job_id: one.micro_usd for one in each.open} == reservations
    requested = of(found, JobRequested)
    assert Counter(each.job_id for each in of(found, CreditPosted) if each.entry == "RESERVED") == Counter(
        each.job_id for each in requested
    ), "one reservation for each job"
    return charged
