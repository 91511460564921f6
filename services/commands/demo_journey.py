"""The main job, played through the public protocol exactly as the browser extension plays it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx

EXTENSION_VERSION = "0.3.3"
POLL_S = 0.05


class Refused(Exception):
    """The gateway answered with an error."""


@dataclass(frozen=True)
class Observed:
    """The version the gateway has pinned the page to."""

    version_id: str
    provenance: str
    took_s: float


@dataclass(frozen=True)
class Progress:
    """Candidates proposed and confirmed since the last report, by their quotes."""

    proposed: tuple[str, ...]
    confirmed: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """The published outcome. `earlier`: it was there before anybody asked."""

    claims: tuple[dict[str, Any], ...]
    earlier: bool = False


@dataclass
class Journey:
    """One reader with an instance key."""

    gateway: str
    api_key: str
    _seen: dict[str, str] = field(default_factory=dict)
    investigation_id: str = ""

    async def play(self, observation: dict[str, Any]) -> AsyncIterator[Observed | Progress | Result]:
        """Observe, view, investigate, poll; yields what a reader would see change.

        Raises: Refused: the gateway answered with an error, or the investigation failed.
        """
        headers = {"x-openerrata-extension-version": EXTENSION_VERSION, "x-api-key": self.api_key}
        async with httpx.AsyncClient(base_url=self.gateway, headers=headers, timeout=60, trust_env=False) as client:
            began = monotonic()
            version = await _mutate(client, "post.registerObservedVersion", observation)
            yield Observed(version["postVersionId"], version["provenance"], monotonic() - began)
            question = {"postVersionId": version["postVersionId"]}
            view = await _mutate(client, "post.recordViewAndGetStatus", question)
            asked = await _mutate(client, "post.investigateNow", question)
            self.investigation_id = asked["investigationId"]
            if view["investigationState"] == "INVESTIGATED":
                yield Result(tuple(view["claims"]), earlier=True)
                return
            while True:
                state = await _query(client, "post.getInvestigation", {"investigationId": self.investigation_id})
                final = state.get("claims")
                progress = self._progress(state, final)
                if progress is not None:
                    yield progress
                if state["investigationState"] == "INVESTIGATED":
                    yield Result(tuple(final or ()))
                    return
                if state["investigationState"] == "FAILED":
                    raise Refused("the investigation failed; the log says why")
                await asyncio.sleep(POLL_S)

    def _progress(self, state: dict[str, Any], final: list[dict[str, Any]] | None) -> Progress | None:
        pending = {claim["text"]: "pending" for claim in state.get("pendingClaims", ())}
        confirmed = {claim["text"]: "confirmed" for claim in final or state.get("confirmedClaims", ())}
        now = pending | confirmed
        report = Progress(
            proposed=tuple(text for text in now if text not in self._seen),
            confirmed=tuple(text for text in confirmed if self._seen.get(text) != "confirmed"),
            dropped=tuple(text for text, was in self._seen.items() if was == "pending" and text not in now),
        )
        self._seen |= now | dict.fromkeys(report.dropped, "dropped")
        return report if report.proposed or report.confirmed or report.dropped else None


async def _mutate(client: httpx.AsyncClient, procedure: str, body: dict[str, Any]) -> dict[str, Any]:
    return _unwrap(await client.post(f"/trpc/{procedure}", json=body))


async def _query(client: httpx.AsyncClient, procedure: str, body: dict[str, Any]) -> dict[str, Any]:
    return _unwrap(await client.get(f"/trpc/{procedure}?input={quote(json.dumps(body))}"))


def _unwrap(response: httpx.Response) -> dict[str, Any]:
    body = response.json()
    if "error" in body:
        raise Refused(f"{response.status_code}: {body['error']['message']}")
    data: dict[str, Any] = body["result"]["data"]
    return data
