"""A summary as lines for a terminal. Text of third parties is escaped, so that it cannot control the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import click

from contracts.v1.parts import Picture, Usage
from services.commands.investigation.summary import Attempt, Candidate, Round, Summary
from services.commands.terminal import clean, format_count

COLOURS: Final = {"COMPLETE": "green", "APPROVED": "green", "FAILED": "red", "REJECTED": "yellow"}


def render(summary: Summary) -> Iterator[str]:
    """Yield the lines."""
    yield f"investigation {summary.investigation_id}  {_format_state(summary.status)}"
    yield from _render_subject(summary)
    for each in summary.rounds:
        yield ""
        yield from _render_round(each)
    used = [step.usage for step in summary.steps if step.usage is not None]
    paid = [usage for usage in used if usage.total_tokens or usage.cost_micro_usd]
    yield ""
    yield f"in all: {format_count(len(paid), 'paid step')}, {_format_usage(paid)}"


def _render_subject(summary: Summary) -> Iterator[str]:
    given = summary.input
    if given is None:
        yield f"  version     {summary.version_id}"
        yield "  input       not frozen yet: no attempt has started"
        return
    by = f", by {clean(given.author_name)}" if given.author_name else ""
    yield f"  post        {clean(given.platform)}{by}: {clean(given.url)}"
    yield f"  version     {summary.version_id}, text sha256 {given.content.sha256[:16]}\u2026"
    used = sum(picture.status == "used" for picture in given.pictures)
    yield f"  provenance  {given.provenance}; Markdown from {given.markdown_source}; " + (
        f"{used} of {format_count(len(given.pictures), 'picture')} shown" if given.pictures else "no pictures"
    )
    for picture in given.pictures:
        if picture.status != "used":
            yield _render_omitted_picture(picture)
    if given.parent_investigation_id is not None:
        found = format_count(len(given.old_claims), "finding")
        yield f"  update of   {given.parent_investigation_id}, which had {found}"
    yield f"  correlation {summary.correlation}"


def _render_omitted_picture(picture: Picture) -> str:
    why = f"the same as {picture.same_as}" if picture.status == "duplicate" else clean(picture.reason or "no reason")
    return f"    picture {picture.original_index} {picture.status} ({why}): {clean(picture.source_url)}"


def _render_round(each: Round) -> Iterator[str]:
    who = "a reader's own key" if each.key_source == "USER" else "the instance"
    yield click.style(f"round {each.number}", bold=True) + (
        f"  requested {_format_time(each.requested_at)} by {each.requested_by.lower()}, paid by {who}"
    )
    for attempt in each.attempts:
        yield from _render_attempt(attempt)
    for place, candidate in enumerate(sorted(each.candidates, key=lambda candidate: candidate.ordinal), 1):
        yield from _render_candidate(place, candidate)
    if each.end is None:
        yield "  no end yet"
        return
    found = sum(candidate.state == "APPROVED" for candidate in each.candidates)
    result = f"  {_format_state(each.end.state)} {_format_time(each.end.at)}"
    if each.end.state == "COMPLETE":
        yield f"{result}: {found} of {format_count(len(each.candidates), 'candidate')} published"
    else:
        fault = ", a reader's key" if each.end.fault == "USER_KEY" else ""
        error = f"{each.end.failure}{_format_status(each.end.status_code)}"
        yield f"{result}: {clean(each.end.reason or '')} ({error}{fault})"


def _render_attempt(attempt: Attempt) -> Iterator[str]:
    version = f" ({attempt.model.version})" if attempt.model.version else ""
    took = (
        "has no end"
        if attempt.ended_at is None
        else f"took {(attempt.ended_at - attempt.started_at).total_seconds():.1f} s"
    )
    yield f"  attempt {attempt.number}  {_format_time(attempt.started_at)}, {took}, by {clean(attempt.worker)}"
    yield f"    asked {clean(attempt.model.provider)} {clean(attempt.model.model + version)}, prompt {attempt.prompt}"
    if attempt.usage is not None:
        yield f"    used {_format_usage([attempt.usage])}"
    if attempt.error is not None:
        error = f"{clean(attempt.error)}{_format_status(attempt.status_code)}: {clean(attempt.reason or '')}"
        yield f"    {click.style('failed', fg='red')} with {error}"
    if attempt.retry_at is not None:
        yield f"    next attempt {_format_time(attempt.retry_at)}"


def _render_candidate(place: int, candidate: Candidate) -> Iterator[str]:
    gate = f" by {clean(candidate.gate)}" if candidate.gate else ""
    origin = " (kept from the earlier version)" if candidate.retained_from else ""
    quote = f"\u201c{clean(candidate.payload.text)}\u201d"
    yield f"  candidate {place}  {_format_state(candidate.state)}{gate}{origin}  {quote}"
    yield f"    {clean(candidate.payload.summary)}"
    if candidate.reason:
        yield f"    because: {clean(candidate.reason)}"
    for source in candidate.sources:
        why = f" ({clean(source.reason)})" if source.reason else ""
        page = f", page sha256 {source.page.sha256[:16]}\u2026" if source.page else ""
        yield f"    source {source.status}{why}: {clean(source.url)}{page}"
    for each in candidate.tries:
        error = f"{clean(each.error)}{_format_status(each.status_code)}: {clean(each.reason)}"
        used = f", used {_format_usage([each.usage])}" if each.usage and each.usage.total_tokens else ""
        yield f"    review {each.number} {click.style('failed', fg='red')} with {error}{used}"
    if candidate.usage is not None and (candidate.usage.total_tokens or candidate.usage.cost_micro_usd):
        yield f"    the review used {_format_usage([candidate.usage])}"


def _format_usage(used: list[Usage]) -> str:
    tokens = sum(usage.total_tokens for usage in used)
    priced = [usage.cost_micro_usd for usage in used if usage.cost_micro_usd is not None]
    unknown = len(used) - len(priced)
    money = f"${sum(priced) / 1_000_000:.4f}" if priced or not used else "money not known"
    return f"{tokens:,} tokens, {money}" + (
        f" and {format_count(unknown, 'paid step')} of unknown price" if priced and unknown else ""
    )


def _format_status(code: int | None) -> str:
    return "" if code is None else f" {code}"


def _format_state(state: str) -> str:
    return click.style(state, fg=COLOURS.get(state), bold=True)


def _format_time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
