"""Bluesky on loopback: the directory of DIDs, the authors' server and the resolver of handles, under one origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import uuid4

from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from platforms.atproto.cbor import Value
from tests.support.repositories import DID, HANDLE, RKEY, Repository
from tests.support.sites import Answer, Seen, Sites

RECORD: Final = "/xrpc/com.atproto.sync.getRecord"
RESOLVE: Final = "/xrpc/com.atproto.identity.resolveHandle"


@dataclass
class Network:
    """What the three servers answer; tests change it. `error`: what the authors' server answers instead."""

    repository: Repository
    handles: dict[str, str] = field(default_factory=lambda: {HANDLE: DID})
    claimed: tuple[str, ...] = (HANDLE,)
    error: str | None = None
    forge: Callable[[bytes], bytes] = bytes

    def answer(self, path: str, query: dict[str, str], origin: str) -> Answer:
        """One answer."""
        if path == RESOLVE:
            did = self.handles.get(query["handle"])
            return _json({"did": did}) if did else _json({"error": "InvalidRequest"}, 400)
        if path == RECORD:
            if self.error is not None:
                return _json({"error": self.error}, 400)
            car = self.repository.car(f"{query['collection']}/{query['rkey']}")
            return Answer(200, {"content-type": "application/vnd.ipld.car"}, self.forge(car))
        if path == f"/{self.repository.did}":
            return _json(self.repository.document(origin, *self.claimed))
        return Answer(404)

    def serve(self, sites: Sites) -> dict[str, str]:
        """Answer at these sites; return their addresses by the names in the settings."""

        def answer(seen: Seen) -> Answer:
            return self.answer(seen.path, seen.query, sites.url)

        sites.pages.update(dict.fromkeys((RECORD, RESOLVE, f"/{self.repository.did}"), answer))
        return {"BLUESKY": sites.url, "PLC": sites.url}


def observation(actor: str = HANDLE, did: str = DID, key: str = RKEY) -> Observation:
    """What a browser sees of one post."""
    return Observation(
        observation_id=uuid4(),
        post=PostRef(platform="BLUESKY", external_id=f"{did}/{key}"),
        url=f"https://bsky.app/profile/{actor}/post/{key}",
        metadata={"author_did": did},
    )


def signed(records: dict[str, Value], at: datetime) -> Network:
    """A network with these records."""
    return Network(Repository(records, at=at))


def _json(value: object, status: int = 200) -> Answer:
    return Answer(status, {"content-type": "application/json"}, json.dumps(value).encode())
