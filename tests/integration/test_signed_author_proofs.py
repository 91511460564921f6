"""An author on Bluesky proves an appeal to be theirs by a signed post, over real sockets and through all checks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from contracts.v1 import AppealProofChecked, AppealProofOffered
from contracts.v1.appeal import ProofOutcome, make_proof_token
from kit.clock import SystemClock
from services.verifier.handlers import AuthorProofs
from tests.integration.test_verifier_signed import World, world
from tests.support.bluesky import observation
from tests.support.fakes import MemoryTexts
from tests.support.repositories import DID, POST_PATH, PROFILE_PATH, Signer, post

APPEAL = uuid4()
TOKEN = make_proof_token(APPEAL)


async def look(at: World, author: str = DID) -> ProofOutcome:
    """What the post of the world's author proves of an appeal against a post of this author."""
    offered = AppealProofOffered(
        appeal_id=APPEAL,
        investigation_id=uuid4(),
        author=author,
        observation=observation(),
        until=SystemClock().now() + timedelta(hours=1),
    )
    texts = MemoryTexts()
    texts.stored = at.texts.texts
    proofs = AuthorProofs(at.pages, texts, SystemClock())
    (fact,) = [fact async for fact in proofs.on_appeal_proof_offered(offered, 1)]
    assert isinstance(fact, AppealProofChecked)
    return fact.outcome


def say(at: World, words: str) -> None:
    """The author publishes these words."""
    at.network.repository = replace(
        at.network.repository, records={**at.network.repository.records, POST_PATH: post(words)}
    )


@pytest.mark.requirement("TR-36")
async def test_a_signed_post_with_the_token_proves_its_author_and_nobody_else() -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    async with world() as at:
        assert await look(at) == "NO_TOKEN"
        say(at, f"For OpenErrata: {TOKEN}")
        assert await look(at) == "PROVEN"
        assert await look(at, "did:plc:zzzzzzzzzzzzzzzzzzzzzzzz") == "OTHER_AUTHOR"
        of_another = replace(at.network.repository, signer=Signer("K-256"))
        forged = iter([of_another.car(POST_PATH), of_another.car(PROFILE_PATH)])
        at.network.forge = lambda _: next(forged)
        assert await look(at) == "UNAVAILABLE"
