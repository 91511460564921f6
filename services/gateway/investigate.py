"""`post.investigateNow`: who may start a run, and that it starts once.

A reader's own key is kept before the run is asked for, under a name that the request holds, so it pays for no run but
the one its owner asked for, though the request gets lost. It is tried on the provider before anything is published, so
a made-up key starts nothing. Where a run that was asked for on a reader's key has lost it
and not begun, the next reader's takes its place: nobody can slip a key, good or bad, under a run that somebody else
pays for. The run goes by the id of the observation that led to it, so one id leads through all logs from the page view
to the published claim.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from contracts.rpc.status import AlreadyComplete, InvestigateNowAnswer, Queued, VersionId, claim_out
from contracts.v1.ids import investigation_id
from contracts.v1.investigation import InvestigationRequested
from contracts.v1.parts import Provenance
from kit.addresses import ip_range_prefix
from services.gateway.domain import FIRST_ROUND, WORD_LIMIT, RetryRules, next_round, parse_id, well_formed_user_key
from services.gateway.keys import KeyChecks
from services.gateway.ports import Broken, Call, Caller, Clock, Complete, Facts, Reads, Refused, Running, UserKeys
from services.gateway.underway import OwnKeyRuns


class Requests:
    """Takes requests for investigations of one kind."""

    def __init__(
        self,
        reads: Reads,
        facts: Facts,
        user_keys: UserKeys,
        clock: Clock,
        key_checks: KeyChecks,
        own_key_runs: OwnKeyRuns,
        *,
        analysis: str,
        retries: RetryRules,
    ) -> None:
        self._reads = reads
        self._facts = facts
        self._user_keys = user_keys
        self._clock = clock
        self._key_checks = key_checks
        self._own_key_runs = own_key_runs
        self._analysis = analysis
        self._retries = retries

    async def investigate(self, question: VersionId, call: Call) -> InvestigateNowAnswer:
        """Ask for an investigation, or say how the one that exists stands.

        Raises: Refused: no credentials, a key that the provider does not accept, too many keys or runs of one network,
        unknown version, too long a text. Unavailable.
        """
        caller = call.caller
        user_key = caller.user_key if well_formed_user_key(caller.user_key) else None
        if caller.instance_key_hash is None and user_key is None:
            raise Refused("UNAUTHORIZED", "an instance API key or an OpenAI API key is required")
        version_id = parse_id(question.post_version_id)
        standing = None if version_id is None else await self._reads.standing(version_id)
        if version_id is None or standing is None:
            raise Refused("BAD_REQUEST", "this version is not known")
        known = standing.investigation
        if isinstance(known, Complete):
            claims = tuple(map(claim_out, known.claims))
            return AlreadyComplete(
                investigation_id=str(known.investigation_id), provenance=known.provenance, claims=claims
            )
        if isinstance(known, Running):
            if user_key is not None and known.takes_key:
                await self._attach_late(known, caller, user_key)
            return _queued(known, known.status)
        following, provenance = FIRST_ROUND, standing.provenance
        if known is not None:
            again = next_round(known.failure, self._clock.now(), self._retries, own_key=user_key is not None)
            if again is None:
                return _queued(known, "FAILED")
            following, provenance = again, known.provenance
        if standing.word_count > WORD_LIMIT:
            raise Refused("BAD_REQUEST", f"the text has more than {WORD_LIMIT} words")
        request = InvestigationRequested(
            investigation_id=investigation_id(version_id, self._analysis),
            version_id=version_id,
            post_id=standing.post_id,
            analysis=self._analysis,
            requested_by="READER",
            key_source="INSTANCE" if user_key is None else "USER",
            attachment=None if user_key is None else self._clock.new_id(),
            round=following.number,
            follows=following.follows,
        )
        if user_key is None:
            return await self._request(request, None, standing.correlation or call.correlation, provenance)
        await self._key_checks.require(caller)
        async with self._own_key_runs.place(ip_range_prefix(caller.address), request.investigation_id):
            return await self._request(request, user_key, standing.correlation or call.correlation, provenance)

    async def _request(
        self, request: InvestigationRequested, user_key: str | None, correlation: UUID, provenance: Provenance
    ) -> Queued:
        """Publish the request, with the key that is to pay for it, and wait until the next poll finds the run."""
        if user_key is not None:
            await self._user_keys.attach(request.investigation_id, request.attachment, user_key)
        told = await self._facts.tell_once(request, correlation)
        paying = told.event.attachment if isinstance(told.event, InvestigationRequested) else None
        if user_key is not None and paying != request.attachment:  # somebody was faster
            await self._user_keys.discard(request.investigation_id, request.attachment)
        await self._facts.caught_up(told.sequence)
        return Queued(investigation_id=str(request.investigation_id), status="PENDING", provenance=provenance)

    async def _attach_late(self, known: Running, caller: Caller, user_key: str) -> None:
        """Give a waiting run a key if it has lost its own; the first one stays."""
        asked = await self._facts.requested(known.investigation_id)
        if asked.key_source != "USER":
            return
        await self._key_checks.require(caller)
        if await self._user_keys.attach(known.investigation_id, asked.attachment, user_key):
            now = await self._reads.investigation(known.investigation_id)
            if not isinstance(now, Running):  # it ended meanwhile, and whoever cleans up after it may have been here
                await self._user_keys.discard(known.investigation_id, asked.attachment)


def _queued(known: Running | Broken, status: Literal["PENDING", "PROCESSING", "FAILED"]) -> Queued:
    return Queued(investigation_id=str(known.investigation_id), status=status, provenance=known.provenance)
