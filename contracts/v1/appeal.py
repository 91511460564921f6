"""Objections to the result of an investigation, proofs of the post's author, and decisions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from contracts.v1.event import Event, OnceEvent
from contracts.v1.finding import Note
from contracts.v1.pages import Observation
from contracts.v1.parts import Sha256

AppealKind = Literal["FALSE_POSITIVE", "FALSE_NEGATIVE", "CONTEXT"]
AppealOutcome = Literal["UPHELD", "PARTLY", "DISMISSED", "REFUSED"]
AppealText = Annotated[str, Field(min_length=1, max_length=4_000)]
AppealLink = Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=2_000)]
ProofOutcome = Literal["PROVEN", "NO_TOKEN", "OTHER_AUTHOR", "EXPIRED", "UNAVAILABLE"]
ProofUrl = Annotated[str, Field(pattern=r"^https://[!-~]+$", max_length=2_000)]
MOST_LINKS = 5
MOST_CLAIMS = 100
PROOF_HOURS = 72
"""How long after its opening the author of an appeal can prove to be the post's."""


def make_proof_token(appeal_id: UUID) -> str:
    """The token that the author of a post publishes to prove that an appeal is theirs.

    It need not be secret: it proves only that someone who may publish as the author wanted this one appeal.
    """
    return f"openerrata-author-{appeal_id.hex}"


class AppealOpened(OnceEvent, subject="appeal.opened", key="investigation_id", identity=("follows",)):
    """Somebody objects to the result of an investigation, which stays as it is.

    The key is the investigation, so the stream orders its appeals, and they are erased with it. `claim_ids` are the
    findings that the objection names. `range_key` is the hash of the network that it came from. `by_author`: the sender
    claims to be the post's author, and counts as a reader until that is proven. `statement` is the author's text to be
    shown beside these findings once the author is proven.
    """

    appeal_id: UUID
    investigation_id: UUID
    kind: AppealKind
    claim_ids: tuple[UUID, ...] = Field(default=(), max_length=MOST_CLAIMS)
    text: AppealText
    links: tuple[AppealLink, ...] = Field(default=(), max_length=MOST_LINKS)
    range_key: Sha256
    by_author: bool = False
    statement: Note | None = None


class AppealProofOffered(Event, subject="appeal.proof_offered", key="investigation_id"):
    """Somebody names a page on which the author of the post is said to have published the appeal's token.

    `author` is the post's author as the site names them: an account, or the article and revision to which they
    contributed. `observation` names the page, with what its request needs.
    After `until` the page is not looked at.
    """

    appeal_id: UUID
    investigation_id: UUID
    author: str
    observation: Observation
    until: AwareDatetime

    def has_expired(self, now: datetime) -> bool:
        """Whether the token may no longer be looked for: the date was promised, so the wall clock decides."""
        return self.until <= now

    def identity(self) -> str:
        return str(self.observation.observation_id)


class AppealProofChecked(Event, subject="appeal.proof_checked", key="investigation_id", identity=("proof_id",)):
    """An offered page was requested from its site. PROVEN: the page is the author's and has the appeal's token.

    `proof_id` is the id of the offer's observation.
    """

    proof_id: UUID
    appeal_id: UUID
    investigation_id: UUID
    outcome: ProofOutcome


class AppealDecided(OnceEvent, subject="appeal.decided", key="investigation_id", identity=("follows",)):
    """An appeal was decided; `reason` is a sentence for readers. Findings that it proved wrong were retracted before.

    The key is the investigation; at most one of its appeals is open.
    """

    appeal_id: UUID
    investigation_id: UUID
    outcome: AppealOutcome
    reason: Note
