"""A story as lines for a terminal. Whatever strangers wrote is made harmless here: it must not move the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import click

from contracts.v1.parts import Picture, Usage
from services.commands.story import Attempt, Candidate, Round, Story

COLOURS: Final = {"COMPLETE": "green", "APPROVED": "green", "FAILED": "red", "REJECTED": "yellow"}


def plain(text: str) -> str:
    """One line without anything that a terminal obeys."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "\ufffd" for each in text)


def told(story: Story) -> Iterator[str]:
    """The story, line by line."""
    yield f"investigation {story.investigation_id}  {_state(story.status)}"
    yield from _subject(story)
    for asked in story.rounds:
        yield ""
        yield from _round(asked)
    used = [step.usage for step in story.steps if step.usage is not None]
    paid = [usage for usage in used if usage.total_tokens or usage.cost_micro_usd]
    yield ""
    yield f"in all: {_steps(len(paid))}, {_spent(paid)}"


def _subject(story: Story) -> Iterator[str]:
    given = story.input
    if given is None:
        yield f"  version     {story.version_id}"
        yield "  input       not frozen yet: no attempt has started"
        return
    by = f", by {plain(given.author_name)}" if given.author_name else ""
    yield f"  post        {plain(given.platform)}{by}: {plain(given.url)}"
    yield f"  version     {story.version_id}, text sha256 {given.content.sha256[:16]}\u2026"
    shown = sum(picture.status == "used" for picture in given.pictures)
    yield f"  provenance  {given.provenance}; Markdown from {given.markdown_source}; " + (
        f"{shown} of {len(given.pictures)} pictures shown" if given.pictures else "no pictures"
    )
    for picture in given.pictures:
        if picture.status != "used":
            yield _not_shown(picture)
    if given.parent_investigation_id is not None:
        yield f"  update of   {given.parent_investigation_id}, which had {len(given.old_claims)} findings"
    yield f"  correlation {story.correlation}"


def _not_shown(picture: Picture) -> str:
    why = f"the same as {picture.same_as}" if picture.status == "duplicate" else plain(picture.reason or "no reason")
    return f"    picture {picture.original_index} {picture.status} ({why}): {plain(picture.source_url)}"


def _round(asked: Round) -> Iterator[str]:
    who = "a reader's own key" if asked.key_source == "USER" else "the instance"
    yield click.style(f"round {asked.number}", bold=True) + (
        f"  requested {_moment(asked.requested_at)} by {asked.requested_by.lower()}, paid by {who}"
    )
    for attempt in asked.attempts:
        yield from _attempt(attempt)
    for place, candidate in enumerate(sorted(asked.candidates, key=lambda each: each.ordinal), 1):
        yield from _candidate(place, candidate)
    if asked.end is None:
        yield "  no end yet"
        return
    found = sum(candidate.state == "APPROVED" for candidate in asked.candidates)
    result = f"  {_state(asked.end.state)} {_moment(asked.end.at)}"
    if asked.end.state == "COMPLETE":
        yield f"{result}: {found} of {len(asked.candidates)} candidates published"
    else:
        fault = ", a reader's key" if asked.end.fault == "USER_KEY" else ""
        yield f"{result}: {plain(asked.end.reason or '')} ({asked.end.failure}{_status(asked.end.status_code)}{fault})"


def _attempt(attempt: Attempt) -> Iterator[str]:
    version = f" ({attempt.model.version})" if attempt.model.version else ""
    took = (
        "has no end"
        if attempt.ended_at is None
        else f"took {(attempt.ended_at - attempt.started_at).total_seconds():.1f} s"
    )
    yield f"  attempt {attempt.number}  {_moment(attempt.started_at)}, {took}, by {plain(attempt.worker)}"
    yield f"    asked {plain(attempt.model.provider)} {plain(attempt.model.model + version)}, prompt {attempt.prompt}"
    if attempt.usage is not None:
        yield f"    used {_spent([attempt.usage])}"
    if attempt.error is not None:
        said = f"{plain(attempt.error)}{_status(attempt.status_code)}: {plain(attempt.reason or '')}"
        yield f"    {click.style('failed', fg='red')} with {said}"
    if attempt.retry_at is not None:
        yield f"    next attempt {_moment(attempt.retry_at)}"


def _candidate(place: int, candidate: Candidate) -> Iterator[str]:
    gate = f" by {plain(candidate.gate)}" if candidate.gate else ""
    kept = " (kept from the earlier version)" if candidate.retained_from else ""
    yield f"  candidate {place}  {_state(candidate.state)}{gate}{kept}  \u201c{plain(candidate.payload.text)}\u201d"
    yield f"    {plain(candidate.payload.summary)}"
    if candidate.reason:
        yield f"    because: {plain(candidate.reason)}"
    for source in candidate.sources:
        why = f" ({plain(source.reason)})" if source.reason else ""
        page = f", page sha256 {source.page.sha256[:16]}\u2026" if source.page else ""
        yield f"    source {source.status}{why}: {plain(source.url)}{page}"
    for each in candidate.tries:
        said = f"{plain(each.error)}{_status(each.status_code)}: {plain(each.reason)}"
        used = f", used {_spent([each.usage])}" if each.usage and each.usage.total_tokens else ""
        yield f"    review {each.number} {click.style('failed', fg='red')} with {said}{used}"
    if candidate.usage is not None and (candidate.usage.total_tokens or candidate.usage.cost_micro_usd):
        yield f"    the review used {_spent([candidate.usage])}"


def _spent(used: list[Usage]) -> str:
    tokens = sum(usage.total_tokens for usage in used)
    known = [usage.cost_micro_usd for usage in used if usage.cost_micro_usd is not None]
    unknown = len(used) - len(known)
    money = f"${sum(known) / 1_000_000:.4f}" if known or not used else "money not known"
    return f"{tokens:,} tokens, {money}" + (f" and {_steps(unknown)} of unknown price" if known and unknown else "")


def _steps(number: int) -> str:
    return f"{number} paid step{'' if number == 1 else 's'}"


def _status(code: int | None) -> str:
    return "" if code is None else f" {code}"


def _state(state: str) -> str:
    return click.style(state, fg=COLOURS.get(state), bold=True)


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
