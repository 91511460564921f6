"""Jobs are accepted and settled by three brokers while one after the other is killed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysisRequested, JobEnded, JobIdempotencyKeyBound, JobRequested
from kit import topology
from kit.bus import Bus, connect
from tests.support.audit_facts import count, ended, facts, insist, of, require_balances
from tests.support.audit_instance import Gateway, account, instance
from tests.support.cluster import NODES, Cluster, Network, require_root
from tests.support.system import until

pytestmark = pytest.mark.xdist_group("cluster-jobs")

ACK_WAIT_S: Final = 25.0
"""Longer than a cluster takes to choose a leader."""
WITHIN_S: Final = 180.0
CLAIM: Final = "The tower is 330 metres tall."
KEYS: Final = 24
ACCOUNTS: Final = 3


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    require_root()
    with Network() as made:
        yield made


@pytest.mark.requirement("FH-35", "FH-40", "FH-70")
async def test_a_node_is_killed_while_jobs_come_in_and_another_while_they_end(network: Network, tmp_path: Path) -> None:
    """FH-35: Concurrent posts with one key make one job and one charge.
    FH-40: Credit is reserved at intake and settled at the end.
    FH-70: One claim causes one call within its lifetime, also concurrently.
    """
    async with AsyncExitStack() as stack:
        cluster = stack.enter_context(Cluster(tmp_path / "nodes", network))
        await cluster.healthy()
        await cluster.led()
        buses = [await stack.enter_async_context(connect(cluster.url, name=f"gateway {n}")) for n in (1, 2)]
        await topology.apply(buses[0], replicas=NODES, ack_wait_s=ACK_WAIT_S)
        world = await stack.enter_async_context(instance(cluster.url, ack_wait_s=ACK_WAIT_S))
        gateways = [world.gateway(each) for each in buses]
        for process in (world.spawn(), world.spawn()):
            await process.started()

        async def order(number: int, gateway: Gateway) -> UUID:
            text = f"{CLAIM}\n# as number {number} has it"
            return await insist(lambda: gateway.accept(account(number % ACCOUNTS), text, f"key-{number}"))

        asked = [asyncio.create_task(order(n, each)) for n in range(KEYS) for each in gateways]
        await until(lambda: has(buses[0], JobRequested, KEYS // 4), "jobs are accepted", within_s=WITHIN_S)
        first = await cluster.leader(JOBS.name)
        cluster.kill(first)
        answers = await asyncio.gather(*asked)
        cluster.start(first)
        await cluster.healthy()
        second = await cluster.leader(JOBS.name)
        cluster.kill(second)
        jobs = set(answers)
        ends = await ended(buses[0], jobs, within_s=WITHIN_S)
        cluster.start(second)
        await cluster.healthy()
        assert answers[0::2] == answers[1::2], "one key, one job"
        assert len(jobs) == KEYS
        assert {each.outcome for each in ends.values()} == {"SUCCEEDED"}
        found = await facts(buses[0])
        assert {each.job_id for each in of(found, JobIdempotencyKeyBound)} == jobs
        assert len(of(found, JobRequested)) == len(of(found, JobIdempotencyKeyBound)) == KEYS
        assert len(of(found, JobEnded)) == KEYS
        assert len(of(found, AssertionAnalysisRequested)) == 1
        charged = require_balances(found)
        assert charged == {each.job_id: each.charged_micro_usd for each in ends.values()}
        assert sorted(charged.values()) == [33_000] * (KEYS - 1) + [114_000]


async def has(bus: Bus, kind: type[JobRequested], number: int) -> bool:
    return len(await count(bus, kind)) >= number
