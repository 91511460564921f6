"""Entries of the catalogue: published, edited, hidden, flagged. Rows have words only while these are kept."""

from __future__ import annotations

from typing import Final

from contracts.jobs.words import EntryWords, FlagWords, Remark
from contracts.v1 import AssertionAnalysed, EditMade, EntryPublished, EntryStaled, FlagRaised, FlagResolved
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material, read_words
from services.projector.projections.rules import rows_by
from services.projector.rows import catalogue as rows
from services.projector.rows.assertions import ASSERTIONS
from services.projector.rows.table import Tables

ENTITY: Final = "ENTRY"
_ASSERTION: Final = ASSERTIONS.by()
_ENTRY: Final = rows.ENTRIES.by()
_OF_ASSERTION: Final = rows.ENTRIES.by("assertion_id")
_EDIT: Final = rows.EDITS.by()
_FLAG: Final = rows.FLAGS.by()

publication_keys: Final = rows_by((_ENTRY, "entry_id"), (_ASSERTION, "assertion_id"))
edit_keys: Final = rows_by((_ENTRY, "entry_id"), (_EDIT, "edit_id"))
staled_keys: Final = rows_by((_ENTRY, "entry_id"))
analysis_keys: Final = rows_by((_OF_ASSERTION, "assertion_id"))
flag_keys: Final = rows_by((_FLAG, "flag_id"))


def publish(tables: Tables, fact: Fact, event: EntryPublished, material: Material) -> None:
    """An entry was published."""
    tables[rows.ENTRIES].add(
        rows.Entry(
            id=event.entry_id,
            assertion_id=event.assertion_id,
            status="PUBLISHED",
            version=1,
            edit_count=0,
            wording=event.wording,
            domain=event.domain,
            published_wording=event.wording,
            published_domain=event.domain,
            stale=[],
            created_by=event.by,
            created_at=fact.at,
            updated_at=fact.at,
            sequence=fact.sequence,
            renewed_sequence=fact.sequence,
        )
    )


def edit(tables: Tables, fact: Fact, event: EditMade, material: Material) -> None:
    """An entry was edited. If the words of its newest edit are gone, it has those of its publication."""
    entry = tables[rows.ENTRIES].edit(event.entry_id)
    if entry is None:
        return
    reason = read_words(Remark, event.reason, material)
    before, after = (read_words(EntryWords, ref, material) for ref in (event.before, event.after))
    is_kept = reason is not None and before is not None and after is not None
    tables[rows.EDITS].add(
        rows.Edit(
            event.edit_id,
            event.entry_id,
            event.version,
            event.edit_type,
            event.entity_type,
            event.entity_id,
            list(event.fields),
            event.hidden,
            event.by,
            reason.text if is_kept and reason is not None else None,
            _state(before) if is_kept else None,
            _state(after) if is_kept else None,
            event.after.until if is_kept else None,
            fact.at,
        )
    )
    if event.version <= entry.version:
        return
    entry.version, entry.edit_count = event.version, event.version - 1
    entry.status = "HIDDEN" if event.hidden else "PUBLISHED"
    entry.reworded, entry.updated_at, entry.sequence = event.reworded, fact.at, fact.sequence
    if is_kept and after is not None:
        entry.wording, entry.domain, entry.summary = after.wording, after.domain, after.summary
        entry.words_until = event.after.until
    else:
        entry.wording, entry.domain, entry.summary = entry.published_wording, entry.published_domain, None
        entry.words_until = None


def stale(tables: Tables, fact: Fact, event: EntryStaled, material: Material) -> None:
    """Parts of an entry are stale, unless its assertion was analysed after that."""
    entry = tables[rows.ENTRIES].edit(event.entry_id)
    if entry is not None and fact.sequence > entry.renewed_sequence:
        entry.stale = sorted({*entry.stale, *event.parts})
        entry.staled_sequence = max(entry.staled_sequence, fact.sequence)


def renew(tables: Tables, fact: Fact, event: AssertionAnalysed, material: Material) -> None:
    """An entry's assertion was analysed; a reworded entry stays stale, as it no longer says what the assertion says."""
    found = next((each for each in tables[rows.ENTRIES].current if each.assertion_id == event.assertion_id), None)
    entry = None if found is None else tables[rows.ENTRIES].edit(found.id)
    if entry is not None and fact.sequence > entry.renewed_sequence:
        entry.renewed_sequence = fact.sequence
        if not entry.reworded and entry.staled_sequence < fact.sequence:
            entry.stale = []


def raise_flag(tables: Tables, fact: Fact, event: FlagRaised, material: Material) -> None:
    """An objection was raised: with an account to an entry, or without one to quotes or a claim."""
    description = _read_objection(event, material)
    tables[rows.FLAGS].add(
        rows.Flag(
            id=event.flag_id,
            entity_type=event.entity_type,
            entity_id=event.entity_id,
            issue_type=event.issue_type,
            account_id=event.account_id,
            claim_sha256=event.claim_sha256,
            description=description,
            kept_until=None if description is None else event.description.until,
            created_at=fact.at,
        )
    )


def resolve_flag(tables: Tables, fact: Fact, event: FlagResolved, material: Material) -> None:
    """A moderator decided on an objection; the first decision counts."""
    flag = tables[rows.FLAGS].edit(event.flag_id)
    if flag is None or flag.resolved_at is not None:
        return
    words = read_words(Remark, event.note, material)
    flag.status, flag.resolved_by, flag.resolved_at = event.status, event.by, fact.at
    flag.note = None if words is None else words.text
    flag.note_until = None if words is None else event.note.until


def _read_objection(event: FlagRaised, material: Material) -> str | None:
    if event.entity_type == ENTITY:
        remark = read_words(Remark, event.description, material)
        return None if remark is None else remark.text
    words = read_words(FlagWords, event.description, material)
    return None if words is None else words.write()


def _state(words: EntryWords | None) -> dict[str, str | None] | None:
    return None if words is None else {"wording": words.wording, "domain": words.domain, "summary": words.summary}
