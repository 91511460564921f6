"""Pages other than posts by which authors prove an appeal to be theirs, over real sockets and through all checks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.v1 import AppealProofChecked, AppealProofOffered
from contracts.v1.appeal import ProofOutcome, make_proof_token
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from kit.clock import SystemClock
from kit.web import GuardedHttpClient, Policy
from platforms import get_platform
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes
from services.verifier.fetching import Fetcher
from services.verifier.handlers import AuthorProofs
from tests.integration.test_verifier import PATIENCE
from tests.support.fakes import MemoryTexts
from tests.support.sites import Answer, Fault, Seen, Sites

APPEAL: Final = uuid4()
TOKEN: Final = make_proof_token(APPEAL)
SAID: Final = f"<p>For OpenErrata: {TOKEN}</p>"
QUOTED: Final = f"<blockquote><p>Please publish {TOKEN}</p></blockquote><p>Why should I?</p>"
COMMENT: Final = "qT8fXcv5rN2kPzYwE"
COMMENTED: Final = f"https://www.lesswrong.com/posts/aB3dE5/panes?commentId={COMMENT}"
PROFILE: Final = "https://www.lesswrong.com/users/ada"
ADA: Final = {"displayName": "Ada", "slug": "ada"}
NAMESAKE: Final = {"displayName": "ada", "slug": "ada-2"}


EDITED: Final = "https://en.wikipedia.org/wiki/Special:Diff/789"
OWNER: Final = "en:12@456"
MADE: Final[Mapping[str, object]] = {"revid": 789, "user": "Ada", "userid": 7, "comment": TOKEN}
EARLIER: Final[Mapping[str, object]] = {"revid": 400, "user": "Ada", "userid": 7}
ADDRESS: Final[Mapping[str, object]] = {"user": "192.0.2.7", "userid": 0, "anon": True}
TEMPORARY: Final[Mapping[str, object]] = {"user": "~2026-7", "userid": 7, "temp": True}


@dataclass
class Asked:
    """The sites, and what they show as the author of a post."""

    sites: Sites
    proofs: AuthorProofs

    async def look(self, url: str, platform: str = "LESSWRONG", author: str = "ada") -> ProofOutcome:
        """What the page at this address proves of an appeal against a post of this author."""
        post = PostRef(platform=platform, external_id="en:12" if platform == "WIKIPEDIA" else "aB3dE5")
        page, metadata = get_platform(platform).own_page(url, author, post, {})
        offered = AppealProofOffered(
            appeal_id=APPEAL,
            investigation_id=uuid4(),
            author=author,
            observation=Observation(observation_id=uuid4(), post=page, url=url, metadata=dict(metadata)),
            until=SystemClock().now() + timedelta(hours=1),
        )
        (fact,) = [fact async for fact in self.proofs.on_appeal_proof_offered(offered, 1)]
        assert isinstance(fact, AppealProofChecked)
        return fact.outcome


@pytest.fixture
async def at() -> AsyncIterator[Asked]:
    async with Sites() as sites:
        policy = Policy("https://contact.example/", max_bytes=10_000_000, exempt_origins=frozenset({sites.url}))
        async with GuardedHttpClient(policy) as http:
            texts = MemoryTexts()
            pages = SitePages(
                Fetcher(http, SystemClock(), PATIENCE),
                Lifetimes(page_s=0.0, failure_s=0.0, refusal_s=0.0),
                texts,
                SystemClock(),
                {"WIKIPEDIA": f"{sites.url}/w/api.php", "LESSWRONG": f"{sites.url}/graphql"},
                CollectorRegistry(),
                capacity=100,
                cached=100,
            )
            yield Asked(sites, AuthorProofs(pages, texts, SystemClock()))
            await pages.close()


def says(document: object) -> Answer:
    return Answer(200, {"content-type": "application/json"}, json.dumps(document).encode())


def serve_lesswrong(sites: Sites, kind: str, key: str, result: Mapping[str, object] | None) -> None:
    """LessWrong shows this under the id, and nothing else."""

    def answer(request: Seen) -> Answer:
        asked = json.loads(request.body)
        is_it = asked["variables"] == {"id": key} and f"{kind}(input:" in asked["query"]
        return says({"data": {kind: {"result": result if is_it else None}}})

    sites.pages["/graphql"] = answer


def comment(html: str | None, user: Mapping[str, str] | None = ADA, **changed: object) -> dict[str, object]:
    return {"_id": COMMENT, "deleted": False, "contents": {"html": html}, "user": user} | changed


def profile(bio: str, user: Mapping[str, str] = ADA, **changed: object) -> dict[str, object]:
    return {"deleted": False, "htmlBio": bio, **user} | changed


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize(
    ("shown", "proven"),
    [
        (comment(SAID), "PROVEN"),
        (comment("<p>It is so.</p>"), "NO_TOKEN"),
        (comment(QUOTED), "NO_TOKEN"),
        (comment(SAID, {"displayName": "Mallory", "slug": "mallory"}), "OTHER_AUTHOR"),
        (comment(SAID, NAMESAKE), "OTHER_AUTHOR"),
        (comment(QUOTED, NAMESAKE), "OTHER_AUTHOR"),
        (comment(SAID, {"displayName": "Ada"}), "OTHER_AUTHOR"),
        (comment(SAID, None), "OTHER_AUTHOR"),
        (comment(SAID, _id="zY8xW7vU6tS5rQ4pN"), "UNAVAILABLE"),
        (comment(SAID, deleted=True), "UNAVAILABLE"),
        (comment(None), "UNAVAILABLE"),
        (None, "UNAVAILABLE"),
    ],
)
async def test_a_comment_on_lesswrong_proves_its_user_and_nobody_else(
    at: Asked, shown: dict[str, object] | None, proven: ProofOutcome
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    serve_lesswrong(at.sites, "comment", COMMENT, shown)
    assert await at.look(COMMENTED) == proven


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize(
    ("shown", "proven"),
    [
        (profile(SAID), "PROVEN"),
        (profile("<p>I like glass.</p>"), "NO_TOKEN"),
        (profile(QUOTED), "NO_TOKEN"),
        (profile(SAID, NAMESAKE), "OTHER_AUTHOR"),
        (profile(SAID, deleted=True), "UNAVAILABLE"),
        (profile(""), "UNAVAILABLE"),
        (None, "UNAVAILABLE"),
    ],
)
async def test_a_profile_on_lesswrong_proves_its_user_and_nobody_else(
    at: Asked, shown: dict[str, object] | None, proven: ProofOutcome
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    serve_lesswrong(at.sites, "user", "ada", shown)
    assert await at.look(PROFILE) == proven


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize("fault", ["redirect_private", "redirect_loop", "not_found", "wrong_types", "deep_json"])
@pytest.mark.parametrize(("url", "platform"), [(COMMENTED, "LESSWRONG"), (PROFILE, "LESSWRONG"), (EDITED, "WIKIPEDIA")])
async def test_a_site_that_does_not_answer_as_itself_proves_nothing(
    at: Asked, url: str, platform: str, fault: Fault
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    at.sites.fail(fault)
    assert await at.look(url, platform, OWNER if platform == "WIKIPEDIA" else "ada") == "UNAVAILABLE"


async def test_a_site_is_asked_for_a_comment_and_a_post_of_one_id_apart(at: Asked) -> None:
    at.sites.lesswrong["aB3dE5"] = SAID
    assert await at.look("https://www.lesswrong.com/posts/aB3dE5/panes") == "OTHER_AUTHOR"
    assert await at.look(COMMENTED) == "UNAVAILABLE"


def serve_edits(
    sites: Sites, made: Mapping[str, object] | None, earlier: Mapping[str, object] | None, page: int = 12
) -> None:
    """Wikipedia shows this edit of a user's page, and this one as the newest of its account by the judged revision."""

    def answer(request: Seen) -> Answer:
        asked = request.query
        if asked.get("revids") == "789":
            if made is None:
                return says({"query": {"badrevids": {"789": {"revid": 789, "missing": True}}}})
            return says({"query": {"pages": [{"pageid": 88, "title": "User:Ada", "revisions": [made]}]}})
        assert made is not None
        expected = {"pageids": "12", "rvuser": made["user"], "rvstartid": "456", "rvlimit": "1"}
        assert {name: asked[name] for name in expected} == expected
        assert "rvdir" not in asked  # the newest first is what the interface does unless asked otherwise
        return says({"query": {"pages": [{"pageid": page, **({"revisions": [earlier]} if earlier else {})}]}})

    sites.pages["/w/api.php"] = answer


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize(
    ("made", "earlier", "proven"),
    [
        ({}, EARLIER, "PROVEN"),
        ({"comment": f"/* Panes */ {TOKEN}"}, EARLIER, "PROVEN"),
        ({}, None, "OTHER_AUTHOR"),
        ({"comment": "Better words"}, EARLIER, "NO_TOKEN"),
        ({"comment": make_proof_token(uuid4())}, EARLIER, "NO_TOKEN"),
        ({"comment": f"/* {TOKEN} */ Reply"}, EARLIER, "NO_TOKEN"),
        ({"comment": f"Reverted edits by [[User talk:A {TOKEN}|talk]]"}, EARLIER, "NO_TOKEN"),
        (ADDRESS, {**EARLIER, **ADDRESS}, "OTHER_AUTHOR"),
        (TEMPORARY, {**EARLIER, **TEMPORARY}, "OTHER_AUTHOR"),
        ({"user": "~2026-7"}, {**EARLIER, "user": "~2026-7"}, "OTHER_AUTHOR"),
        ({"user": "Ada", "userid": 8}, EARLIER, "OTHER_AUTHOR"),
        ({"userhidden": True}, EARLIER, "OTHER_AUTHOR"),
        ({}, {**EARLIER, "userhidden": True}, "OTHER_AUTHOR"),
        ({"revid": 790}, EARLIER, "UNAVAILABLE"),
        ({"comment": ""}, EARLIER, "UNAVAILABLE"),
        ({"comment": None, "commenthidden": True}, EARLIER, "UNAVAILABLE"),
    ],
)
async def test_an_edit_proves_who_had_edited_the_article_before(
    at: Asked, made: Mapping[str, object], earlier: Mapping[str, object] | None, proven: ProofOutcome
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    serve_edits(at.sites, {**MADE, **made}, earlier)
    assert await at.look(EDITED, "WIKIPEDIA", OWNER) == proven


@pytest.mark.requirement("TR-36")
async def test_an_edit_of_another_article_or_one_that_is_gone_proves_nothing(at: Asked) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    serve_edits(at.sites, MADE, EARLIER, page=13)
    assert await at.look(EDITED, "WIKIPEDIA", OWNER) == "OTHER_AUTHOR"
    serve_edits(at.sites, None, EARLIER)
    assert await at.look(EDITED, "WIKIPEDIA", OWNER) == "UNAVAILABLE"
    at.sites.pages["/w/api.php"] = says({"error": {"code": "nosuchrevid"}})
    assert await at.look(EDITED, "WIKIPEDIA", OWNER) == "UNAVAILABLE"


async def test_an_edit_proves_nothing_of_an_article_that_was_not_asked_about() -> None:
    site, post = get_platform("WIKIPEDIA"), PostRef(platform="WIKIPEDIA", external_id="en:12")
    asked = [
        next(site.steps(Observation(observation_id=uuid4(), post=page, url=EDITED), {}) or iter(()))
        for page in (site.own_page(EDITED, owner, post, {})[0] for owner in (OWNER, "en:12@457", "en:13@456"))
    ]
    assert len(set(asked)) == 3
