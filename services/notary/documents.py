"""The documents that leaves commit to. Pure: the same facts give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from uuid import UUID

from pydantic import JsonValue

from contracts.v1 import (
    ClaimApproved,
    ClaimRejected,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationStarted,
)
from contracts.v1.parts import PublishedClaim

Document = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Run:
    """The other events of a completed investigation, as far as the log of events still holds them."""

    started: InvestigationStarted | None = None
    drafted: InvestigationDrafted | None = None
    verdicts: Mapping[UUID, ClaimApproved | ClaimRejected] = field(default_factory=dict)


def describe_run(event: InvestigationCompleted, run: Run) -> Document:
    """The document of a run: what was investigated, and with which model, prompt and rules."""
    found: Document = {
        "investigation": str(event.investigation_id),
        "version": str(event.version_id),
        "post": str(event.post_id),
        "analysis": event.analysis,
        "model": event.model.model_dump(exclude_none=True),
    }
    if event.provenance is not None:
        found["provenance"] = event.provenance
    if run.started is not None:
        found |= {
            "platform": run.started.input.platform,
            "address": run.started.input.url,
            "contentHash": run.started.input.content.sha256,
            "prompt": {"version": run.started.prompt.version, "sha256": run.started.prompt.sha256},
        }
        if run.started.rules is not None:
            found["rules"] = run.started.rules
    if run.drafted is not None:
        found["transcript"] = run.drafted.transcript.sha256
    return found


def describe_finding(claim: PublishedClaim, run: Run) -> Document:
    """The document of a finding, with the hash of its reasoning. Shapes: `page` is the hash of the fetched page."""
    verdict = run.verdicts.get(claim.claim_id)
    pages = {each.url: each.page.sha256 for each in verdict.sources if each.page is not None} if verdict else {}
    return {
        "claim": str(claim.claim_id),
        "text": claim.payload.text,
        "context": claim.payload.context,
        "summary": claim.payload.summary,
        "reasoning": sha256(claim.payload.reasoning.encode()).hexdigest(),
        "sources": [
            each.model_dump() | ({"page": pages[each.url]} if each.url in pages else {})
            for each in claim.payload.sources
        ],
    }


def describe(event: Event) -> Document:
    """The document of a whole event; all of it may be shown."""
    found: Document = event.model_dump(mode="json", exclude={"follows"}, exclude_none=True)
    return found
