"""Which hosts are remembered, and when a turn is worth waiting for."""

from __future__ import annotations

import asyncio

from services.verifier.breaker import Breaker
from services.verifier.hosts import Demand, Host, Hosts


def host(concurrency: int = 1) -> Host:
    return Host(concurrency, Breaker(failures=2, pause_s=10.0))


async def test_a_host_that_is_being_asked_is_not_forgotten_nor_one_in_trouble() -> None:
    hosts = Hosts(host, capacity=3)
    hosts.get("troubled.example").breaker.record_failure(0.0)
    asked = hosts.get("asked.example")
    async with asked.turn(asyncio.get_running_loop().time() + 1) as has_turn:
        assert has_turn
        for number in range(100):
            hosts.get(f"invented{number}.example")
        assert hosts.get("asked.example") is asked
    assert not hosts.get("troubled.example").breaker.is_clean
    assert len(hosts) <= 2 * 3


async def test_hosts_in_trouble_are_not_remembered_without_end() -> None:
    hosts = Hosts(host, capacity=3)
    for number in range(100):
        hosts.get(f"{number}.example").breaker.record_failure(0.0)
    assert len(hosts) == 2 * 3


async def test_a_turn_that_would_come_too_late_is_not_waited_for() -> None:
    slow, now_s = host(), asyncio.get_running_loop().time()
    slow.record_duration(60.0)
    async with asyncio.timeout(5), slow.turn(now_s + 30) as first, slow.turn(now_s + 30) as second:
        assert (first, second) == (True, False)
    async with asyncio.timeout(5), slow.turn(now_s + 30) as again:
        assert again


async def test_whoever_is_late_takes_a_free_turn_only() -> None:
    free, now_s = host(), asyncio.get_running_loop().time()
    async with free.turn(now_s) as first, free.turn(now_s) as second:
        assert (first, second) == (True, False)


async def test_the_wait_for_a_turn_ends() -> None:
    unknown = host()
    async with unknown.turn(asyncio.get_running_loop().time() + 60) as first:
        async with unknown.turn(asyncio.get_running_loop().time() + 0.01) as second:
            assert (first, second) == (True, False)
        assert unknown.visitors == 1
    assert unknown.visitors == 0


def claim(network: str, refused: int = 0, *, known_page: bool = False) -> Demand:
    made = Demand(known_page)
    made.join(network, refused)
    return made


async def rounds() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def served(crowded: Host, waiting: dict[str, Demand]) -> list[str]:
    """In which order claims get their turns that come while another has one."""
    until_s, order = asyncio.get_running_loop().time() + 60, []

    async def visit(name: str, claim: Demand) -> None:
        async with crowded.turn(until_s, claim) as has_turn:
            assert has_turn
            order.append(name)

    async with crowded.turn(until_s, claim("first")):
        visits = [asyncio.create_task(visit(*each)) for each in waiting.items()]
        await rounds()
        assert crowded.visitors == len(waiting) + 1
    await asyncio.gather(*visits)
    return order


async def test_turns_go_to_known_pages_then_to_networks_with_the_fewest_refusals_and_turns() -> None:
    waiting = {
        "in vain": claim("a", refused=2),
        "once more": claim("b"),
        "again": claim("b"),
        "another": claim("c"),
        "in vain, but known": claim("a", refused=2, known_page=True),
    }
    assert await served(host(), waiting) == ["in vain, but known", "once more", "another", "again", "in vain"]


async def test_a_page_waits_as_the_best_of_its_readers_does() -> None:
    shared = claim("a", refused=2)
    shared.join("d", 0)
    assert await served(host(), {"alone": claim("e", refused=1), "shared": shared}) == ["shared", "alone"]


async def test_who_gives_up_waiting_leaves_the_turn_to_the_next() -> None:
    busy, until_s = host(), asyncio.get_running_loop().time() + 60
    async with busy.turn(until_s):

        async def wait() -> None:
            async with busy.turn(until_s):
                raise AssertionError("it was given up")

        gone = asyncio.create_task(wait())
        await rounds()
        assert busy.visitors == 2
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
    assert busy.visitors == 0
    async with busy.turn(until_s) as again:
        assert again


async def test_who_gives_up_just_as_its_turn_comes_keeps_no_turn() -> None:
    crowded, until_s = host(), asyncio.get_running_loop().time() + 60

    async def visit() -> None:
        async with crowded.turn(until_s):
            raise AssertionError("it was cancelled")

    async with crowded.turn(until_s):
        waiting = asyncio.create_task(visit())
        await rounds()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    assert crowded.visitors == 0
