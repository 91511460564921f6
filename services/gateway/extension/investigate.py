"""`post.investigateNow`: authorises a run and starts it once.

A reader's own key is stored before the run is requested, under a name that the request holds, so it pays for no other
run, even if the request is lost. It is tried with the provider before anything is published, so an invalid key starts
no run. If a run on a reader's key has lost the key before its start, the next reader's replaces it; no key can be
attached to a run that someone else pays for. The run has the correlation of the observation that led to it, so one id
leads through all logs from the page view to the published claim.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal
from uuid import UUID

from contracts.rpc.status import AlreadyComplete, InvestigateNowAnswer, Queued, VersionId, claim_out
from contracts.v1.ids import investigation_id
from contracts.v1.investigation import InvestigationRequested
from contracts.v1.parts import Provenance
from kit.addresses import ip_range_prefix
from kit.clock import Clock
from services.gateway.domain import FIRST_ROUND, WORD_LIMIT, RetryRules, is_well_formed_user_key, next_round, parse_id
from services.gateway.extension.own_key_runs import OwnKeyRuns
from services.gateway.keys import KeyChecks
from services.gateway.ports import Call, Caller, Complete, Facts, FailedRun, Reads, Refused, Running, UserKeys


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Handles requests for investigations of one kind."""

    reads: Reads
    facts: Facts
    user_keys: UserKeys
    clock: Clock
    key_checks: KeyChecks
    own_key_runs: OwnKeyRuns
    _: KW_ONLY
    analysis: str
    retries: RetryRules

    async def investigate(self, question: VersionId, call: Call) -> InvestigateNowAnswer:
        """Request an investigation, or return the status of the existing one.

        Raises: Refused: no credentials, a key that the provider rejects, too many keys or runs of one network, unknown
        version, too long a text. Unavailable.
        """
        caller = call.caller
        user_key = caller.user_key if is_well_formed_user_key(caller.user_key) else None
        if not caller.has_right("investigate") and user_key is None:
            raise Refused("UNAUTHORIZED", "an instance API key or an OpenAI API key is required")
        version_id = parse_id(question.post_version_id)
        version = None if version_id is None else await self.reads.eligibility(version_id)
        if version_id is None or version is None:
            raise Refused("BAD_REQUEST", "this version is not known")
        state = version.investigation
        if isinstance(state, Complete):
            claims = tuple(map(claim_out, state.claims))
            return AlreadyComplete(
                investigation_id=str(state.investigation_id), provenance=state.provenance, claims=claims
            )
        if isinstance(state, Running):
            if user_key is not None and state.accepts_key:
                await self._attach_late(state, caller, user_key)
            return _queued(state, state.status)
        following, provenance = FIRST_ROUND, version.provenance
        if state is not None:
            following_round = next_round(state.failure, self.clock.now(), self.retries, own_key=user_key is not None)
            if following_round is None:
                return _queued(state, "FAILED")
            following, provenance = following_round, state.provenance
        if version.word_count > WORD_LIMIT:
            raise Refused("BAD_REQUEST", f"the text has more than {WORD_LIMIT} words")
        request = InvestigationRequested(
            investigation_id=investigation_id(version_id, self.analysis),
            version_id=version_id,
            post_id=version.post_id,
            analysis=self.analysis,
            origin="ORIGINAL",
            requested_by="READER",
            key_source="INSTANCE" if user_key is None else "USER",
            attachment=None if user_key is None else self.clock.new_id(),
            round=following.number,
            follows=following.follows,
        )
        if user_key is None:
            return await self._publish_request(request, None, version.correlation or call.correlation, provenance)
        await self.key_checks.require(caller)
        async with self.own_key_runs.reserve(ip_range_prefix(caller.address), request.investigation_id):
            return await self._publish_request(request, user_key, version.correlation or call.correlation, provenance)

    async def _publish_request(
        self, request: InvestigationRequested, user_key: str | None, correlation: UUID, provenance: Provenance
    ) -> Queued:
        """Store the key, publish the request, and wait until the read model shows the run."""
        if user_key is not None:
            await self.user_keys.attach(request.investigation_id, request.attachment, user_key)
        published = await self.facts.publish_once(request, correlation)
        paying = published.event.attachment if isinstance(published.event, InvestigationRequested) else None
        if user_key is not None and paying != request.attachment:  # another request was published first
            await self.user_keys.discard(request.investigation_id, request.attachment)
        await self.facts.wait_for_projection(published.sequence)
        return Queued(investigation_id=str(request.investigation_id), status="PENDING", provenance=provenance)

    async def _attach_late(self, state: Running, caller: Caller, user_key: str) -> None:
        """Attach a key to a waiting run that has lost its own."""
        request = await self.facts.latest_request(state.investigation_id)
        if request.key_source != "USER":
            return
        await self.key_checks.require(caller)
        if await self.user_keys.attach(state.investigation_id, request.attachment, user_key):
            now = await self.reads.investigation(state.investigation_id)
            if not isinstance(now, Running):  # it ended meanwhile, perhaps after its keys were deleted
                await self.user_keys.discard(state.investigation_id, request.attachment)


def _queued(state: Running | FailedRun, status: Literal["PENDING", "PROCESSING", "FAILED"]) -> Queued:
    return Queued(investigation_id=str(state.investigation_id), status=status, provenance=state.provenance)
