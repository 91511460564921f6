"""A page proves who wrote a post only if it is by that author, and holds the token of this one appeal, in time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import AppealProofChecked, AppealProofOffered
from contracts.v1.appeal import ProofOutcome, make_proof_token
from contracts.v1.pages import CanonicalPage, Observation
from contracts.v1.parts import PostRef, TextRef
from kit.errors import Reject, Retry
from services.verifier.domain import Overloaded, Unavailable
from services.verifier.handlers import AuthorProofs, judge_proof
from tests.support.factories import NOW
from tests.support.fakes import MemoryTexts, StillClock
from tests.unit.projector.histories import inline

APPEAL = UUID("019b345d-5800-7000-8000-0000000000a1")
TOKEN = make_proof_token(APPEAL)
WANTED = Observation(
    observation_id=uuid4(),
    post=PostRef(platform="LESSWRONG", external_id="aB3dE5"),
    url="https://www.lesswrong.com/posts/aB3dE5/panes",
)
OFFERED = AppealProofOffered(
    appeal_id=APPEAL,
    investigation_id=uuid4(),
    author="ada",
    observation=WANTED,
    until=NOW + timedelta(hours=72),
)
Outcome = CanonicalPage | Unavailable | Overloaded


class WatchedPages:
    """The same outcome for every page; says what was fetched."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.seen: list[Observation] = []

    async def page(self, observation: Observation, delivery_count: int) -> Outcome:
        self.seen.append(observation)
        return self.outcome


def page(words: str | TextRef, slug: str = "ada") -> CanonicalPage:
    html = inline(f"<p>{words}</p>") if isinstance(words, str) else words
    return CanonicalPage(
        post=WANTED.post,
        source_url="https://www.lesswrong.com/graphql",
        html=html,
        fetched_at=NOW,
        metadata={"author_name": "Ada", "author_slug": slug},
        text=inline(TOKEN),  # of no matter, as it has what is quoted
    )


async def look(
    outcome: Outcome, offered: AppealProofOffered = OFFERED, texts: MemoryTexts | None = None
) -> tuple[Sequence[object], list[Observation]]:
    pages = WatchedPages(outcome)
    proofs = AuthorProofs(pages, texts or MemoryTexts(), StillClock(NOW))
    return [fact async for fact in proofs.on_appeal_proof_offered(offered, 1)], pages.seen


def checked(outcome: ProofOutcome) -> list[AppealProofChecked]:
    return [
        AppealProofChecked(
            proof_id=WANTED.observation_id, appeal_id=APPEAL, investigation_id=OFFERED.investigation_id, outcome=outcome
        )
    ]


@pytest.mark.requirement("TR-36")
@pytest.mark.parametrize(
    ("outcome", "proven"),
    [
        (page(f"For OpenErrata: {TOKEN}."), "PROVEN"),
        (page("It is so."), "NO_TOKEN"),
        (page(f"</p><blockquote>Please say {TOKEN}</blockquote><p>No."), "NO_TOKEN"),
        (page(f"For OpenErrata: {make_proof_token(uuid4())}"), "NO_TOKEN"),
        (page(TOKEN, "mallory"), "OTHER_AUTHOR"),
        (Unavailable("not_found", "no such post"), "UNAVAILABLE"),
    ],
)
async def test_what_a_page_proves(outcome: CanonicalPage | Unavailable, proven: ProofOutcome) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    facts, seen = await look(outcome)
    assert facts == checked(proven)
    assert seen == [WANTED]


@pytest.mark.requirement("TR-36")
async def test_nothing_is_fetched_for_a_token_that_has_expired() -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    facts, seen = await look(page(TOKEN), OFFERED.model_copy(update={"until": NOW}))
    assert (facts, seen) == (checked("EXPIRED"), [])


async def test_a_long_page_is_read_from_the_store() -> None:
    texts = MemoryTexts(inline_bytes=1)
    assert (await look(page(await texts.put_text(f"<p>It is so. {TOKEN}")), texts=texts))[0] == checked("PROVEN")


async def test_a_crowd_waits_and_an_unknown_site_is_refused() -> None:
    with pytest.raises(Retry) as retry:
        await look(Overloaded(0.5))
    assert retry.value.after_s == 0.5
    elsewhere = WANTED.model_copy(update={"post": PostRef(platform="GEOCITIES", external_id="1")})
    with pytest.raises(Reject, match="GEOCITIES"):
        await look(page("It is so."), OFFERED.model_copy(update={"observation": elsewhere}))


@pytest.mark.requirement("TR-36")
@given(appeal=st.uuids(), other=st.uuids(), author=st.text(min_size=1), named=st.text(), before=st.text())
def test_only_the_authors_page_with_this_token_proves(
    appeal: UUID, other: UUID, author: str, named: str, before: str
) -> None:
    """TR-36: Authors prove appeals to be theirs; forged, foreign and expired proofs are refused"""
    offered = OFFERED.model_copy(update={"appeal_id": appeal, "author": author})
    text = f"{before}{make_proof_token(appeal)}"
    assert judge_proof(offered, author, text) == "PROVEN"
    assert judge_proof(offered, author, make_proof_token(other)) == ("PROVEN" if appeal == other else "NO_TOKEN")
    assert judge_proof(offered, None, text) == "OTHER_AUTHOR"
    assert judge_proof(offered, named, text) == ("PROVEN" if named == author else "OTHER_AUTHOR")
