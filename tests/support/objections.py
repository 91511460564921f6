"""Objections to quotes and claims, moderators' decisions, and what they are about."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, FlagRaised, FlagResolved
from contracts.v1.assertion import Citation
from contracts.v1.ids import publisher_id
from kit.clock import SystemClock
from tests.support.audits import hash_of, words
from tests.support.concluding_jobs import requested_analysis
from tests.support.job_api import analysed, assertion, run


def requests(number: int, claim: str = "canonical") -> AssertionAnalysisRequested:
    """The analysis of a claim is requested. Shapes: `number` makes an assertion of its own, `claim` is its words."""
    given = {"assertion_id": assertion(number), "canonical_sha256": hash_of(claim)}
    return requested_analysis(run(number), UUID(int=number)).model_copy(update=given)


def cites(number: int, *addresses: str) -> AssertionAnalysed:
    """Its analysis, which cites pages."""
    given = {
        "citations": tuple(map(_cite, addresses)),
        "body": words(f"body {number}"),
        "expires_at": SystemClock().now() + timedelta(days=365),
    }
    return analysed(assertion(number), run(number)).model_copy(update=given)


def objection(
    number: int, address: str | None = None, *, claim: str | None = None, issue: str = "RIGHTS"
) -> FlagRaised:
    """Somebody objects to quotes from an address, or to a claim."""
    return FlagRaised(
        flag_id=UUID(int=0xF00 + number),
        entity_type="SOURCE" if claim is None else "CLAIM",
        issue_type=issue,
        description=words("why"),
        url_sha256=None if address is None else hash_of(address),
        claim_sha256=None if claim is None else hash_of(claim),
    )


def decision(flag: FlagRaised, *, accepted: bool = True) -> FlagResolved:
    """A moderator decides on it."""
    return FlagResolved(
        flag_id=flag.flag_id,
        entity_type=flag.entity_type,
        status="ACCEPTED" if accepted else "DISMISSED",
        note=words("so"),
        by=UUID(int=0xB),
    )


def _cite(address: str) -> Citation:
    return Citation(
        publisher_id=publisher_id("news.example"),
        domain="news.example",
        url_sha256=hash_of(address),
        scenario=1,
        supports=True,
        relevance=0.9,
        outcome="FOUND",
        family=1,
    )
