"""Who may wait for a site when there are more who want to."""

from __future__ import annotations

import asyncio

import pytest

from services.verifier.networks import MAX_NETWORKS, AdmissionRequest, Networks, SiteAdmission
from tests.support.fakes import StillClock


def place(network: str, refusals: int = 0, *, known_page: bool = False) -> AdmissionRequest:
    return AdmissionRequest(network, refusals, known_page, asyncio.Timeout(None))


@pytest.mark.parametrize(
    ("there", "newcomer", "displaced"),
    [
        ([place("a"), place("b")], place("c"), None),
        ([place("a"), place("a")], place("c"), 1),
        ([place("a"), place("b", refusals=1)], place("c"), 1),
        ([place("a", refusals=2), place("b", refusals=1)], place("c", refusals=1), 0),
        ([place("a"), place("b")], place("c", refusals=1), None),
        ([place("a"), place("a")], place("a"), None),
        ([place("a"), place("b", known_page=True)], place("c", refusals=9, known_page=True), 0),
        ([place("a", known_page=True), place("b", known_page=True)], place("c"), None),
    ],
)
async def test_a_place_goes_to_whoever_has_the_better_claim(
    there: list[AdmissionRequest], newcomer: AdmissionRequest, displaced: int | None
) -> None:
    places = SiteAdmission(2)
    ended: list[int] = []

    async def wait(number: int, held: AdmissionRequest) -> None:
        try:
            async with held.timeout:
                assert places.admit(held)
                await asyncio.sleep(60)
        except TimeoutError:
            ended.append(number)
        finally:
            places.release(held)

    waiting = [asyncio.create_task(wait(*each)) for each in enumerate(there)]
    await asyncio.sleep(0)
    assert places.admit(newcomer) is (displaced is not None)
    for _ in range(5):
        await asyncio.sleep(0)
    assert ended == ([] if displaced is None else [displaced])
    assert [each.displaced for each in there] == [number == displaced for number in range(2)]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert places.admit(place("z")), "whoever left gave the place back"


def test_pages_named_in_vain_count_for_a_while() -> None:
    clock = StillClock()
    networks = Networks(120.0, clock)
    networks.add_refusal("a")
    clock.pass_by(100)
    networks.add_refusal("a")
    clock.pass_by(119)
    assert (networks.refusals("a"), networks.refusals("b")) == (2, 0)
    clock.pass_by(1)
    assert networks.refusals("a") == 0
    networks.add_refusal("a")
    assert networks.refusals("a") == 1


def test_the_memory_of_networks_ends_somewhere() -> None:
    networks = Networks(120.0, StillClock())
    for number in range(MAX_NETWORKS + 1):
        networks.add_refusal(str(number))
    assert (networks.refusals("0"), networks.refusals("1")) == (0, 1)
