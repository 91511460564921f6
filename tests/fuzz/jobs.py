"""Requests to the job API of which none may begin a job: its account has no credit, and most of them are spoilt.

What only the cache may answer is never asked for, since an account without credit may begin such a job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from tests.fuzz.drive import Judged
from tests.fuzz.generate import Json, Sent, Strangers, dump, encode

CANARY: Final = "Quixotia"
TARGETS: Final = (
    "http://127.0.0.1/",
    "http://[::1]:80/",
    "http://169.254.169.254/latest",
    "http://0x7f.1/",
    "http://a.internal/",
)
PARTS: Final = ("", "/", "/result", "/report", "/events", "/nothing", "/..", "?wait=1")
METHODS: Final = ("GET", "GET", "DELETE", "POST", "PUT", "PATCH", "HEAD")
HEADERS: Final = (
    "authorization",
    "idempotency-key",
    "prefer",
    "openerrata-version",
    "last-event-id",
    "content-type",
    "accept",
    "traceparent",
)

_NO_HEADER: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What a head may not hold; the server refuses it before it is a request."""


class JobStrangers(Strangers):
    """An endless row of requests to the job API. `key` is a reader's, `admin_key` may configure stages."""

    def __init__(self, seed: int, key: str, admin_key: str) -> None:
        super().__init__(seed, key)
        self._admin_key = admin_key
        self._kinds: tuple[tuple[int, Callable[[], Sent]], ...] = (
            (45, self._analyze),
            (15, self._estimate),
            (12, self._broken),
            (13, self._job),
            (10, self._with_headers),
            (5, self._configure),
        )

    def _article(self) -> Json:
        """A request that is right."""
        draw = self._draw
        labels = {"request_id": f"r{draw.randrange(10**9)}", "source_label": "fuzz"}
        options: Json = {
            "browsing": draw.choice(("on", "off")),
            "max_claims": draw.randrange(1, 11),
            "scenarios_per_claim": draw.randrange(1, 6),
            "cache_preference": draw.choice(("prefer_cache", "skip_cache")),
        }
        source: Json = {"input_text": f"The walls of {CANARY} are {draw.randrange(999)} metres high."}
        if draw.random() < 0.3:
            source = {"input_type": "url", "input_url": f"https://news.example/{CANARY}/{draw.randrange(999)}"}
        return {**source, "options": options, "client": labels}

    def _question(self) -> bytes:
        draw, article = self._draw, self._article()
        for _ in range(draw.randrange(3)):
            article = self._spoilt(article)
        if draw.random() < 0.2:
            article["input_url"] = draw.choice(TARGETS)
        if draw.random() < 0.02:
            article["input_text"] = f"{CANARY} " * draw.choice((10_001, 70_000))
        if draw.random() < 0.05:
            article["client"] = {"webhook_url": draw.choice((*TARGETS, "https://hook.example/", self._text()))}
        return dump(article)

    def _ask(self, target: str, body: bytes, *, what: str, key: str | None = None, **more: str) -> Sent:
        given = {"content-type": "application/json", "authorization": f"Bearer {key or self._key}"}
        given |= {name.replace("_", "-"): value for name, value in more.items()}
        return self._http("POST", target, body, what=what, more=tuple(given.items()))

    def _analyze(self) -> Sent:
        return self._ask("/v1/analyze", self._question(), what="analyze")

    def _estimate(self) -> Sent:
        return self._ask("/v1/estimate", self._question(), what="estimate")

    def _broken(self) -> Sent:
        draw, body = self._draw, bytearray(dump(self._article()))
        for _ in range(draw.randrange(1, 6)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        piece = draw.choice(
            (bytes(body), b"", b"null", b"[]", b'{"input_text":', b"[" * 5_000, b"\xff\xfe", b"1" * 5_000)
        )
        return self._ask("/v1/analyze", piece, what="analyze broken")

    def _job(self) -> Sent:
        draw = self._draw
        name = draw.choice(
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "8" * 26, "0", self._text()[:200])
        )
        target = f"/v1/jobs/{quote(encode(name), safe='')}{draw.choice(PARTS)}"
        headers = (("authorization", f"Bearer {self._key}"), ("prefer", "wait=1"))
        return self._http(draw.choice(METHODS), target, what="job", more=headers)

    def _with_headers(self) -> Sent:
        draw = self._draw
        more = {draw.choice(HEADERS).replace("-", "_"): self._text()[:1_000] for _ in range(draw.randrange(1, 4))}
        return self._ask("/v1/analyze", dump(self._article()), what="analyze with headers", **more)

    def _configure(self) -> Sent:
        wanted = {"stage": "stage1", "provider": "acme", "model": "m", "max_tokens": 9, "temperature": 0.5}
        key = self._draw.choice((self._key, self._admin_key))
        return self._ask("/admin/v1/llm/configure", dump(self._spoilt(wanted)), what="configure", key=key)


def judge(judged: Judged, sent: Sent, answer: tuple[int, bytes] | None) -> None:
    """Every refusal is a problem document without a word of the article, and nothing but an estimate succeeds."""
    is_request = not _NO_HEADER.search(sent.data.partition(b"\r\n\r\n")[0])
    if answer is None:
        if is_request:
            judged.fault(sent, "closed without an answer")
        return
    status, body = answer
    if sent.data.startswith(b"HEAD ") and 400 <= status < 500:
        judged.statuses[str(status)] += 1
    elif status == 400 and not body and not is_request:
        judged.statuses["no request"] += 1
    elif 400 <= status < 500:
        judged.statuses[str(status)] += 1
        if (complaint := _complain(status, body)) is not None:
            judged.fault(sent, f"{complaint}: {status} {body[:300]!r}")
    elif status == 200 and sent.what == "estimate":
        judged.statuses["200"] += 1
    else:
        judged.fault(sent, f"{status} {body[:300]!r}")


def _complain(status: int, body: bytes) -> str | None:
    try:
        said = json.loads(body)
    except ValueError:
        return "no JSON"
    if not isinstance(said, dict) or not said.keys() >= {"type", "title", "status", "detail", "instance", "error"}:
        return "no problem document"
    if said["status"] != status:
        return "another status"
    error = said["error"]
    if status != 402 and (not isinstance(error, dict) or error.keys() != {"code", "message", "details"}):
        return "no code"
    return "the article's words" if CANARY.encode() in body else None
