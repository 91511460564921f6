"""Edits of Wikipedia, with which an account proves that it contributed to an article.

Only a summary that consists of the token counts. The text that an edit adds can be a stranger's: a revert restores it,
an archive copies it. A summary of several words can be the software's, which repeats headings and names of users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import urlencode

from contracts.v1.parts import PostRef
from platforms.base import CanonicalAnswer, CanonicalMismatch, CanonicalRequest, Steps, get_path, get_text, parse_json
from platforms.urls import parse_url
from platforms.wikipedia_api import DIGITS, ENDPOINT, check_answer, parse_number
from platforms.wikipedia_identity import HOST

CONTRIBUTED: Final = "contributed_to"
"""The metadata field of an edit with the article and revision that its account contributed to, as
`<language>:<page>@<revision>`."""
_ID: Final = re.compile(r"(([a-z][a-z0-9-]*):([0-9]+)@([0-9]+))/([0-9]+)")
_SUMMARY: Final = re.compile(r"(?:/\*[^*]*\*/ ?)?([a-z0-9-]+)")
"""One word, perhaps after the heading of the edited section, which the software adds."""
_DIFF: Final = re.compile(r"/wiki/Special:(?:Diff|PermanentLink|Permalink)/(?:[0-9]+/)?([0-9]+)/?", re.IGNORECASE)
_QUERY: Final = {"action": "query", "format": "json", "formatversion": "2", "prop": "revisions"}
_MAX_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class EditUrl:
    """An edit named by a URL; `revision` is the id of the revision that it made."""

    language: str
    revision: str


def parse_edit_url(url: str) -> EditUrl | None:
    """Read the URL of an edit or of the revision that it made; None for any other page."""
    page = parse_url(url)
    host = HOST.fullmatch(page.host.lower()) if page else None
    if page is None or host is None:
        return None
    special = _DIFF.fullmatch(page.path)
    if special is not None:
        return EditUrl(host[1], special[1])
    if page.path != "/w/index.php" and not page.path.startswith("/wiki/"):
        return None
    compared = page.parameter("diff") or "prev"
    revision = (page.parameter("oldid") or "") if compared == "prev" else compared
    return EditUrl(host[1], revision) if DIGITS.fullmatch(revision) else None


def read_word(summary: str) -> str:
    """The one word that the summary consists of; empty if it is anything else."""
    found = _SUMMARY.fullmatch(summary)
    return "" if found is None else found[1]


def edit_steps(post: PostRef, endpoint: str | None) -> Steps | None:
    """Fetch an edit, then its account's edit of the article by the revision; None if the id is not that of an edit."""
    found = _ID.fullmatch(post.external_id)
    return None if found is None else _steps(post, endpoint or ENDPOINT, *found.groups())


def _steps(post: PostRef, endpoint: str, article: str, language: str, page: str, judged: str, edit: str) -> Steps:
    def request(part: str, **query: str) -> CanonicalRequest:
        url = f"{endpoint.replace('{language}', language)}?{urlencode(_QUERY | query)}"
        return CanonicalRequest("GET", url, (("accept", "application/json"),), part=part, max_bytes=_MAX_BYTES)

    # `part` names the article, so that requests for one edit differ by article: each answer is a proof for one article.
    answer = yield request(f"{language} {article}", revids=edit, rvprop="ids|user|userid|comment")
    made, _ = _first_revision(answer.body)
    if made is None:
        raise CanonicalMismatch("not_found", "Wikipedia shows no such edit")
    if parse_number(get_path(made, "revid")) != edit:
        raise CanonicalMismatch("other_revision", "the answer holds another edit than the one asked for")
    summary, account, name = get_text(made, "comment"), _account(made), get_text(made, "user")
    if summary is None:
        raise CanonicalMismatch("no_text", "the edit has no summary, or hides it")
    html = f"<p>{escape(summary)}</p>"
    if account is None or name is None:
        return CanonicalAnswer(post, html)
    of_account = {"pageids": page, "rvuser": name, "rvstartid": judged, "rvlimit": "1", "rvprop": "ids|user|userid"}
    answer = yield request(language, **of_account)
    earlier, its_page = _first_revision(answer.body)
    contributed = earlier is not None and _account(earlier) == account and its_page == page
    return CanonicalAnswer(post, html, metadata={CONTRIBUTED: article} if contributed else {})


def _first_revision(body: bytes) -> tuple[object, str | None]:
    """The first revision of the first page, and the page's id. Raises: CanonicalMismatch."""
    answer = parse_json(body)
    check_answer(answer)
    page = _first(get_path(answer, "query", "pages"))
    return _first(get_path(page, "revisions")), parse_number(get_path(page, "pageid"))


def _first(values: object) -> object:
    return values[0] if isinstance(values, list) and values else None


def _account(revision: object) -> str | None:
    """The id of the revision's account; None for an IP address, a temporary account or a hidden one."""
    if any(get_path(revision, mark) not in (None, False) for mark in ("anon", "temp", "userhidden")):
        return None
    name, account = get_text(revision, "user"), parse_number(get_path(revision, "userid"))
    return None if name is None or name.startswith("~") or account in (None, "0") else account
