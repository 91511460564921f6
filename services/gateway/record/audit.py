"""The audit of a finished investigation: statements by key, of which only `exchanges` reads long texts.

Each list inside a row is limited; the stored transcript is complete.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries
from services.gateway.record.runs import Attempt, AttemptSummary, Candidate, CandidateSummary, Exchange, Run

_RUN: Final = sql("""
    SELECT i.analysis, i.round, i.requested_by, i.queued_at, i.parent_investigation_id, i.content_diff, n.content_hash,
        n.markdown_source, n.markdown_renderer_version AS renderer_version,
        jsonb_build_object('version', r.version, 'hash', r.hash, 'text', r.text) AS prompt,
        (SELECT jsonb_build_object('reason', reason, 'failed_at', failed_at) FROM verification_failure
            WHERE post_version_id = i.post_version_id AND reason IS NOT NULL ORDER BY failed_at DESC LIMIT 1)
            AS verification_failure
    FROM investigation i JOIN investigation_input n ON n.investigation_id = i.id JOIN prompt r ON r.hash = i.prompt_hash
    WHERE i.id = :id AND i.origin <> 'CONTROL'
""")
_ATTEMPTS: Final = sql("""
    SELECT a.attempt_number AS number, a.outcome, a.request_model AS requested_model,
        a.response_model_version AS answered_by_model, a.prompt_hash,
        a.content_hash AS input_hash, a.transcript_hash, a.response_output_text AS output_text, a.started_at,
        a.completed_at, to_jsonb(u) AS usage,
        (SELECT jsonb_build_object('name', e.error_name, 'message', e.error_message, 'status_code', e.status_code,
            'at', e.created_at) FROM investigation_attempt_error e WHERE e.attempt_id = a.id) AS error,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('index', t.output_index, 'tool', t.tool_type, 'status', t.status,
            'payload', t.raw_payload::text, 'captured_at', t.captured_at) ORDER BY t.output_index), '[]')
            FROM investigation_attempt_tool_call t WHERE t.attempt_id = a.id) AS tool_calls
    FROM investigation_attempt a
    LEFT JOIN investigation_attempt_usage u ON u.attempt_id = a.id
    WHERE a.investigation_id = :id ORDER BY a.attempt_number
""")
_CANDIDATES: Final = sql("""
    SELECT c.claim_id, c.attempt, c.state, c.gate, c.proposed_at, c.decided_at, c.retained_from, c.payload,
        coalesce(r.response_model_version, r.request_model) AS model, r.total_tokens, r.transcript_hash,
        coalesce(r.gates, '[]') AS gates,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('round', e.round, 'reason', e.reason, 'status_code',
            e.status_code, 'at', e.decided_at) ORDER BY e.round, e.attempt = 0, e.attempt), '[]')
            FROM (SELECT * FROM claim_review WHERE claim_id = c.claim_id AND outcome IN ('RETRIED', 'FAILED')
                ORDER BY round DESC, attempt = 0 DESC, attempt DESC LIMIT 20) e) AS failures
    FROM claim_candidate c
    LEFT JOIN LATERAL (
        SELECT * FROM claim_review WHERE claim_id = c.claim_id ORDER BY round DESC, attempt LIMIT 1
    ) r ON true
    WHERE c.investigation_id = :id ORDER BY c.attempt NULLS FIRST, c.ordinal, c.claim_id
""")
_EXCHANGES: Final = sql("""
    SELECT a.attempt_number AS number,
        CASE WHEN a.request_input IS NOT NULL THEN jsonb_build_object(
            'instructions', left(a.request_instructions, 200000), 'input', left(a.request_input, 200000),
            'input_characters', length(a.request_input), 'reasoning_effort', a.request_reasoning_effort,
            'reasoning_summary', a.request_reasoning_summary, 'tools', (
                SELECT coalesce(jsonb_agg(jsonb_build_object('type', t.tool_type, 'definition', t.raw_definition::text)
                    ORDER BY t.request_order), '[]')
                FROM investigation_attempt_requested_tool t WHERE t.attempt_id = a.id AND t.request_order < 50))
        END AS request,
        (SELECT coalesce(jsonb_agg(left(s.text, 4000) ORDER BY s.output_index, s.summary_index), '[]')
            FROM (SELECT o.output_index, s.summary_index, s.text FROM investigation_attempt_output_item o
                JOIN investigation_attempt_reasoning_summary s ON s.output_item_id = o.id
                WHERE o.attempt_id = a.id ORDER BY o.output_index, s.summary_index LIMIT 100) s) AS reasoning_summaries,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('type', n.annotation_type, 'url', left(n.url, 4000),
            'title', left(n.title, 500)) ORDER BY n.place, n.url, n.title), '[]')
            FROM (SELECT n.annotation_type, n.url, n.title, min(o.output_index) AS place
                FROM investigation_attempt_output_item o
                JOIN investigation_attempt_text_part p ON p.output_item_id = o.id
                JOIN investigation_attempt_annotation n ON n.text_part_id = p.id
                WHERE o.attempt_id = a.id GROUP BY n.annotation_type, n.url, n.title
                ORDER BY place, n.url, n.title LIMIT 100) n) AS citations
    FROM (SELECT * FROM investigation_attempt WHERE investigation_id = :id ORDER BY attempt_number DESC LIMIT 10) a
    ORDER BY a.attempt_number
""")

_ATTEMPTS_IN_SHORT: Final = sql("""
    SELECT a.attempt_number AS number, a.outcome, a.request_model, a.response_model_version, a.transcript_hash,
        a.started_at, a.completed_at, u.input_tokens, u.output_tokens, u.total_tokens,
        CAST(to_jsonb(u)->>'cost_micro_usd' AS bigint) AS cost_micro_usd, e.error_name,
        (SELECT count(*) FROM investigation_attempt_tool_call t WHERE t.attempt_id = a.id) AS tool_calls
    FROM investigation_attempt a
    LEFT JOIN investigation_attempt_usage u ON u.attempt_id = a.id
    LEFT JOIN investigation_attempt_error e ON e.attempt_id = a.id
    WHERE a.investigation_id = :id ORDER BY a.attempt_number
""")
_CANDIDATES_IN_SHORT: Final = sql("""
    SELECT claim_id, state, retained_from IS NOT NULL AS retained, proposed_at, decided_at,
        coalesce((SELECT r.gates FROM claim_review r WHERE r.claim_id = c.claim_id ORDER BY r.round DESC, r.attempt
            LIMIT 1), '[]') AS gates
    FROM claim_candidate c
    WHERE investigation_id = :id ORDER BY proposed_at, ordinal
""")


class Audits(Queries):
    """The unredacted audit of a finished investigation; `public.audit` redacts it."""

    async def run(self, investigation_id: UUID) -> Run | None:
        """Input, attempts and candidates, without the exchanges with the model."""
        run = await self._one(Run, _RUN, id=investigation_id)
        if run is None:
            return None
        attempts = await self._all(Attempt, _ATTEMPTS, id=investigation_id)
        return run.with_parts(attempts, await self._all(Candidate, _CANDIDATES, id=investigation_id))

    async def exchanges(self, investigation_id: UUID) -> list[Exchange]:
        """The exchanges with the model in the last attempts."""
        return await self._all(Exchange, _EXCHANGES, id=investigation_id)

    async def attempt_summaries(self, investigation_id: UUID) -> list[AttemptSummary]:
        """Every attempt in numbers, without texts that may need redaction."""
        return await self._all(AttemptSummary, _ATTEMPTS_IN_SHORT, id=investigation_id)

    async def candidate_summaries(self, investigation_id: UUID) -> list[CandidateSummary]:
        """The state of each candidate, without its content."""
        return await self._all(CandidateSummary, _CANDIDATES_IN_SHORT, id=investigation_id)
