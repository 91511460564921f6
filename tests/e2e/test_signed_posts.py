"""A post that its author signed: proved, investigated and shown with the key; a forged one stays its reader's word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kit.database import open_session
from platforms.atproto.cbor import Cid, Value, decode, encode
from platforms.atproto.did import parse_document
from platforms.atproto.records import HIDDEN, prove_post
from platforms.text import normalize
from tests.e2e.posts import BRAIN, prose
from tests.support.bluesky import Network
from tests.support.extension_client import Extension, Json
from tests.support.repositories import (
    DID,
    HANDLE,
    POST_PATH,
    PROFILE_PATH,
    RKEY,
    Repository,
    Signer,
    post,
    profile,
)  # fmt: skip
from tests.support.sites import Sites
from tests.support.system import system, until

pytestmark = pytest.mark.xdist_group("e2e")

KEY = "oe_the-key-of-this-instance"


def repository(words: str, signer: Signer | None = None) -> Repository:
    return Repository(
        {POST_PATH: post(words), PROFILE_PATH: profile()}, signer=signer or Signer("K-256"), at=datetime.now(UTC)
    )


def observation(words: str, actor: str = HANDLE) -> Json:
    return {
        "platform": "BLUESKY",
        "externalId": f"{DID}/{RKEY}",
        "url": f"https://bsky.app/profile/{actor}/post/{RKEY}",
        "observedContentText": normalize(words),
        "metadata": {"authorDid": DID},
    }


def proved_text(proof: Value) -> str | None:
    """The text that a downloaded proof proves, with nothing else at hand."""
    assert isinstance(proof, dict)
    document, car = proof["document"], proof["post"]
    assert isinstance(document, bytes)
    assert isinstance(car, bytes)
    found = prove_post(car, parse_document(json.loads(document), DID), RKEY, datetime.now(UTC))
    return None if found is None else found.text


def places(sites: Sites) -> Mapping[str, str]:
    return {"OPENERRATA_VERIFIER_BLUESKY_URL": sites.url, "OPENERRATA_VERIFIER_PLC_URL": sites.url}


@pytest.mark.requirement("FS-50", "FS-51")
async def test_a_signed_post_is_proved_and_its_page_names_the_key(tmp_path: Path) -> None:
    """FS-50: The text is taken only from a proved record.
    FS-51: A version is pinned to address and hash of its record.
    """
    words = prose(BRAIN).replace(". ", ".\n\n", 1)
    network = Network(repository(words))
    async with (
        Sites() as sites,
        system(tmp_path / "system", OPENERRATA_SELECTOR_RUNS_PER_DAY="0", **places(sites)) as running,
    ):
        network.serve(sites)
        await running.up()
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        async with Extension(running.url, api_key=KEY) as reader:
            version, run, result = await reader.investigated(observation(words))
            assert (version["platform"], version["externalId"]) == ("BLUESKY", f"{DID}/{RKEY}")
            assert version["provenance"] == "SERVER_VERIFIED"
            assert [claim["text"] for claim in result["claims"]] == [BRAIN]
            page = (await reader.http.get(f"/investigations/{run}")).text
            assert f"Signed by the author's key <code>did:key:{network.repository.signer.multibase}</code>" in page
            assert "text signed by its author&#39;s key" in page
            assert f'href="/investigations/{run}/proof.cbor"' in page
            proof = decode((await reader.http.get(f"/investigations/{run}/proof.cbor")).content)
            assert proved_text(proof) == words
            assert "Ann Lee" in page

            signer = Signer(secret=8)
            network.forge = lambda _: repository("What the author never said.", signer=signer).car(POST_PATH)
            lies = "What the author never said."
            forged = await reader.register(observation(lies, actor=DID))
            assert forged["provenance"] == "CLIENT_FALLBACK"
        async with await open_session(running.database_url) as db:
            documents = await (await db.execute("SELECT document FROM readmodel.version_metadata")).fetchall()
            failures = await (await db.execute("SELECT reason, detail FROM readmodel.verification_failure")).fetchall()
    (kept,) = (document for (document,) in documents if "cid" in document)
    assert kept["cid"] == str(Cid.of(encode(post(words))))
    assert kept["uri"] == f"at://{DID}/{POST_PATH}"
    assert [document for (document,) in documents if "signing_key" not in document] == [{"author_did": DID}]
    assert failures == [("bad_answer", "signature: the commit is not signed by the DID's key")]


@pytest.mark.requirement("FS-52")
async def test_pages_of_an_author_who_asks_not_to_be_shown_are_gone_while_the_wish_stands(tmp_path: Path) -> None:
    """FS-52: An author's wish not to be shown without an account means not public."""
    words = prose(BRAIN)
    network = Network(repository(words))
    uncached = dict.fromkeys(
        (
            "OPENERRATA_GATEWAY_REMEMBER_OBSERVATIONS_S",
            "OPENERRATA_VERIFIER_PAGE_TTL_S",
            "OPENERRATA_VERIFIER_REFUSAL_TTL_S",
        ),
        "0",
    )
    async with (
        Sites() as sites,
        system(tmp_path / "system", OPENERRATA_SELECTOR_RUNS_PER_DAY="0", **uncached, **places(sites)) as running,
    ):
        network.serve(sites)
        await running.up()
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        async with Extension(running.url, api_key=KEY) as reader:
            seen = observation(words)
            _, run, result = await reader.investigated(seen)
            (summary,) = (claim["summary"] for claim in result["claims"])
            pages = [f"/investigations/{run}", f"/investigations/{run}/audit", f"/posts/bluesky/{DID}/{RKEY}"]

            async def answer(status: int) -> bool:
                found = [(await reader.http.get(page)).status_code for page in pages]
                question = {"query": "{ search { edges { node { claimSummaries { summary } } } } }"}
                lists = [await reader.http.get("/corrections"), await reader.http.post("/graphql", json=question)]
                listed = [summary in each.text for each in lists]
                return found == [status] * len(pages) and listed == [status == 200] * len(lists)

            assert await answer(200)

            network.repository.records[PROFILE_PATH] = profile("Ann Lee", HIDDEN)
            network.repository.at = datetime.now(UTC)
            await reader.register(seen)
            await until(lambda: answer(404), "the pages are gone")

            network.repository.records[PROFILE_PATH] = profile()
            network.repository.at = datetime.now(UTC)
            await reader.register(seen)
            await until(lambda: answer(200), "the pages are back")
