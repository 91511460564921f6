"""Which hosts are remembered, and when a turn is worth waiting for."""

from __future__ import annotations

import asyncio

from services.verifier.breaker import Breaker
from services.verifier.hosts import Host, Hosts


def host(at_once: int = 1) -> Host:
    return Host(at_once, Breaker(failures=2, pause_s=10.0))


async def test_a_host_that_is_being_asked_is_not_forgotten_nor_one_in_trouble() -> None:
    hosts = Hosts(host, remembered=3)
    asked, troubled = hosts.named("asked.example"), hosts.named("troubled.example")
    troubled.breaker.failed(0.0)
    async with asked.turn(asyncio.get_running_loop().time() + 1) as has_turn:
        assert has_turn
        for number in range(100):
            hosts.named(f"invented{number}.example")
        assert hosts.named("asked.example") is asked
    assert hosts.named("troubled.example") is troubled
    assert len(hosts) == 3


async def test_hosts_in_trouble_are_forgotten_when_there_is_nothing_else() -> None:
    hosts = Hosts(host, remembered=3)
    for number in range(10):
        hosts.named(f"{number}.example").breaker.failed(0.0)
    assert len(hosts) == 3


async def test_a_turn_that_would_come_too_late_is_not_waited_for() -> None:
    slow, now_s = host(), asyncio.get_running_loop().time()
    slow.took(60.0)
    async with slow.turn(now_s + 30) as first, slow.turn(now_s + 30) as second:
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
