"""Pictures from real sockets to the model: what is fetched, what is refused, and what the provider is sent."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import pytest
from minio import Minio
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from contracts.v1 import ClaimProposed, InvestigationDrafted, InvestigationFailed, InvestigationStarted
from contracts.v1.parts import ImageOccurrence, Picture
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.models.openai_responses import OpenAIResponses
from kit.web import GuardedHttpClient, Policy
from services.investigator.fates import MAX_BYTES
from services.investigator.pictures import Pictures
from tests.support.factories import TEXT, VERSION_ID, payload, requested, snapshot
from tests.support.fakes import Handled, MemoryLog, MemoryTexts, StillClock, handled, investigator_over
from tests.support.marks import without_words
from tests.support.openai_server import Answer as Turn
from tests.support.openai_server import HttpError, OpenAIServer, call, message, openai_server
from tests.support.picture_files import gif, jpeg, png, webp
from tests.support.servers import Servers
from tests.support.sites import Answer, Fault, Sites

pytest_plugins = ["tests.support.servers"]

NOISE = bytes(range(256)) * 80_000


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites() as running:
        running.pages["/good.png"] = Answer(200, {"content-type": "text/html"}, png())
        yield running


def seen(*addresses: str) -> list[ImageOccurrence]:
    """Pictures at these addresses, one every five units of the text."""
    return [
        ImageOccurrence(original_index=index, normalized_text_offset=5 * index, source_url=address)
        for index, address in enumerate(addresses)
    ]


@asynccontextmanager
async def pictures(
    *servers: Sites, blobs: Any = None, registry: CollectorRegistry | None = None, **options: Any
) -> AsyncIterator[Pictures]:
    policy = Policy("https://contact.example/", exempt_origins=frozenset(server.url for server in servers))
    async with GuardedHttpClient(policy) as http:
        yield Pictures(http, blobs or MemoryTexts(), registry or CollectorRegistry(), **options)


async def gathered(occurrences: Sequence[ImageOccurrence], *servers: Sites, **options: Any) -> tuple[Picture, ...]:
    async with pictures(*servers, **options) as each:
        return await each.gather(occurrences)


@pytest.mark.requirement("2.13-07", "2.9-12")
async def test_of_twelve_pictures_ten_are_fetched_and_kept(sites: Sites) -> None:
    """2.13-07: 10 images limit.
    2.9-12: Images downloaded, deduplicated, uploaded.
    """
    for n in range(12):
        sites.pages[f"/{n}"] = Answer(200, {}, png(note=str(n).encode()))
    store, registry = MemoryTexts(), CollectorRegistry()
    sites.fail("slow", times=4)
    addresses = seen(*(f"{sites.url}/{n}" for n in range(12)))
    fetching = asyncio.create_task(gathered(addresses, sites, blobs=store, registry=registry))
    await sites.seen(4)
    sites.heal()
    fates = await fetching
    assert [fate.status for fate in fates] == ["used"] * 10 + ["omitted"] * 2
    assert len(sites.requests) == len(store.objects) == 10
    assert sites.busy_most == 4, "in parallel, within bounds"
    assert registry.get_sample_value("openerrata_pictures_total", {"fate": "omitted", "reason": "too_many"}) == 2


async def test_the_kind_is_told_by_content_and_only_known_kinds_are_asked_for(sites: Sites) -> None:
    for name, data in {"jpeg": jpeg(), "gif": gif(), "webp": webp()}.items():
        sites.pages[f"/{name}"] = Answer(200, {"content-type": "image/avif"}, data)
    found = await gathered(seen(*(f"{sites.url}/{name}" for name in ("good.png", "jpeg", "gif", "webp"))), sites)
    kinds = [fate.blob.media_type for fate in found if fate.blob]
    assert kinds == ["image/png", "image/jpeg", "image/gif", "image/webp"]
    assert "avif" not in sites.requests[0].headers["accept"]
    assert "contact.example" in sites.requests[0].headers["user-agent"]


@pytest.mark.requirement("2.13-05", "2.13-08")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("slow", "timeout"),
        ("stalled_body", "timeout"),
        ("not_found", "http_404"),
        ("server_error", "http_500"),
        ("truncated", "bad_response"),
        ("truncated_gzip", "bad_encoding"),
        ("invalid_json", "not_a_picture"),
        ("redirect_private", "blocked_address"),
        ("redirect_loop", "too_many_redirects"),
    ],
)
async def test_a_picture_that_cannot_be_had_is_unavailable_and_the_others_are_not(
    sites: Sites, fault: Fault, reason: str
) -> None:
    """2.13-05: SSRF-safe image fetch.
    2.13-08: 20 MB image limit.
    """
    async with Sites() as broken:
        broken.fail(fault)
        addresses = (f"{broken.url}/a.png", f"{sites.url}/good.png", f"{broken.url}/a.png")
        fates = await gathered(seen(*addresses), sites, broken, within_s=6.0)
    assert [(fate.status, fate.reason) for fate in fates] == [
        ("unavailable", reason),
        ("used", None),
        ("unavailable", reason),
    ]


@pytest.mark.requirement("2.13-08")
async def test_twenty_million_bytes_are_the_most(sites: Sites) -> None:
    """2.13-08: 20 MB image limit."""
    most = png(note=NOISE)
    most = png(note=NOISE[: len(NOISE) - (len(most) - MAX_BYTES)])
    assert len(most) == MAX_BYTES
    sites.pages["/most"] = Answer(200, {}, most)
    sites.pages["/more"] = Answer(200, {}, most + b"\0")
    store = MemoryTexts()
    fates = await gathered(seen(f"{sites.url}/most", f"{sites.url}/more"), sites, blobs=store)
    assert [(fate.status, fate.reason) for fate in fates] == [("used", None), ("unavailable", "too_large")]
    assert [len(data) for data in store.objects.values()] == [MAX_BYTES]


async def test_a_decompression_bomb_is_not_kept(sites: Sites) -> None:
    sites.pages["/bomb.png"] = Answer(200, {}, png(60_000, 60_000))
    store = MemoryTexts()
    (fate,) = await gathered(seen(f"{sites.url}/bomb.png"), sites, blobs=store)
    assert (fate.status, fate.reason) == ("unavailable", "too_many_pixels")
    assert store.objects == {}


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "[::1]"])
async def test_a_private_address_is_not_asked(sites: Sites, host: str) -> None:
    """2.13-05: SSRF-safe image fetch."""
    (fate,) = await gathered(seen(f"http://{host}:{sites.port}/good.png"))
    assert (fate.status, fate.reason) == ("unavailable", "blocked_address")
    assert sites.connections == 0


@pytest.mark.parametrize(
    ("address", "reason"),
    [("ftp://img.example/a.png", "bad_scheme"), ("https://me:pw@img.example/", "credentials_in_url")],
)
async def test_an_address_that_is_none_of_ours_is_not_asked(address: str, reason: str) -> None:
    (fate,) = await gathered(seen(address))
    assert (fate.status, fate.reason) == ("unavailable", reason)


async def test_a_few_slow_ones_do_not_take_the_turn_of_the_others(sites: Sites) -> None:
    async with Sites() as slow:
        slow.fail("slow")
        addresses = [*(f"{slow.url}/{n}" for n in range(4)), f"{sites.url}/good.png"]
        fates = await gathered(seen(*addresses), sites, slow, within_s=6.0)
    assert [fate.status for fate in fates] == ["unavailable"] * 4 + ["used"]


async def test_a_model_that_cannot_see_costs_no_request(sites: Sites) -> None:
    (fate,) = await gathered(seen(f"{sites.url}/good.png"), sites, wanted=False)
    assert (fate.status, fate.reason) == ("omitted", "model_sees_none")
    assert sites.connections == 0


@pytest.mark.requirement("2.3-03", "2.9-12")
async def test_two_addresses_with_the_same_bytes_are_one_object(sites: Sites, stack: Servers) -> None:
    """2.3-03: Blob storage for investigation images.
    2.9-12: Images downloaded, deduplicated, uploaded.
    """
    sites.pages["/again.png"] = Answer(200, {}, png())
    at = stack.bucket()
    host = at.endpoint.removeprefix("http://")
    blobs = Blobs(BlobSettings(host, at.access_key, at.secret_key, at.bucket))
    first, second = await gathered(seen(f"{sites.url}/good.png", f"{sites.url}/again.png"), sites, blobs=blobs)
    assert (first.status, second.status, second.same_as) == ("used", "duplicate", 0)
    digest = sha256(png()).hexdigest()
    assert first.blob is not None
    assert first.blob.sha256 == digest
    assert await blobs.get(digest) == png()
    client = Minio(host, at.access_key, at.secret_key, secure=False)
    stored = list(client.list_objects(at.bucket, recursive=True))
    assert [each.object_name for each in stored] == [f"sha256/{digest}"]
    blobs.close()


class Run:
    """One investigation of a version with pictures, before a provider on the loopback."""

    def __init__(self, server: OpenAIServer, store: MemoryTexts, fates: tuple[Picture, ...]) -> None:
        self.model = OpenAIResponses(key=SecretStr("sk-instance-key-0123456789abcdef"), base_url=server.url)
        self.texts = store
        self.log = MemoryLog(requested(), versions={VERSION_ID: snapshot(pictures=fates)})
        self.clock = StillClock()
        self.investigator = investigator_over(self.log, store, self.model, clock=self.clock)

    async def deliver(self, attempt: int = 1) -> Handled:
        run = self.investigator.on_investigation_requested(requested(), attempt)
        return await handled(run, self.log, self.clock)


@asynccontextmanager
async def run_with_pictures(sites: Sites, *turns: Turn | HttpError) -> AsyncIterator[tuple[Run, OpenAIServer]]:
    sites.pages["/photo.jpg"] = Answer(200, {}, jpeg())
    sites.pages["/gone.png"] = Answer(404)
    store = MemoryTexts()
    names = ("photo.jpg", "good.png", "gone.png", "photo.jpg")
    fates = await gathered(seen(*(f"{sites.url}/{name}" for name in names)), sites, blobs=store)
    async with openai_server() as server:
        server.script(*turns)
        run = Run(server, store, fates)
        yield run, server
        await run.model.aclose()


def uri(kind: str, data: bytes) -> str:
    """A picture inside a request."""
    return f"data:{kind};base64,{b64encode(data).decode()}"


@pytest.mark.requirement("2.1-05", "2.4-03")
async def test_the_provider_is_sent_the_pictures_in_their_places(sites: Sites) -> None:
    """2.1-05: Text plus images investigated.
    2.4-03: Images sent as multimodal input.
    """
    async with run_with_pictures(sites, Turn((message("done"),))) as (run, server):
        outcome = await run.deliver()
    begun, draft = outcome.facts
    assert isinstance(begun, InvestigationStarted)
    assert [picture.status for picture in begun.input.pictures] == ["used", "used", "unavailable", "duplicate"]
    (request,) = server.requests
    (sent,) = request.body["input"]
    assert sent["role"] == "user"
    shown = [part for part in sent["content"] if part["type"] == "input_image"]
    assert shown == [
        {"type": "input_image", "detail": "auto", "image_url": uri("image/jpeg", jpeg())},
        {"type": "input_image", "detail": "auto", "image_url": uri("image/png", png())},
    ]
    words = "".join(part.get("text", "<shown>") for part in sent["content"])
    article = without_words(words).partition("<<<BEGIN ARTICLE>>>\n")[2].partition("\n<<<END ARTICLE>>>")[0]
    assert article == (
        f"\n[Picture 0:<shown>]\n{TEXT[:5]}\n[Picture 1:<shown>]\n{TEXT[5:10]}\n[Picture 2: not to be had]\n"
        f"{TEXT[10:15]}\n[Picture 3: the same as picture 0]\n{TEXT[15:]}"
    )
    assert isinstance(draft, InvestigationDrafted)
    transcript = await run.texts.get_text(draft.transcript)
    assert f"sha256:{sha256(png()).hexdigest()}" in transcript
    assert "base64" not in transcript


async def test_a_later_attempt_shows_what_the_first_one_showed(sites: Sites) -> None:
    async with run_with_pictures(sites, HttpError(500), Turn((message("done"),))) as (run, server):
        await run.deliver()
        asked = len(sites.requests)
        run.log.versions[VERSION_ID] = snapshot("Another text.")
        await run.deliver(2)
    first, second = server.requests
    assert first.body["input"] == second.body["input"]
    assert len(sites.requests) == asked


REFUSED = HttpError(400, {"error": {"message": "You uploaded an unsupported image.", "type": "x", "code": None}})


@pytest.mark.parametrize(
    "refusal",
    [
        REFUSED,
        Turn((), status="failed", error={"code": "image_parse_error", "message": "x"}),
    ],
    ids=["at once", "in the stream"],
)
async def test_a_picture_the_provider_refuses_does_not_keep_the_words_from_being_read(
    sites: Sites, refusal: Turn | HttpError
) -> None:
    async with run_with_pictures(sites, refusal, Turn((message("done"),))) as (run, server):
        outcome = await run.deliver()
    assert isinstance(outcome.facts[-1], InvestigationDrafted)
    again = server.requests[1].body["input"]
    assert isinstance(again, str)
    assert again.endswith("The pictures could not be shown. Judge by the words alone.")


async def test_a_picture_that_is_refused_late_has_no_claim_submitted_twice(sites: Sites) -> None:
    submission = call("submit_correction", payload().model_dump(mode="json"), "call-1")
    async with run_with_pictures(sites, Turn((submission,)), REFUSED, Turn((message("done"),))) as (run, server):
        outcome = await run.deliver()
    assert sum(isinstance(fact, ClaimProposed) for fact in outcome.facts) == 1
    assert isinstance(outcome.facts[-1], InvestigationFailed)
    assert len(server.requests) == 2
