"""The sample article, and a local server that stands in for the site's API, so that the demo needs no internet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from platforms import get_platform

URL = "https://en.wikipedia.org/wiki/A_walk_through_a_curious_world"
TITLE = "A walk through a curious world"
PAGE_ID = 900_000_001
REVISION_ID = 900_000_002
IMAGE = "https://upload.wikimedia.org/sample/great-wall.jpg"

EXPECTED = frozenset(
    {
        "Humans use only 10 percent of their brains.",
        "The Great Wall of China is visible from the Moon with the naked eye.",
        "A goldfish can only remember things for three seconds.",
    }
)
"""Exactly these findings must be published; one more candidate is proposed and rejected."""
DOUBTFUL = "The Amazon is the longest river in the world."
"""The candidate that is rejected."""


def read_article() -> str:
    """The article as the site's API serves it."""
    return files("services.commands").joinpath("demo_article.html").read_text()


def read_text() -> str:
    """The article as a reader sees it."""
    return get_platform("WIKIPEDIA").extract_text(read_article())


def make_observation() -> dict[str, object]:
    """The observation that the extension would send."""
    return {
        "platform": "WIKIPEDIA",
        "url": URL,
        "observedContentText": read_text(),
        "observedImageUrls": [IMAGE],
        "metadata": {
            "language": "en",
            "title": TITLE.replace(" ", "_"),
            "pageId": str(PAGE_ID),
            "revisionId": str(REVISION_ID),
            "displayTitle": TITLE,
        },
    }


@contextmanager
def serve_article() -> Iterator[str]:
    """Serve the article by the MediaWiki API on a free loopback port; yields the API's address."""
    page = {"title": TITLE, "pageid": PAGE_ID, "revid": REVISION_ID, "text": read_article()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            revision = parse_qs(urlsplit(self.path).query).get("oldid", [""])[0]
            answer = {"parse": page} if revision == str(REVISION_ID) else {"error": {"code": "nosuchrevid"}}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, name="demo-site", daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/w/api.php"
        finally:
            server.shutdown()
