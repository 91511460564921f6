"""The browser extension's background script as the wire sees it: what it sends, and how strictly it reads.

The shapes are written out here by hand from the contract and share nothing with the server's own types: a key too many
or too few in any answer fails the test, as it would make the extension reject the answer.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx

from tests.support.system import until

VERSION = "0.3.3"
ATTESTATION_SECRET = b"openerrata-attestation-v1"
UNESCAPED = "!~*'()"
PROVENANCES = {"SERVER_VERIFIED", "CLIENT_FALLBACK"}
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
HASH = re.compile(r"[0-9a-f]{64}")

ERROR_KEYS = {"code", "httpStatus", "path", "openerrataCode"} | {
    "minimumSupportedExtensionVersion",
    "receivedExtensionVersion",
}

Json = dict[str, Any]


class RpcFailed(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {data['code']}: {message}")
        self.status = status
        self.message = message
        self.data = data


@dataclass
class Extension:
    """One installed extension. `address` is what a trusted proxy would say of where it is."""

    url: str
    api_key: str = ""
    openai_key: str = ""
    user_agent: str = "Mozilla/5.0 (X11; Linux x86_64)"
    address: str = ""
    version: str = VERSION
    correlations: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        # Without TLS on the loopback: to read the authorities' certificates takes 18 ms of processor time.
        self.http = httpx.AsyncClient(base_url=self.url, timeout=60, trust_env=False, verify=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    async def register(self, observation: Json) -> Json:
        """`post.registerObservedVersion`."""
        answer = await self._mutate("post.registerObservedVersion", observation)
        keys(answer, "platform", "externalId", "versionHash", "postVersionId", "provenance")
        assert answer["platform"] == observation["platform"]
        assert HASH.fullmatch(answer["versionHash"])
        _non_empty(answer["externalId"], answer["postVersionId"])
        _provenance(answer)
        return answer

    async def view(self, version_id: str) -> Json:
        """`post.recordViewAndGetStatus`."""
        return checked_status(await self._mutate("post.recordViewAndGetStatus", {"postVersionId": version_id}))

    async def investigate(self, version_id: str) -> Json:
        """`post.investigateNow`."""
        answer = await self._mutate(
            "post.investigateNow", {"postVersionId": version_id}, **{"x-openai-api-key": self.openai_key}
        )
        complete = ("claims",) if answer["status"] == "COMPLETE" else ()
        keys(answer, "investigationId", "status", "provenance", *complete)
        assert answer["status"] in {"PENDING", "PROCESSING", "FAILED", "COMPLETE"}
        _non_empty(answer["investigationId"])
        _provenance(answer)
        for claim in answer.get("claims", ()):
            _claim(claim)
        return answer

    async def look(self, investigation_id: str) -> Json:
        """`post.getInvestigation`."""
        answer = await self._query("post.getInvestigation", {"investigationId": investigation_id})
        return checked_status(answer, dated=True)

    async def settings(self) -> Json:
        """`post.validateSettings`."""
        answer = await self._query("post.validateSettings", None, **{"x-openai-api-key": self.openai_key})
        plain = answer["openaiApiKeyStatus"] in {"missing", "valid"}
        keys(answer, "instanceApiKeyAccepted", "openaiApiKeyStatus", *(() if plain else ("openaiApiKeyMessage",)))
        assert isinstance(answer["instanceApiKeyAccepted"], bool)
        return answer

    async def batch(self, posts: list[Json]) -> list[Json]:
        """`post.batchStatus`."""
        answer = await self._query("post.batchStatus", {"posts": posts})
        keys(answer, "statuses")
        for status in answer["statuses"]:
            keys(status, "platform", "externalId", "investigationState", "incorrectClaimCount")
        statuses: list[Json] = answer["statuses"]
        return statuses

    async def result(self, investigation_id: str, *, within_s: float = 30.0) -> Json:
        """Poll until the investigation is over; its last status."""

        async def over() -> Json | None:
            status = await self.look(investigation_id)
            return status if status["investigationState"] in {"INVESTIGATED", "FAILED"} else None

        return await until(over, f"investigation {investigation_id} is over", within_s=within_s)

    async def investigated(self, observation: Json, *, within_s: float = 30.0) -> tuple[Json, str, Json]:
        """Register, request and await an investigation: what was registered, the run's id, and the result."""
        version = await self.register(observation)
        await self.view(version["postVersionId"])
        asked = await self.investigate(version["postVersionId"])
        result = await self.result(asked["investigationId"], within_s=within_s)
        assert result["investigationState"] == "INVESTIGATED", result
        return version, asked["investigationId"], result

    async def _mutate(self, procedure: str, question: Json, **headers: str) -> Json:
        return await self.send(procedure, json.dumps(question, ensure_ascii=False, separators=(",", ":")), **headers)

    async def send(self, procedure: str, body: str, **headers: str) -> Json:
        """Send a body as it is, signed."""
        content = body.encode()
        signature = hmac.digest(ATTESTATION_SECRET, content, "sha256").hex()
        sent = {"content-type": "application/json", "x-openerrata-signature": signature, **headers}
        return self._read(await self.http.post(f"/trpc/{procedure}", content=content, headers=self._headers(sent)))

    async def _query(self, procedure: str, question: Json | None, **headers: str) -> Json:
        asked = "" if question is None else f"?input={quote(json.dumps(question, ensure_ascii=False), safe=UNESCAPED)}"
        return self._read(await self.http.get(f"/trpc/{procedure}{asked}", headers=self._headers(headers)))

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        headers = {
            "x-openerrata-extension-version": self.version,
            "x-api-key": self.api_key.strip(),
            "user-agent": self.user_agent,
            "x-forwarded-for": self.address,
            **more,
        }
        return {name: value for name, value in headers.items() if value}

    def _read(self, response: httpx.Response) -> Json:
        self.correlations.append(response.headers.get("x-correlation-id", ""))
        return read(response)


def read(response: httpx.Response) -> Json:
    """The answer in a response.

    Raises: RpcFailed: it is a well-formed error.
    """
    assert response.headers["content-type"].startswith("application/json"), response.text
    body = response.json()
    if "error" in body:
        keys(body, "error")
        keys(body["error"], "message", "code", "data")
        data = body["error"]["data"]
        assert data["httpStatus"] == response.status_code
        assert {"code", "httpStatus"} <= data.keys() <= ERROR_KEYS
        raise RpcFailed(response.status_code, body["error"]["message"], data)
    assert response.status_code == 200
    keys(body, "result")
    keys(body["result"], "data")
    answer: Json = body["result"]["data"]
    return answer


def checked_status(answer: Json, *, dated: bool = False) -> Json:
    """The union that two procedures share; `dated`: a finished one must say when, elsewhere it must not."""
    match answer["investigationState"]:
        case "NOT_INVESTIGATED":
            keys(answer, "investigationState", "priorInvestigationResult")
            _prior(answer)
        case "INVESTIGATING":
            keys(
                answer, "investigationState", "status", "provenance", "pendingClaims", "confirmedClaims",
                "priorInvestigationResult",
            )  # fmt: skip
            assert dated, "a viewer cannot follow an unfinished run up"
            assert answer["status"] in {"PENDING", "PROCESSING"}
            _provenance(answer)
            _prior(answer)
            for payload in (*answer["pendingClaims"], *answer["confirmedClaims"]):
                _payload(payload)
        case "INVESTIGATED":
            keys(answer, "investigationState", "provenance", "claims", *(("checkedAt",) if dated else ()))
            _provenance(answer)
            assert not dated or INSTANT.fullmatch(answer["checkedAt"])
            for claim in answer["claims"]:
                _claim(claim)
        case "FAILED":
            keys(answer, "investigationState", "provenance")
            assert dated
            _provenance(answer)
        case unknown:
            raise AssertionError(f"no such state: {unknown}")
    return answer


def keys(answer: Any, *expected: str) -> None:
    """Assert the exact keys: the extension rejects an object that has a key more or less."""
    assert isinstance(answer, dict)
    assert answer.keys() == set(expected), sorted(answer.keys() ^ set(expected))


def _prior(answer: Json) -> None:
    prior = answer["priorInvestigationResult"]
    if prior is not None:
        keys(prior, "oldClaims", "sourceInvestigationId")
        _non_empty(prior["sourceInvestigationId"])
        for claim in prior["oldClaims"]:
            _claim(claim)


def _claim(claim: Json) -> None:
    assert isinstance(claim, dict)
    _non_empty(claim["id"])
    _payload({name: value for name, value in claim.items() if name != "id"})


def _payload(payload: Any) -> None:
    keys(payload, "text", "context", "summary", "reasoning", "sources")
    _non_empty(payload["text"], payload["context"], payload["summary"], payload["reasoning"])
    assert payload["sources"]
    for source in payload["sources"]:
        keys(source, "url", "title", "snippet")
        _non_empty(source["title"], source["snippet"])
        assert urlsplit(source["url"]).scheme in {"http", "https"}


def _provenance(answer: Json) -> None:
    assert answer["provenance"] in PROVENANCES


def _non_empty(*texts: Any) -> None:
    assert all(isinstance(text, str) and text for text in texts)
