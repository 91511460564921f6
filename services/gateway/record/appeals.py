"""Appeals against results, without the appellants' words, and the proofs that appellants are authors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import text as sql

from contracts.v1.appeal import AppealKind, AppealOutcome, ProofOutcome
from services.gateway.record.connection import Queries
from services.gateway.record.rows import BY_HIDDEN

_TARGET: Final = sql("""
    SELECT v.correlation, jsonb_path_query_array(d.claims, '$[*].id') AS claims,
        coalesce((SELECT max(a.sequence) FROM appeal a WHERE a.investigation_id = d.investigation_id), 0) AS newest,
        p.platform, w.platform_user_id AS author, h.confirmed IS TRUE AS is_confirmed,
        EXISTS (SELECT FROM appeal a WHERE a.investigation_id = d.investigation_id AND a.outcome IS NULL) AS is_open,
        EXISTS (
            SELECT FROM appeal a WHERE a.investigation_id = d.investigation_id AND a.outcome = 'DISMISSED'
                AND (jsonb_exists_any(a.claims, CAST(:claims AS text[]))
                    OR a.claims = '[]' AND cardinality(CAST(:claims AS text[])) = 0)
        ) AS is_dismissed,
        ARRAY(
            SELECT DISTINCT jsonb_array_elements_text(a.links) FROM appeal a
            WHERE a.investigation_id = d.investigation_id
        ) AS links,
        ARRAY(SELECT a.opened_at FROM appeal a WHERE a.range_key = :range_key AND a.opened_at > :since
            ORDER BY a.opened_at DESC) AS recent
    FROM investigation_doc d JOIN investigation i ON i.id = d.investigation_id AND i.origin <> 'CONTROL'
        JOIN post_version v ON v.id = i.post_version_id JOIN post p ON p.id = v.post_id
        LEFT JOIN version_heading h ON h.post_version_id = v.id AND h.confirmed LEFT JOIN author w ON w.id = h.author_id
    WHERE d.investigation_id = :id
""")
_PROVABLE: Final = sql("""
    SELECT a.id, a.investigation_id, a.opened_at, a.proof, v.correlation, p.platform, p.external_id,
        w.platform_user_id AS author, m.document
    FROM appeal a JOIN investigation i ON i.id = a.investigation_id JOIN post_version v ON v.id = i.post_version_id
        JOIN post p ON p.id = v.post_id JOIN version_heading h ON h.post_version_id = v.id AND h.confirmed
        LEFT JOIN author w ON w.id = h.author_id
        JOIN version_metadata m ON m.post_version_id = v.id AND m.platform = p.platform
    WHERE a.id = :id AND a.by_author
""")
_ONE: Final = sql("""
    SELECT a.id, a.investigation_id, a.kind, jsonb_array_length(a.claims) AS named, a.opened_at, a.outcome, a.reason,
        a.decided_at, r.id AS run, a.by_author, a.proof, p.platform
    FROM appeal a JOIN investigation o ON o.id = a.investigation_id
        JOIN post_version v ON v.id = o.post_version_id JOIN post p ON p.id = v.post_id
        LEFT JOIN investigation r ON r.post_version_id = o.post_version_id AND r.analysis = o.analysis
            AND r.origin = 'APPEAL' AND r.origin_id = a.id AND r.status = 'COMPLETE'
    WHERE a.id = :id
""")
_NEWEST: Final = """
    SELECT a.id, a.investigation_id, a.kind, jsonb_array_length(a.claims) AS named, a.opened_at, a.outcome, a.reason,
        a.decided_at, listed.provider
    FROM appeal a CROSS JOIN LATERAL (
        SELECT i.provider FROM search_document s JOIN investigation i ON i.id = s.investigation_id
            JOIN post p ON p.id = s.post_id AND NOT {by_hidden}
        WHERE s.investigation_id = a.investigation_id OFFSET 0
    ) listed
    ORDER BY coalesce(a.decided_at, a.opened_at) DESC, a.id DESC LIMIT :limit
"""
_LOOKED_INTO: Final = sql("""
    SELECT a.id, a.investigation_id, r.id AS run
    FROM investigation r JOIN appeal a ON a.id = r.origin_id WHERE r.id = :id AND r.origin = 'APPEAL'
    UNION ALL
    SELECT a.id, a.investigation_id, r.id AS run
    FROM appeal a JOIN investigation o ON o.id = a.investigation_id
        JOIN investigation r ON r.post_version_id = o.post_version_id AND r.analysis = o.analysis
            AND r.origin = 'APPEAL' AND r.origin_id = a.id AND r.status = 'COMPLETE'
    WHERE a.investigation_id = :id
""")
_STATEMENTS: Final = sql("""
    SELECT DISTINCT ON (n.claim) n.claim AS claim_id, a.id AS appeal_id, a.statement AS text, a.opened_at AS stated_at
    FROM appeal a CROSS JOIN jsonb_array_elements_text(a.claims) n(claim)
    WHERE a.investigation_id = :id AND a.statement IS NOT NULL AND a.proof = 'PROVEN'
        AND a.outcome IS DISTINCT FROM 'REFUSED'
    ORDER BY n.claim, a.opened_at DESC, a.id
""")
_COUNTS: Final = sql("""
    SELECT i.provider, i.model, r.version AS prompt_version, count(*) AS opened,
        count(*) FILTER (WHERE a.outcome = 'UPHELD') AS upheld,
        count(*) FILTER (WHERE a.outcome = 'PARTLY') AS partly,
        count(*) FILTER (WHERE a.outcome = 'DISMISSED') AS dismissed,
        count(*) FILTER (WHERE a.outcome = 'REFUSED') AS refused,
        count(*) FILTER (WHERE a.proof = 'PROVEN') AS by_authors
    FROM appeal a JOIN investigation i ON i.id = a.investigation_id JOIN prompt r ON r.hash = i.prompt_hash
    GROUP BY i.provider, i.model, r.version ORDER BY opened DESC, i.provider, i.model, prompt_version
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealTarget:
    """A result that may be appealed against.

    Shapes: `claims` are the findings that stand. `newest` is the sequence of its newest appeal, 0: none. `recent`: when
    the caller's network appealed against any result, newest first. `author`: the site's id of the post's author;
    `is_confirmed`: the site has confirmed the text.
    """

    correlation: UUID
    claims: frozenset[UUID]
    newest: int
    platform: str
    author: str | None
    is_confirmed: bool
    is_open: bool
    is_dismissed: bool
    links: frozenset[str]
    recent: tuple[datetime, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvableAppeal:
    """An appeal made as the post's author, with the post, and its author and metadata as the site states them."""

    id: UUID
    investigation_id: UUID
    opened_at: datetime
    proof: ProofOutcome | None
    correlation: UUID
    platform: str
    external_id: str
    author: str | None
    document: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    id: UUID
    investigation_id: UUID
    kind: AppealKind
    named: int
    opened_at: datetime
    outcome: AppealOutcome | None
    reason: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAppeal(_Shown):
    """An appeal against a listed result, for a feed. Shapes: `named` is the number of findings that it is about."""

    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealShown(_Shown):
    """An appeal. Shapes: `named` is the number of findings that it is about; `outcome` is None while it is open.

    `run`: the investigation that it led to; `proof`: the outcome of the newest attempt to prove authorship.
    """

    run: UUID | None
    by_author: bool
    proof: ProofOutcome | None
    platform: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedInto:
    """An appeal against a result, and the run that it led to."""

    id: UUID
    investigation_id: UUID
    run: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorStatement:
    """What the proven author of the post says about a finding."""

    claim_id: UUID
    appeal_id: UUID
    text: str
    stated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealCounts:
    """The number of appeals, in all and by outcome. `by_authors`: those of proven authors among them."""

    opened: int = 0
    upheld: int = 0
    partly: int = 0
    dismissed: int = 0
    refused: int = 0
    by_authors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantAppeals(AppealCounts):
    """Appeals against results of one model under one version of the prompt."""

    provider: str
    model: str
    prompt_version: str


class Appeals(Queries):
    """Queries of appeals."""

    async def target(
        self, investigation_id: UUID, claims: Sequence[UUID], range_key: str, since: datetime
    ) -> AppealTarget | None:
        """The result with this id, and what limits appeals against it that are about these findings."""
        about = [str(claim) for claim in claims]
        return await self._one(
            AppealTarget, _TARGET, id=investigation_id, claims=about, range_key=range_key, since=since
        )

    async def provable(self, appeal_id: UUID) -> ProvableAppeal | None:
        """The appeal with this id, if it claims to be the author's and the site names who that is."""
        return await self._one(ProvableAppeal, _PROVABLE, id=appeal_id)

    async def one(self, appeal_id: UUID) -> AppealShown | None:
        """The appeal with this id, or None."""
        return await self._one(AppealShown, _ONE, id=appeal_id)

    async def newest(self, limit: int) -> Sequence[ListedAppeal]:
        """Appeals against listed results, newest opening or decision first."""
        return await self._all(ListedAppeal, sql(_NEWEST.format(by_hidden=BY_HIDDEN)), limit=limit)

    async def looked_into(self, investigation_id: UUID) -> Sequence[LookedInto]:
        """Appeals against this result that led to another run; or the one that led to this run."""
        return await self._all(LookedInto, _LOOKED_INTO, id=investigation_id)

    async def statements(self, investigation_id: UUID) -> Sequence[AuthorStatement]:
        """What the author says about the findings of this result: the newest statement about each."""
        return await self._all(AuthorStatement, _STATEMENTS, id=investigation_id)

    async def counts(self) -> Sequence[VariantAppeals]:
        """The outcomes of all appeals by model and prompt; those with most appeals first."""
        return await self._all(VariantAppeals, _COUNTS)
