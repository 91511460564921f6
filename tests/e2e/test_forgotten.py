"""What a post leaves behind once it was forgotten, seen from outside on a running system: nothing, on any gateway."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from tests.e2e.posts import BATS, on_x
from tests.support.event_stream import Sent, events
from tests.support.extension_client import Extension, RpcFailed
from tests.support.oracle import Oracle, oracle
from tests.support.system import Process, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("e2e")]

KEY = "oe_the-key-of-this-instance"
WORDS = "The harbour master keeps a secret."
SALT = re.compile(r'"salt":"([0-9A-Za-z_-]{43})"')
TELLING = ("harbour master", "Bats are blind", "walker")
GRAPHQL = (
    """{ searchInvestigations(query: "harbour", limit: 10, offset: 0) { investigations { id url claimCount } } }"""
)


async def done(running: System, *arguments: str) -> str:
    """Run a command that must succeed; what it prints."""
    ended = await running.run(*arguments, within_s=120)
    assert ended.code == 0, ended.out + ended.err
    return ended.out


async def shown(http: httpx.AsyncClient, investigation: str, post: dict[str, Any]) -> dict[str, str]:
    """Everything that a gateway shows to anybody, by address."""
    site, external_id = post["platform"].lower(), post["externalId"]
    paths = (
        "/", "/corrections", "/corrections?q=bats", "/authors", "/figures", "/sitemap.xml",
        "/feeds/all.atom", "/feeds/all.json", f"/feeds/{site}.atom", f"/posts/{site}/{external_id}",
        f"/investigations/{investigation}", f"/investigations/{investigation}.json",
        f"/investigations/{investigation}/text", f"/investigations/{investigation}/card.png",
    )  # fmt: skip
    found = {}
    parts = re.findall(r"<loc>http[^<]*?(/sitemaps/[^<]*)</loc>", (await http.get("/sitemap.xml")).text)
    for path in (*paths, *parts):
        response = await http.get(path, headers={"accept": "text/html"})
        assert response.status_code in (200, 404), (path, response.text)
        found[path] = "a picture" if "png" in response.headers["content-type"] else response.text
    for name, question in (
        ("public.getInvestigation", {"investigationId": investigation}),
        ("public.getPostInvestigations", {"platform": post["platform"], "externalId": external_id}),
        ("public.searchInvestigations", {"query": "harbour", "limit": 10, "offset": 0}),
    ):
        response = await http.get(f"/trpc/{name}", params={"input": httpx.Response(200, json=question).text})
        assert response.status_code == 200, response.text
        found[name] = response.text
    answer = await http.post("/graphql", json={"query": GRAPHQL})
    assert "errors" not in answer.json(), answer.text
    found["graphql"] = answer.text
    return found


async def history(http: httpx.AsyncClient, after: str, count: int) -> list[Sent]:
    """What `/events` has after a place: up to `count` events, or what it sends until it says that all is well."""

    async def take() -> AsyncIterator[Sent]:
        async with http.stream("GET", "/events", params={"after": after}) as response:
            assert response.status_code == 200, await response.aread()
            async for event in events(response):
                yield event

    found: list[Sent] = []
    stream = take()
    try:
        async with asyncio.timeout(3):  # a heartbeat comes every second
            async for event in stream:
                found.append(event)
                if len(found) == count:
                    break
    except TimeoutError:
        pass
    return found


async def observes_nothing(running: System, looking: Oracle, post: dict[str, Any], url: str) -> None:
    """Ask a gateway to take the post again."""
    heads, rows, dumped = await looking.heads(), await looking.rows(), await looking.dump()
    for version, code in (("0.3.3", None), ("1.0.0", "POST_FORGOTTEN")):
        async with Extension(url, api_key=KEY, version=version) as reader:
            for again in (post, {**post, "observedContentText": f"{post['observedContentText']} And more."}):
                with pytest.raises(RpcFailed) as refusal:
                    await reader.register(again)
                assert (refusal.value.status, refusal.value.data.get("openerrataCode")) == (400, code)
    assert (await looking.heads(), await looking.rows(), await looking.dump()) == (heads, rows, dumped)


@pytest.mark.requirement("2.12-01", "3.13-06", "TR-1", "TR-2")
async def test_the_only_post_leaves_nothing_behind_on_two_gateways(tmp_path: Path) -> None:
    """2.12-01: Input text and contentHash persisted.
    3.13-06: A public site.
    TR-1: Every fact has a salt of its own, erased with its body.
    TR-2: The decision log names nothing that could be guessed: no id, address, word or unsalted hash.
    """
    async with system(tmp_path, OPENERRATA_SELECTOR_RUNS_PER_DAY="0") as running:
        settings = {"OPENERRATA_GATEWAY_EVENTS_HEARTBEAT_S": "1"}
        gateways: list[Process] = [await running.up(settings=settings)]
        gateways.append(await running.up("gateway", name="second", settings=settings))
        await done(running, "keys", "add", "tests", "--key", KEY)
        post = on_x(BATS)
        post["observedContentText"] += f" {WORDS}"
        post["metadata"]["text"] = post["observedContentText"]
        async with oracle(running.database_url, running.nats_url) as looking:
            readers = [Extension(each.url, api_key=KEY, version="1.0.0") for each in gateways]
            old = [Extension(each.url, api_key=KEY) for each in gateways]
            version, investigation, _ = await old[0].investigated(post)
            id_ = version["postVersionId"]
            await looking.settled()
            told = 0
            for each, reader in zip(readers, old, strict=True):
                assert (await reader.view(id_))["investigationState"] == "INVESTIGATED"
                remembered = await each.http.post(
                    "/trpc/post.recordViewAndGetStatus",
                    json={"postVersionId": id_},
                    headers={"x-openerrata-extension-version": "1.0.0"},
                )
                assert "INVESTIGATED" in remembered.text
                await looking.settled()  # a view with a key has corroborated the text
                pages = await shown(each.http, investigation, post)
                assert all(words in "".join(pages.values()) for words in TELLING)
                assert "Bats are blind" in pages["/corrections"]
                sent = await history(each.http, "0", 3)
                assert any("Bats" in event.data for event in sent)
                told = max(told, *(int(event.id) for event in sent))
            await looking.settled()

            salts = SALT.findall(await looking.stream_text("ERRATA"))
            assert len(set(salts)) == len(salts) > 5, "each fact has its own"
            assert not any(salt in "".join(pages.values()) for salt in salts)
            assert not any(salt in event.data for event in sent for salt in salts)

            said = await done(running, "post", "erase", post["url"], "--reason", "asked for")
            assert said.startswith("erased "), said
            await looking.settled()
            for each, reader in zip(readers, old, strict=True):

                async def forgotten(reader: Extension = reader) -> bool:
                    return str((await reader.view(id_))["investigationState"]) == "NOT_INVESTIGATED"

                await until(forgotten, "the gateway has forgotten")
                answer = await each.http.post(
                    "/trpc/post.recordViewAndGetStatus",
                    json={"postVersionId": id_},
                    headers={"x-openerrata-extension-version": "1.0.0"},
                )
                assert '"INVESTIGATED"' not in answer.text
                for place in ("0", str(told - 1), str(told)):
                    assert await history(each.http, place, 1) == []
                pages = await shown(each.http, investigation, post)
                telling = [(path, words) for path, text in pages.items() for words in TELLING if words in text]
                assert telling == []
                assert "a picture" not in pages.values()
                with pytest.raises(RpcFailed) as unknown:
                    await reader.investigate(id_)
                assert unknown.value.status == 400
                await observes_nothing(running, looking, post, reader.url)
            kept = await looking.dump() + await looking.stream_text("ERRATA") + running.log_text()
            assert not any(words in kept for words in (*TELLING, *salts))
            assert "agree with the log" in await done(running, "replay", "--shadow")
            assert "erased" in await done(running, "ledger", "verify")
            await done(running, "export", str(tmp_path / "export"))
            exported = b"".join(file.read_bytes() for file in (tmp_path / "export").rglob("*") if file.is_file())
            assert not any(words.encode() in exported for words in (*TELLING, *salts))
            id_of_post = str(post_id(PostRef(platform=post["platform"], external_id=post["externalId"])))
            assert "erased 0 facts" in await done(running, "post", "erase", id_of_post, "--reason", "again")
            for each in (*readers, *old):
                await each.http.aclose()
