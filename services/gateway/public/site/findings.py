"""The page of one investigation, computed from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from contracts.rpc.public import LoggedDecision
from platforms import has_proof_place, name_prover
from platforms.base import Prover
from services.gateway.public.site import jsonld, links, naming
from services.gateway.public.site.cards import name_post
from services.gateway.public.site.naming import describe_gate
from services.gateway.public.site.pagination import paginate, weight
from services.gateway.public.site.prose import render_markdown
from services.gateway.public.site.quotes import Gap, cut_passage, find_spans, paragraph_starts
from services.gateway.public.site.rendering import Values
from services.gateway.record.appeals import AuthorStatement, LookedInto
from services.gateway.record.investigations import Report, Snapshot, SourceCheck
from services.gateway.record.rows import Source
from services.gateway.record.runs import AttemptSummary, CandidateSummary

FINDINGS: Final = 34_000
MOST_FINDINGS: Final = 15
"""The limits of one part of the findings, which always has at least one. Units of FINDINGS: bytes of HTML."""
MOST_SOURCES: Final = 10


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline."""

    at: datetime
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """A source on the page. `link`: only if the URL is http or https."""

    url: str
    title: str
    snippet: str
    link: str | None
    stored_hash: str
    stored_at: datetime | None
    check: SourceCheck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding on the page. `marked`: its place in the text is known. `passed`: the outcomes of gates by code."""

    id: str
    number: int
    text: str
    summary: str
    reasoning: str
    marked: bool
    link: str | None
    sources: tuple[SourceView, ...]
    more_sources: int
    passed: tuple[str, ...]
    statement: AuthorStatement | None


@dataclass(frozen=True, slots=True)
class Details:
    """The rows of one investigation's page."""

    report: Report
    snapshots: Sequence[Snapshot]
    checks: Sequence[SourceCheck]
    attempts: Sequence[AttemptSummary]
    candidates: Sequence[CandidateSummary]
    decisions: Sequence[LoggedDecision]
    appeals: Sequence[LookedInto] = ()
    statements: Sequence[AuthorStatement] = ()


def show_investigation(base: str, details: Details, part: int = 1, finding: int | None = None) -> Values | None:
    """Values of the template for the part that shows `finding` if it stands, else for `part`; None without such a part.

    Further parts have findings only.
    """
    row = details.report
    demo, claims, text = naming.is_demo(row.provider), row.claims, row.content_text
    places = find_spans(text, [(claim.text, claim.context) for claim in claims])
    pieces = cut_passage(text, places, paragraph_starts(text, row.markdown))
    vouched_by = naming.describe_backing(row, row.platform)
    shown = {run.number for piece in pieces if not isinstance(piece, Gap) for run in piece}
    parts = paginate(_findings(details, {span.number for span in places}), _weight, FINDINGS, MOST_FINDINGS)
    part = next((n for n, each in enumerate(parts, 1) if finding in {view.number for view in each}), part)
    if not 1 <= part <= len(parts):
        return None
    path = f"/investigations/{row.id}"
    address = base + path
    homes = {
        finding.number: f"{path if n == 1 else f'{path}?part={n}'}#finding-{finding.number}"
        for n, findings in enumerate(parts, 1)
        for finding in findings
    }
    numbers = [finding.number for finding in parts[part - 1]]
    first = numbers[0] - 1 if numbers else 0
    part_claims = claims[first : first + len(numbers)]
    pages = [base + homes[number] for number in numbers]
    about = jsonld.About(post=row.url, at=row.checked_at, provenance=vouched_by, demo=demo)
    return {
        "part": part,
        "path": path,
        "listed": row.is_listed,
        "provenance": vouched_by,
        "spans": [(findings[0].number, findings[-1].number) for findings in parts if findings],
        "homes": homes,
        "shown": shown,
        "base": base,
        "canonical": address,
        "card": f"{address}/card.png",
        "section": "/corrections",
        "heading": write_heading(row),
        "description": write_description(row),
        "it": row,
        "demo": demo,
        "link": links.safe_link(row.url),
        "post_page": links.post_path(row.platform, row.external_id),
        "model_name": naming.model_name(row.provider, row.model, row.model_version),
        "whole_text": f"{path}/text" if any(isinstance(one, Gap) for one in pieces) else None,
        "count": len(claims),
        "findings": parts[part - 1],
        "withdrawn": row.withdrawn if part == 1 else (),
        "passage": pieces,
        "candidates": Counter(candidate.state for candidate in details.candidates),
        "timeline": build_timeline(row, details.attempts, details.candidates),
        "decisions": details.decisions,
        "appeals": details.appeals,
        "prover": _name_prover(row),
        "attempts": details.attempts,
        "machine_readable": [
            jsonld.embed(document)
            for document in (
                jsonld.claim_reviews(base, part_claims, pages, about, author=row.named_author),
                jsonld.web_annotations(part_claims, pages, about),
            )
            if document and row.is_listed
        ],
    }


def _name_prover(row: Report) -> Prover | None:
    """What the site calls the people who can prove that an appeal is theirs; None if no one can."""
    prover = name_prover(row.platform)
    is_known = row.author_confirmed and (prover == "contributor" or row.author_name is not None)
    return prover if is_known and has_proof_place(row.platform) else None


def write_heading(row: Report) -> str:
    """The page's heading."""
    subject = naming.excerpt(name_post(row), 140)
    found = len(row.claims)
    nothing = "Nothing shown as wrong" if row.withdrawn else "Nothing found wrong"
    return f"{naming.count(found, 'error') if found else nothing} in {subject}"


def write_description(row: Report) -> str:
    """The page's description: the first finding in short."""
    if not row.claims and row.withdrawn:
        return "What was found wrong in this post has been withdrawn."
    if not row.claims:
        return "No statement of this post was found to be demonstrably wrong."
    first = row.claims[0]
    return naming.excerpt(f"“{naming.excerpt(first.text, 140)}” {first.summary}", 300)


def _findings(details: Details, marked: set[int]) -> list[FindingView]:
    snapshots = {(str(one.claim_id), one.ordinal): one for one in details.snapshots}
    checks = {(str(one.claim_id), one.url): one for one in details.checks}
    passed = {str(one.claim_id): tuple(map(describe_gate, one.gates)) for one in details.candidates}
    stated = {str(each.claim_id): each for each in details.statements}
    address = details.report.url
    return [
        FindingView(
            id=claim.id,
            number=number,
            text=claim.text,
            summary=claim.summary,
            reasoning=render_markdown(claim.reasoning),
            marked=number in marked,
            link=links.link_to_sentence(address, claim.text) if links.safe_link(address) else None,
            sources=tuple(
                _source(source, snapshots.get((claim.id, nth)), checks.get((claim.id, source.url)))
                for nth, source in enumerate(claim.sources[:MOST_SOURCES])
            ),
            more_sources=max(0, len(claim.sources) - MOST_SOURCES),
            passed=passed.get(claim.id, ()),
            statement=stated.get(claim.id),
        )
        for number, claim in enumerate(details.report.claims, 1)
    ]


def _weight(finding: FindingView) -> int:
    said = weight(finding.text) + weight(finding.summary) + len(finding.reasoning.encode("utf-8", "replace"))
    quoted = sum(
        weight(source.title) + 2 * weight(source.url) + weight(source.snippet) + 900 for source in finding.sources
    )
    stated = 0 if finding.statement is None else 200 + weight(finding.statement.text)
    return 900 + said + 3 * len(finding.text) + quoted + sum(map(len, finding.passed)) + stated


def _source(source: Source, stored: Snapshot | None, check: SourceCheck | None) -> SourceView:
    return SourceView(
        url=source.url,
        title=naming.excerpt(source.title, 300),
        snippet=naming.excerpt(source.snippet, 1_200),
        link=links.safe_link(source.url),
        stored_hash=(stored.snapshot_hash if stored else None) or sha256(source.snippet.encode()).hexdigest(),
        stored_at=stored.retrieved_at if stored else None,
        check=check,
    )


def build_timeline(
    row: Report, attempts: Sequence[AttemptSummary], candidates: Sequence[CandidateSummary]
) -> list[Moment]:
    """The timeline, from the first observation to the result and after it. Shapes: in order of time."""
    moments = [Moment(row.first_seen_at, "The text was first seen")]
    if row.server_verified_at:
        site = naming.platform_name(row.platform)
        confirmed = (
            "The author's signature of the text was checked" if row.signing_key else f"{site} itself confirmed the text"
        )
        moments.append(Moment(row.server_verified_at, confirmed))
    if row.corroborated_at:
        moments.append(Moment(row.corroborated_at, "Enough readers had seen the same text"))
    moments.append(Moment(row.queued_at, "An investigation was asked for"))
    for attempt in attempts:
        nth = f"Attempt {attempt.number}" if len(attempts) > 1 else "The model"
        moments.append(Moment(attempt.started_at, f"{nth} began to read"))
        if attempt.completed_at and attempt.error_name:
            moments.append(Moment(attempt.completed_at, f"{nth} failed and was to be tried again"))
        elif attempt.completed_at:
            proposed = sum(not candidate.retained for candidate in candidates)
            moments.append(
                Moment(attempt.completed_at, f"{nth} was done: {naming.count(proposed, 'candidate')} proposed")
            )
    decided = [candidate.decided_at for candidate in candidates if candidate.decided_at]
    if decided:
        approved = sum(candidate.state == "APPROVED" for candidate in candidates)
        judged = f"The last candidate was judged: {approved} of {len(candidates)} passed"
        moments.append(Moment(max(decided), judged))
    moments.sort(key=lambda moment: moment.at)
    after = [moment for moment in moments if moment.at > row.checked_at]
    before = [moment for moment in moments if moment.at <= row.checked_at]
    after += [
        Moment(each.changed_at, "A finding was retracted" if each.is_retracted else "A finding was withdrawn for now")
        for each in row.withdrawn
    ]
    after.sort(key=lambda moment: moment.at)
    found = len(row.claims) + len(row.withdrawn)
    published = Moment(row.checked_at, f"Published: {naming.count(found, 'error')}" if found else "Nothing found wrong")
    return [*before, published, *after]
