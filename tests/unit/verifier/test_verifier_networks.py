"""Who may wait for a site when there are more who want to."""

from __future__ import annotations

import asyncio

import pytest

from services.verifier.networks import NETWORKS_REMEMBERED, Networks, Place, Places


def place(network: str, refused: int = 0, *, known_page: bool = False) -> Place:
    return Place(network, refused, known_page, asyncio.Timeout(None))


@pytest.mark.parametrize(
    ("there", "newcomer", "displaced"),
    [
        ([place("a"), place("b")], place("c"), None),
        ([place("a"), place("a")], place("c"), 1),
        ([place("a"), place("b", refused=1)], place("c"), 1),
        ([place("a", refused=2), place("b", refused=1)], place("c", refused=1), 0),
        ([place("a"), place("b")], place("c", refused=1), None),
        ([place("a"), place("a")], place("a"), None),
        ([place("a"), place("b", known_page=True)], place("c", refused=9, known_page=True), 0),
        ([place("a", known_page=True), place("b", known_page=True)], place("c"), None),
    ],
)
async def test_a_place_goes_to_whoever_has_the_better_claim(
    there: list[Place], newcomer: Place, displaced: int | None
) -> None:
    places = Places(2)
    ended: list[int] = []

    async def wait(number: int, held: Place) -> None:
        try:
            async with held.patience:
                assert places.take(held)
                await asyncio.sleep(60)
        except TimeoutError:
            ended.append(number)
        finally:
            places.leave(held)

    waiting = [asyncio.create_task(wait(*each)) for each in enumerate(there)]
    await asyncio.sleep(0)
    assert places.take(newcomer) is (displaced is not None)
    for _ in range(5):
        await asyncio.sleep(0)
    assert ended == ([] if displaced is None else [displaced])
    assert [each.displaced for each in there] == [number == displaced for number in range(2)]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert places.take(place("z")), "whoever left gave the place back"


def test_pages_named_in_vain_count_for_a_while() -> None:
    now_s = 0.0
    networks = Networks(120.0, now_s=lambda: now_s)
    networks.add_refusal("a")
    now_s = 100.0
    networks.add_refusal("a")
    now_s = 219.0
    assert (networks.refused("a"), networks.refused("b")) == (2, 0)
    now_s = 220.0
    assert networks.refused("a") == 0
    networks.add_refusal("a")
    assert networks.refused("a") == 1


def test_the_memory_of_networks_ends_somewhere() -> None:
    networks = Networks(120.0)
    for number in range(NETWORKS_REMEMBERED + 1):
        networks.add_refusal(str(number))
    assert (networks.refused("0"), networks.refused("1")) == (0, 1)
