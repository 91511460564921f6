"""The JSON document of one finished investigation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from contracts.rpc.audit import Audit
from contracts.rpc.public import (
    AuthorStatement,
    LoggedDecision,
    Origin,
    PublicInvestigation,
    PublicPost,
    PublicResult,
    SourceCheck,
    WithdrawnClaim,
)
from contracts.rpc.status import ClaimOut
from services.gateway.ports import Unavailable
from services.gateway.public.audit import redact_run
from services.gateway.record.decision_log import LogEntry
from services.gateway.record.question import BadQuestion
from services.gateway.record.repository import PublicRecord
from services.gateway.record.rows import Claim


@dataclass(frozen=True)
class RecordDocuments:
    """Documents of the public record."""

    record: PublicRecord

    async def document(self, investigation_id: UUID) -> PublicResult | None:
        """The document of a finished investigation, or None. Raises: Unavailable."""
        try:
            return await self._document(investigation_id)
        except BadQuestion as slow:
            raise Unavailable(f"database: {slow}") from slow

    async def _document(self, investigation_id: UUID) -> PublicResult | None:
        async with self.record.open() as session:
            row = await session.investigations.one(investigation_id)
            run = None if row is None else await session.audits.run(investigation_id)
            if row is None or run is None:
                return None
            statements = await session.appeals.statements(investigation_id)
            checks = await session.investigations.source_checks(investigation_id)
            exchanges = await session.audits.exchanges(investigation_id)
            decisions = await session.decision_log.of_investigation(investigation_id)
        public = await asyncio.to_thread(redact_run, run)
        return PublicResult(
            investigation=PublicInvestigation(
                id=str(row.id),
                content_hash=row.content_hash,
                origin=Origin.model_validate(row, from_attributes=True),
                corroboration_count=row.corroboration_count,
                checked_at=row.checked_at,
                prompt_version=row.prompt_version,
                provider=row.provider,
                model=row.model,
            ),
            post=PublicPost.model_validate(row, from_attributes=True),
            claims=tuple(map(claim_out, row.claims)),
            withdrawn_claims=tuple(WithdrawnClaim.model_validate(each, from_attributes=True) for each in row.withdrawn),
            author_statements=tuple(AuthorStatement.model_validate(each, from_attributes=True) for each in statements),
            source_checks=tuple(SourceCheck.model_validate(check, from_attributes=True) for check in checks),
            decisions=tuple(decision_out(investigation_id, each) for each in decisions),
            audit=Audit.model_validate(public.with_exchanges(exchanges), from_attributes=True),
        )


def decision_out(investigation_id: UUID, entry: LogEntry) -> LoggedDecision:
    """A decision as sent to clients."""
    leaf = entry.leaf
    return LoggedDecision(
        index=entry.index,
        kind=leaf.k,
        recorded_at=datetime.fromtimestamp(leaf.t / 1_000, UTC),
        proof=f"/log/v1/proof/{investigation_id}/{entry.index}",
    )


def claim_out(claim: Claim) -> ClaimOut:
    """A finding as sent to clients."""
    return ClaimOut.model_validate(claim, from_attributes=True)
