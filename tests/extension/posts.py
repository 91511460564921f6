"""Pages of the sites, written by us: what a reader's browser gets, and what the site says when the server asks.

Each is the smallest page that the site's adapter takes for a post. No network stands behind any of them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import count

from tests.support.bluesky import Network
from tests.support.repositories import DID, HANDLE, POST_PATH, PROFILE_PATH, RKEY, Repository, post, profile
from tests.support.sites import Sites, WikiPage

BRAIN = "Humans use only 10 percent of their brains."
WALL = "The Great Wall of China is visible from the Moon with the naked eye."
GOLDFISH = "A goldfish can only remember things for three seconds."
LIGHTNING = "Lightning never strikes the same place twice."
BATS = "Bats are blind."
FIVE = (BRAIN, WALL, GOLDFISH, LIGHTNING, BATS)

STYLE = "body{font:18px/1.6 serif;margin:2rem auto;max-width:44rem;background:#fff;color:#222}"
FILLER = "The second paragraph of these notes describes the weather on the day of the walk and nothing else."

_numbers = count(1)


@dataclass(frozen=True)
class Post:
    """One page: where it is, all of its HTML, and the words in it that are wrong."""

    url: str
    html: str
    wrong: tuple[str, ...] = ()


def number() -> int:
    """A number that no other page of this run has."""
    return next(_numbers)


def prose(*sentences: str) -> str:
    """Paragraphs with these sentences in them, each cut by an element, and with nothing else to object to."""
    cut = (re.sub(r" (\S+) ", r" <em>\1</em> ", sentence, count=1) for sentence in sentences)
    middle = "".join(f"<p>{FILLER} {sentence}</p>" for sentence in cut)
    return f"<p>The morning began in the library of the town.</p>{middle}<p>Then it rained. Note {number()}.</p>"


def document(head: str, body: str) -> str:
    """A whole page."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style>{head}</head><body>{body}</body></html>"
    )


def wikipedia(sites: Sites, *sentences: str, page_id: int = 0, body: str = "", title: str = "") -> Post:
    """A revision of an article; of a new article unless told."""
    page_id = page_id or 800_000 + number()
    revision = 80_000_000 + number()
    title = title or f"A_walk_{page_id}"
    inner = body or prose(*sentences)
    html = f'<div class="mw-parser-output" lang="en" dir="ltr">{inner}</div>'
    sites.wikipedia[str(revision)] = WikiPage(page_id, html, title.replace("_", " "))
    config = {"wgNamespaceNumber": 0, "wgPageName": title, "wgArticleId": page_id, "wgRevisionId": revision}
    page = document(
        f"<title>A walk - Wikipedia</title><script>RLCONF={json.dumps(config)};</script>",
        f'<h1 id="firstHeading">A walk</h1><div id="mw-content-text">{html}</div>',
    )
    return Post(f"https://en.wikipedia.org/wiki/{title}", page, sentences)


def lesswrong(sites: Sites, *sentences: str, body: str = "") -> Post:
    """A post on LessWrong."""
    id_ = f"walk{number():013}"
    inner = body or prose(*sentences)
    sites.lesswrong[id_] = inner
    return Post(f"https://www.lesswrong.com/posts/{id_}/a-walk", document("", lesswrong_post(id_, inner)), sentences)


def lesswrong_post(id_: str, inner: str) -> str:
    """The part of LessWrong's page that is the post."""
    about = json.dumps({"url": f"https://www.lesswrong.com/posts/{id_}/a-walk"})
    return (
        f'<main id="postBody"><script type="application/ld+json">{about}</script><h1>A walk</h1>'
        '<span class="PostsAuthors-authorName"><a href="/users/ada">Ada</a></span>'
        f'<div class="PostsPage-postContent"><div id="postContent">{inner}</div></div></main>'
    )


def substack(sites: Sites, *sentences: str, head: str = "", after: str = "", body: str = "") -> Post:
    """A post of a publication on Substack."""
    id_ = 150_000_000 + number()
    slug, inner = f"a-walk-{id_}", body or prose(*sentences)
    sites.substack[slug] = id_, inner
    preview = f"https%3A%2F%2Fwalks.substack.com%2Fapi%2Fv1%2Fpost_preview%2F{id_}%2Ftwitter.jpg"
    page = document(
        f'<title>A walk</title><meta name="author" content="Ada">'
        f'<meta property="og:image" content="https://cdn.example/{preview}">{head}',
        '<main><article><h1 class="post-title">A walk</h1>'
        f'<div class="body markup">{inner}</div></article>{after}</main>',
    )
    return Post(f"https://walks.substack.com/p/{slug}", page, sentences)


def x(*sentences: str, after: str = "") -> Post:
    """A post on X; no server can ask that site."""
    id_ = str(1_900_000_000_000_000_000 + number())
    text = " ".join(("The morning began in the library of the town.", *sentences, f"Then it rained. Note {number()}."))
    page = document(
        "",
        '<div data-testid="primaryColumn"><article><div data-testid="User-Name"><a href="/ada">Ada</a> @ada</div>'
        f'<a href="/ada/status/{id_}"><time datetime="2026-03-04T05:06:07Z">4 March</time></a>'
        f'<div data-testid="tweetText">{text}</div>{after}</article></div>',
    )
    return Post(f"https://x.com/ada/status/{id_}", page, sentences)


def x_protected() -> Post:
    """A post that only its author's followers see."""
    id_ = str(1_900_000_000_000_000_000 + number())
    says = f"These posts are protected. Only confirmed followers have access. {BRAIN}"
    page = document("", f'<div data-testid="primaryColumn"><h1>{says}</h1></div>')
    return Post(f"https://x.com/ada/status/{id_}", page)


def bluesky(sites: Sites, *sentences: str) -> Post:
    """A post of Bluesky with an answer that quotes it; its author's repository proves it."""
    text = "\n\n".join(("The morning began in the library.", *sentences, f"Then it rained. Note {number()}."))
    repository = Repository({POST_PATH: post(text), PROFILE_PATH: profile()}, at=datetime.now(UTC))
    Network(repository).serve(sites)
    answer = f'<div data-word-wrap="1">No.</div><a href="/profile/{HANDLE}/post/{RKEY}">{_words(sentences[0])}</a>'
    page = document(
        "",
        '<div data-testid="postThreadScreen">'
        f'<div data-testid="postThreadItem-by-{HANDLE}"><a href="/profile/{HANDLE}">'
        f'<img src="https://cdn.bsky.app/img/avatar/plain/{DID}/cid@jpeg"></a>{_words(text)}'
        f'<a href="/profile/{HANDLE}/post/{RKEY}/liked-by">3 likes</a></div>'
        f'<div data-testid="postThreadItem-by-bob.example.com">{answer}</div></div>',
    )
    return Post(f"https://bsky.app/profile/{HANDLE}/post/{RKEY}", page, sentences)


def _words(text: str) -> str:
    return f'<div dir="auto" data-word-wrap="1" style="white-space: pre-wrap">{escape(text)}</div>'
