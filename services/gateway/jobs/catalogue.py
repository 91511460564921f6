"""Changes of the catalogue, each decided from the log. Of two concurrent changes the stream refuses the second."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from contracts.jobs.catalogue import (
    Edited,
    EditRequest,
    EvidenceRequest,
    FlagRequest,
    FlagView,
    ResolveRequest,
    RevertRequest,
)
from contracts.jobs.words import EntryWords, Remark, Submission, Suggestion
from contracts.v1 import EditMade, EntryPublished, EntryStaled, FlagRaised, FlagResolved, OnceEvent
from contracts.v1.entry import StaleTrigger
from contracts.v1.ids import entry_id
from contracts.v1.parts import EphemeralRef
from kit.clock import Clock
from lifecycle.audits.entries import EVIDENCE, STALE_BY, SUBMITTED, Change, Entry, fold_entry, words_until
from services.gateway.domain import Principal
from services.gateway.jobs.access import require_verb
from services.gateway.jobs.ports import JobLog, Words
from services.gateway.jobs.problems import Problem
from services.gateway.ports import Unavailable

ENTITY: Final = "ENTRY"
HAS_PAGE: Final = "The claim has a page already."
REANALYSIS: Final = "SYSTEM_REANALYSIS"
_CHANGED: Final = "The entry was changed since this version; read it again."


class Entries:
    """Reads entries from the log, and stores accounts' changes. Raises: Problem, Unavailable."""

    def __init__(self, log: JobLog, words: Words, clock: Clock) -> None:
        self._log = log
        self._words = words
        self._clock = clock

    async def publish(self, event: EntryPublished, correlation: UUID) -> Edited:
        """Give a claim its page; refuse a claim that has one."""
        if not await self._log.publish(event, correlation):
            raise Problem("VALIDATION_ERROR", HAS_PAGE, status=409)
        return Edited(id=event.entry_id, version=1, status="PUBLISHED")

    async def edit(self, id_: UUID, request: EditRequest, principal: Principal, correlation: UUID) -> Edited:
        """Change what an entry says, or hide it or show it again."""
        if request.edit_type == "MODERATION_ACTION":
            require_verb(principal, "hide")
        entry = await self._find(id_, principal, request.version)
        before = await self._read_words(entry)
        given = {
            name: value for name in ("wording", "domain", "summary") if (value := getattr(request, name)) is not None
        }
        after = before.model_copy(update=given)
        hidden = entry.is_hidden if request.hidden is None else request.hidden
        change = Change(request.edit_type, before, after, entry.is_hidden, hidden)
        return await self._store(entry, change, request.reason, principal, correlation)

    async def revert(self, id_: UUID, request: RevertRequest, principal: Principal, correlation: UUID) -> Edited:
        """Undo the newest change by people, in a new version."""
        entry = await self._find(id_, principal, request.version)
        newest, was_hidden = await self._newest_change(entry)
        if newest is None:
            raise Problem("VALIDATION_ERROR", "The entry was never changed.", status=409)
        after = await self._words.get(newest.before)
        if after is None:
            raise Problem("VALIDATION_ERROR", "The entry's earlier words are no longer stored.", status=409)
        if was_hidden != entry.is_hidden:
            require_verb(principal, "hide")
        words = EntryWords.model_validate_json(after)
        change = Change("REVERT", await self._read_words(entry), words, entry.is_hidden, was_hidden)
        return await self._store(entry, change, request.reason, principal, correlation)

    async def raise_flag(self, id_: UUID, request: FlagRequest, principal: Principal, correlation: UUID) -> FlagView:
        """Store an objection to an entry."""
        if request.issue_type in (EVIDENCE, SUBMITTED):
            raise Problem("VALIDATION_ERROR", "Suggest evidence and submit claims by their own requests.")
        await self._find(id_, principal, None)
        return await self._raise(id_, request.issue_type, request.description, principal, correlation)

    async def suggest(self, id_: UUID, request: EvidenceRequest, principal: Principal, correlation: UUID) -> FlagView:
        """Suggest evidence, which waits for a moderator as a flag does."""
        await self._find(id_, principal, None)
        words = Suggestion(request.supports, request.source_url, request.text).write()
        return await self._raise(id_, EVIDENCE, words, principal, correlation)

    async def submit(self, claim: Submission, principal: Principal, correlation: UUID) -> FlagView:
        """Submit a claim for a moderator to publish; refuse a claim that has a page."""
        id_ = entry_id(claim.assertion_id)
        if await self._read(id_) is not None:
            raise Problem("VALIDATION_ERROR", HAS_PAGE, status=409)
        return await self._raise(id_, SUBMITTED, claim.write(), principal, correlation)

    async def resolve_flag(
        self, id_: UUID, request: ResolveRequest, principal: Principal, correlation: UUID
    ) -> FlagView:
        """Decide on a flag, once: an accepted claim gets its page, another flag makes parts of its entry stale."""
        found = await self._log.latest(f"{FlagRaised.SUBJECT}.{id_}", f"{FlagResolved.SUBJECT}.{id_}", current=True)
        raised = next((fact.event for fact in found if isinstance(fact.event, FlagRaised)), None)
        if raised is None:
            raise Problem("NOT_FOUND")
        if len(found) > 1:
            raise Problem("VALIDATION_ERROR", "The objection was decided on already.", status=409)
        resolved = FlagResolved(
            flag_id=id_,
            entity_type=raised.entity_type,
            entity_id=raised.entity_id,
            status=request.status,
            note=await self._keep(Remark(about=id_, text=request.note)),
            by=principal.account.account_id,
        )
        facts: list[OnceEvent] = [resolved]
        entry = await self._read(raised.entity_id) if raised.entity_type == ENTITY and raised.entity_id else None
        if raised.issue_type == SUBMITTED and raised.entity_type == ENTITY:
            if request.status == "ACCEPTED":
                require_verb(principal, "publish")
                facts.append(await self._publish_submitted(raised, principal))
        elif entry is not None and request.status == "ACCEPTED":
            trigger: StaleTrigger = "EVIDENCE" if raised.issue_type == EVIDENCE else "FLAGS"
            facts.append(_stale(entry, trigger, id_))
        if not await self._log.publish_together(*facts, correlation=correlation, at=self._clock.now()):
            raise Problem("VALIDATION_ERROR", "The objection or its entry was changed meanwhile.", status=409)
        return FlagView(flag_id=id_, status=request.status)

    async def _publish_submitted(self, raised: FlagRaised, principal: Principal) -> EntryPublished:
        text = await self._words.get(raised.description)
        if text is None:
            raise Problem("VALIDATION_ERROR", "The submitted claim is no longer stored.", status=409)
        assertion, domain, wording = Submission.read(Remark.model_validate_json(text).text)
        return EntryPublished(
            entry_id=entry_id(assertion),
            assertion_id=assertion,
            wording=wording,
            domain=domain,
            by=principal.account.account_id,
        )

    async def _raise(self, id_: UUID, issue: str, text: str, principal: Principal, correlation: UUID) -> FlagView:
        flag = self._clock.new_id()
        await self._log.publish(
            FlagRaised(
                flag_id=flag,
                entity_type=ENTITY,
                entity_id=id_,
                issue_type=issue,
                description=await self._keep(Remark(about=flag, text=text)),
                account_id=principal.account.account_id,
            ),
            correlation,
        )
        return FlagView(flag_id=flag, status="OPEN")

    async def _find(self, id_: UUID, principal: Principal, version: int | None) -> Entry:
        entry = await self._read(id_)
        if entry is None or (entry.is_hidden and not principal.may("hide")):
            raise Problem("NOT_FOUND")
        if version is not None and version != entry.version:
            raise Problem("VALIDATION_ERROR", _CHANGED, {"version": entry.version}, status=409)
        return entry

    async def _read(self, id_: UUID) -> Entry | None:
        subjects = (f"{kind.SUBJECT}.{id_}" for kind in (EntryPublished, EditMade, EntryStaled))
        return fold_entry((fact.sequence, fact.event) for fact in await self._log.latest(*subjects, current=True))

    async def _read_words(self, entry: Entry) -> EntryWords:
        text = None if entry.newest is None else await self._words.get(entry.newest.after)
        return entry.published_words if text is None else EntryWords.model_validate_json(text)

    async def _newest_change(self, entry: Entry) -> tuple[EditMade | None, bool]:
        """The newest edit that changed words or whether the entry is hidden, and whether it was hidden before."""
        facts = await self._log.read(f"{EditMade.SUBJECT}.{entry.published.entry_id}")
        edits = [fact.event for fact in facts if isinstance(fact.event, EditMade)]
        if max((each.version for each in edits), default=1) < entry.version:  # else an older change would be undone
            raise Unavailable("broker: the newest edit is not there yet")
        changes = sorted((each for each in edits if each.edit_type != REANALYSIS), key=lambda each: each.version)
        return (changes[-1] if changes else None), len(changes) > 1 and changes[-2].hidden

    async def _store(
        self, entry: Entry, change: Change, reason: str, principal: Principal, correlation: UUID
    ) -> Edited:
        if not change.fields:
            raise Problem("VALIDATION_ERROR", "This would change nothing.")
        edit_id, entry_id = self._clock.new_id(), entry.published.entry_id
        edit = EditMade(
            follows=entry.newest_sequence,
            entry_id=entry_id,
            edit_id=edit_id,
            entity_type=ENTITY,
            entity_id=entry_id,
            version=entry.version + 1,
            edit_type=change.edit_type,
            fields=change.fields,
            hidden=change.hidden,
            reworded=change.after.wording != entry.published.wording,
            reason=await self._keep(Remark(about=edit_id, text=reason)),
            before=await self._keep(change.before),
            after=await self._keep(change.after),
            by=principal.account.account_id,
        )
        facts: list[OnceEvent] = [edit]
        if change.changes_words:
            facts.append(_stale(entry, "EDIT", edit_id))
        if not await self._log.publish_together(*facts, correlation=correlation, at=self._clock.now()):
            raise Problem("VALIDATION_ERROR", _CHANGED, status=409)
        return Edited(id=entry_id, version=edit.version, status="HIDDEN" if edit.hidden else "PUBLISHED")

    async def _keep(self, words: EntryWords | Remark) -> EphemeralRef:
        return await self._words.put(words.model_dump_json(), words_until(self._clock.now()))


def _stale(entry: Entry, trigger: StaleTrigger, cause_id: UUID) -> EntryStaled:
    return EntryStaled(
        follows=entry.staled_sequence,
        entry_id=entry.published.entry_id,
        parts=STALE_BY[trigger],
        trigger=trigger,
        cause_id=cause_id,
    )
