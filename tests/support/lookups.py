"""A server of private look-ups on the loopback: buckets in the agreed format, with proofs of a log.

It is written from the format alone and shares nothing with the server's own code.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from threading import Thread
from typing import Final

from pydantic import JsonValue

from tests.support.tlogs import LOG_KEY, ExampleLog, signing_key
from tlog.decision import write_extra
from tlog.keys import Algorithm
from tlog.leaf import Leaf, canonical, open_documents
from tlog.merkle import hash_leaf
from tlog.policy import Log, Policy, Witness
from tlog.proof import Proof

BLOCK: Final = 32 * 1024
WITNESS: Final = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
POLICY: Final = Policy((Log(LOG_KEY.verifier),), (Witness("w1", WITNESS.verifier),), quorum="w1")


def post_key(platform: str, external_id: str) -> str:
    """The key of a post."""
    return sha256(f"openerrata/post/1|{platform}|{external_id}".encode()).hexdigest()


def clear_mark(key: str, content_hash: str) -> str:
    """The mark of a version in which nothing was found."""
    return sha256(bytes.fromhex(key + content_hash)).hexdigest()[:16]


def prefix_of(key: str, bits: int) -> str:
    """The name of the bucket of a key."""
    if bits == 0:
        return "all"
    binary = f"{int(key, 16):0256b}"[:bits]
    digits = ceil(bits / 4)
    return f"{int(binary.ljust(digits * 4, '0'), 2):0{digits}x}"


def frame(document: JsonValue) -> bytes:
    """The padded body of a document."""
    packed = gzip.compress(json.dumps(document).encode())
    body = len(packed).to_bytes(4) + packed
    return body + bytes(-len(body) % BLOCK)


@dataclass(frozen=True)
class KnownPost:
    """A version of a post and the sentences that were found wrong in it; none: nothing was found."""

    platform: str
    external_id: str
    text: str
    wrong: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the post."""
        return post_key(self.platform, self.external_id)

    @property
    def content_hash(self) -> str:
        """The hash of the version's text."""
        return sha256(self.text.encode()).hexdigest()

    def claim(self, number: int) -> str:
        """The id of a finding."""
        return f"{self.key[:8]}-0000-7000-9000-{number:012}"

    @property
    def investigation(self) -> str:
        """The id of the investigation."""
        return f"{self.key[:8]}-0000-7000-8000-{self.content_hash[:12]}"


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire. Shapes: names of `headers` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: str = ""


@dataclass
class Lookups:
    """What the server knows, and what it was asked."""

    url: str
    posts: Sequence[KnownPost] = ()
    bits: int = 6
    taken_back: dict[str, dict[str, str]] = field(default_factory=dict)
    """States of findings by their ids, by day."""
    received: list[Received] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Bytes of the bodies that were sent under a prefix or a day."""

    def answer(self, path: str) -> tuple[int, bytes]:
        """The status and the body of a path."""
        layout = f"b{self.bits}"
        match path.removeprefix("/lookup/v1/").split("/"):
            case ["layout.json"]:
                known = {"v": 1, "layout": layout, "bits": self.bits, "paused": False, "firstDay": "2026-11-01"}
                return 200, json.dumps(known).encode()
            case ["retractions", day]:
                claims: list[JsonValue] = [
                    {"id": id_, "state": state, "cause": "REVIEW", "at": f"{day}T00:00:01Z"}
                    for id_, state in self.taken_back.get(day, {}).items()
                ]
                return 200, frame({"v": 1, "day": day, "claims": claims})
            case [name, prefix] if name == layout:
                return 200, frame(self._bucket(prefix))
        return (200, bytes(POLICY)) if path == "/log/v1/policy" else (404, b"")

    def _bucket(self, prefix: str) -> JsonValue:
        there = [post for post in self.posts if prefix_of(post.key, self.bits) == prefix]
        leaves = [_decide(post) for post in self.posts if post.wrong]
        log = ExampleLog([hash_leaf(leaf) for leaf, _ in leaves] or [hash_leaf(b"first")])
        size = len(log.leaves)
        note = log.note(size, WITNESS)
        found: dict[str, list[JsonValue]] = {}
        proven = [post for post in self.posts if post.wrong]
        for index, (post, (_, extra)) in enumerate(zip(proven, leaves, strict=True)):
            if post in there:
                found.setdefault(post.key, []).append(
                    {
                        "contentHash": post.content_hash,
                        "revisions": list(post.revisions),
                        "investigation": post.investigation,
                        "proof": bytes(Proof(index, log.inclusion(index, size), note, extra)).decode(),
                    }
                )
        return {
            "v": 1,
            "checkpoint": bytes(note).decode(),
            "posts": [{"key": key, "versions": versions} for key, versions in found.items()],
            "clear": [clear_mark(post.key, post.content_hash) for post in there if not post.wrong],
        }


def _decide(post: KnownPost) -> tuple[bytes, bytes]:
    about: dict[str, JsonValue] = {
        "investigation": post.investigation,
        "contentHash": post.content_hash,
        "provenance": "SERVER_VERIFIED",
    }
    findings: list[dict[str, JsonValue]] = [
        {
            "claim": post.claim(number),
            "text": sentence,
            "context": sentence,
            "summary": f"Not so: {sentence}",
            "reasoning": sha256(sentence.encode()).hexdigest(),
            "sources": [{"url": "https://facts.example/", "title": "Facts", "snippet": "Not so."}],
        }
        for number, sentence in enumerate(post.wrong)
    ]
    openings = open_documents("A" * 43, [canonical(each) for each in (about, *findings)])
    leaf = Leaf(k="found", t=1_764_000_000_000, c=tuple(each.commitment for each in openings)).encode()
    return leaf, write_extra(leaf, openings)


@contextmanager
def lookup_server() -> Generator[Lookups]:
    """The server on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            lookups.received.append(
                Received("GET", self.path, {name.lower(): value for name, value in self.headers.items()})
            )
            status, body = lookups.answer(self.path)
            etag = f'"{sha256(body).hexdigest()}"'
            if status == 200 and self.headers["if-none-match"] == etag:
                status, body = 304, b""
            elif status == 200 and not self.path.endswith((".json", "policy")):
                lookups.sizes.append(len(body))
            self.send_response(status)
            self.send_header("etag", etag)
            self.send_header("cache-control", "public, max-age=60, s-maxage=30")
            self.send_header("access-control-allow-origin", "*")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"])).decode()
            lookups.received.append(
                Received("POST", self.path, {name.lower(): value for name, value in self.headers.items()}, sent)
            )
            body = b'{"result":{"data":null}}'
            self.send_response(200 if self.path == "/trpc/post.hint" else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    lookups = Lookups(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield lookups
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
