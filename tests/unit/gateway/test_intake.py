"""How much one network may store in a day, and what happens when there is no room."""

from __future__ import annotations

import json

import pytest

from services.gateway.extension.intake import DAY_S, SPACE_TTL_S
from services.gateway.ports import Unavailable
from tests.unit.gateway.fakes import Bench, error, post_on_lesswrong, post_on_x

REGISTER = "post.registerObservedVersion"
QUOTA = 1024 * 1024


def post(number: int, size: int = 400_000) -> dict[str, object]:
    """An observation of about so many bytes."""
    metadata = {"slug": "a-slug", "htmlContent": f"<p>{number} {'walk ' * (size // 5)}</p>", "tags": []}
    return post_on_lesswrong(metadata=metadata)


def refused(bench: Bench, why: str) -> float | None:
    return bench.registry.get_sample_value("openerrata_gateway_refused_observations_total", {"why": why})


async def test_a_network_stores_so_many_bytes_a_day_and_no_more() -> None:
    bench = Bench(new_bytes_per_day=QUOTA, trusted_proxies=1)

    async def status(number: int, address: str = "192.0.2.1", **headers: str) -> int:
        return (await bench.mutate(REGISTER, post(number), x_forwarded_for=address, **headers)).status_code

    assert [await status(n) for n in range(3)] == [200, 200, 429]
    assert error(await bench.mutate(REGISTER, post(3), x_forwarded_for="192.0.2.99"))["code"] == "TOO_MANY_REQUESTS"
    assert refused(bench, "quota") == 2
    assert len(bench.log.asked) == 2, "nothing of it is stored"
    assert [await status(7, x_api_key=f"made-up-{n}") for n in range(2)] == [429, 429], "only keys that are known count"
    assert await status(1) == 200, "what was answered a moment ago stores nothing"
    assert await status(4, "198.51.100.1") == 200, "the quota is one network's"
    bench.key_table.add("instance-key")
    assert await status(5, x_api_key="instance-key") == 200, "a holder of a key has one of their own"
    bench.clock.pass_by(DAY_S / 2)
    assert await status(6) == 200


@pytest.mark.parametrize(
    ("proxies", "made_up"),
    [
        (0, ["198.{0}.100.1"]),
        (1, ["198.{0}.100.1, 192.0.2.1"]),
        (1, ["198.{0}.100.1", "192.0.2.1"]),
        (2, ["198.{0}.100.1, 192.0.2.1", "203.0.113.9"]),
        (2, ["198.{0}.100.1"]),
    ],
)
async def test_an_address_that_a_client_made_up_is_not_its_network(proxies: int, made_up: list[str]) -> None:
    """What our proxies wrote stands last; a chain that is shorter than they are did not pass them."""
    bench = Bench(new_bytes_per_day=QUOTA, trusted_proxies=proxies)
    found = []
    for number in range(1, 4):
        headers = [
            ("content-type", "application/json"),
            *(("x-forwarded-for", each.format(number)) for each in made_up),
        ]
        answer = await bench.http.post(f"/trpc/{REGISTER}", content=json.dumps(post(number)), headers=headers)
        found.append(answer.status_code)
    assert found == [200, 200, 429]


async def test_what_is_refused_for_what_it_says_costs_nothing() -> None:
    bench = Bench(new_bytes_per_day=QUOTA)
    for number in range(5):
        wrong = {**post(number), "url": "https://www.lesswrong.com/posts/another/a-slug"}
        assert (await bench.mutate(REGISTER, wrong)).status_code == 400
    assert (await bench.mutate(REGISTER, post(9))).status_code == 200


async def test_without_room_new_observations_are_refused_and_the_rest_goes_on() -> None:
    bench = Bench(free_bytes=1_000)
    known = (await bench.mutate(REGISTER, post_on_x())).json()["result"]["data"]["postVersionId"]
    bench.room.left = 999
    bench.clock.pass_by(SPACE_TTL_S)
    response = await bench.mutate(REGISTER, post(1))
    assert error(response)["code"] == "SERVICE_UNAVAILABLE"
    assert "no room" in json.loads(response.text)["error"]["message"]
    assert refused(bench, "space") == 1
    assert (await bench.mutate("post.recordViewAndGetStatus", {"postVersionId": known})).status_code == 200
    assert (await bench.http.get("/health")).status_code == 200
    bench.room.left = 1_000
    bench.clock.pass_by(SPACE_TTL_S)
    assert (await bench.mutate(REGISTER, post(1))).status_code == 200


@pytest.mark.parametrize("trouble", [None, Unavailable("broker"), TimeoutError()])
async def test_room_is_asked_for_now_and_then_and_not_known_is_no_reason_to_refuse(trouble: Exception | None) -> None:
    bench = Bench()
    bench.room.error = trouble
    for number in range(5):
        assert (await bench.mutate(REGISTER, post(number, 100))).status_code == 200
    assert bench.room.asked == 1
