"""A post of Bluesky whose record is pinned, and what is said about it: facts as the services publish them."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from contracts.v1 import Event, InvestigationCompleted
from contracts.v1.parts import Author, ModelName, PublishedClaim
from platforms.atproto.cbor import Cid, encode
from tests.support.repositories import DID, post
from tests.unit.projector.histories import Page

MODEL: Final = ModelName(provider="openai_responses", model="gpt-5.4")


class PinnedPage(Page):
    """One version of a post; `cid` is that of a record with its text."""

    def __init__(self, text: str, key: str = "3l6oveex3ii2l", *, is_proved: bool = True) -> None:
        super().__init__(
            f"{DID}/{key}",
            text,
            platform="BLUESKY",
            provenance="SERVER_VERIFIED" if is_proved else "CLIENT_FALLBACK",
        )
        self.author = Author(platform_user_id=DID, display_name="Ada")
        self.uri = f"at://{DID}/app.bsky.feed.post/{key}"
        self.cid = str(Cid.of(encode(post(text))))

    @property
    def metadata(self) -> dict[str, JsonValue]:
        proof: dict[str, JsonValue] = {
            "uri": self.uri,
            "cid": self.cid,
            "rev": "3l6oveex3ii2l",
            "signing_key": "did:key:z",
            "proof_sha256": "0" * 64,
        }
        return {"author_did": DID} | (proof if self.provenance == "SERVER_VERIFIED" else {})

    def checked(self, findings: int = 1, *, model: ModelName = MODEL) -> list[Event]:
        """One investigation, from its request to its result."""
        claims = [self.claim(number) for number in range(findings)]
        return [
            self.requested(),
            self.started().model_copy(update={"model": model}),
            InvestigationCompleted(
                investigation_id=self.investigation_id,
                version_id=self.version_id,
                post_id=self.post_id,
                analysis="FACT_CHECK",
                attempt=1,
                model=model,
                claims=tuple(PublishedClaim(claim_id=id_, payload=payload) for id_, payload in claims),
                provenance=self.provenance,
            ),
        ]
