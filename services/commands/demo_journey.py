"""A reader who has a page checked, through the same protocol as the browser extension."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypedDict
from urllib.parse import quote

import httpx

# Answers are trusted here: the tests of the protocol check their shapes.
Answer = dict[str, Any]

EXTENSION_VERSION = "0.3.3"
POLL_S = 0.05


class RequestFailed(Exception):
    """The gateway answered with an error, or the investigation failed."""


@dataclass(frozen=True)
class Observed:
    """The version that the gateway derived from the page."""

    version_id: str
    provenance: str
    took_s: float


@dataclass(frozen=True)
class Progress:
    """Quotes of candidates that changed their state since the last event."""

    proposed: tuple[str, ...]
    confirmed: tuple[str, ...]
    dropped: tuple[str, ...]


class Source(TypedDict):
    """A source of a claim, as far as it is printed."""

    title: str
    url: str


class Claim(TypedDict):
    """A published claim, as far as it is printed."""

    text: str
    summary: str
    sources: list[Source]


@dataclass(frozen=True)
class Result:
    """The published outcome. `earlier`: it was published before this request."""

    claims: tuple[Claim, ...]
    earlier: bool = False


@dataclass
class Journey:
    """One reader with an instance key."""

    gateway: str
    api_key: str
    _states: dict[str, str] = field(default_factory=dict)
    investigation_id: str = ""

    async def play(self, observation: Mapping[str, object]) -> AsyncIterator[Observed | Progress | Result]:
        """Register the observation, record the view, request the investigation and poll it; yields changes.

        Raises: RequestFailed: the gateway answered with an error, or the investigation failed.
        """
        headers = {"x-openerrata-extension-version": EXTENSION_VERSION, "x-api-key": self.api_key}
        async with httpx.AsyncClient(base_url=self.gateway, headers=headers, timeout=60, trust_env=False) as client:
            began = monotonic()
            version = await _mutate(client, "post.registerObservedVersion", observation)
            yield Observed(version["postVersionId"], version["provenance"], monotonic() - began)
            version_input = {"postVersionId": version["postVersionId"]}
            view = await _mutate(client, "post.recordViewAndGetStatus", version_input)
            request = await _mutate(client, "post.investigateNow", version_input)
            self.investigation_id = request["investigationId"]
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
                    raise RequestFailed("the investigation failed; the log says why")
                await asyncio.sleep(POLL_S)

    def _progress(self, state: Answer, final: list[Claim] | None) -> Progress | None:
        pending = {claim["text"]: "pending" for claim in state.get("pendingClaims", ())}
        confirmed = {claim["text"]: "confirmed" for claim in final or state.get("confirmedClaims", ())}
        states = pending | confirmed
        report = Progress(
            proposed=tuple(text for text in states if text not in self._states),
            confirmed=tuple(text for text in confirmed if self._states.get(text) != "confirmed"),
            dropped=tuple(text for text, state in self._states.items() if state == "pending" and text not in states),
        )
        self._states |= states | dict.fromkeys(report.dropped, "dropped")
        return report if report.proposed or report.confirmed or report.dropped else None


async def _mutate(client: httpx.AsyncClient, procedure: str, body: Mapping[str, object]) -> Answer:
    return _unwrap(await client.post(f"/trpc/{procedure}", json=body))


async def _query(client: httpx.AsyncClient, procedure: str, body: Mapping[str, object]) -> Answer:
    return _unwrap(await client.get(f"/trpc/{procedure}?input={quote(json.dumps(body))}"))


def _unwrap(response: httpx.Response) -> Answer:
    body = response.json()
    if "error" in body:
        raise RequestFailed(f"{response.status_code}: {body['error']['message']}")
    data: Answer = body["result"]["data"]
    return data
