"""What the audit of an investigation reads: four statements by key, of which only one has long texts.

Each list inside a row is cut where a run that went wrong would have made it endless. What a transcript holds beyond
that is in the transcript.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text as sql

AUDITED: Final = sql("""
    SELECT i.analysis, i.round, i.requested_by, i.queued_at, i.parent_investigation_id, i.content_diff, n.content_hash,
        n.markdown_source, n.markdown_renderer_version AS renderer_version, r.version, r.hash, r.text,
        f.reason AS unverified_because, f.failed_at AS unverified_at
    FROM investigation i JOIN investigation_input n ON n.investigation_id = i.id JOIN prompt r ON r.hash = i.prompt_hash
    LEFT JOIN LATERAL (
        SELECT reason, failed_at FROM verification_failure
        WHERE post_version_id = i.post_version_id AND reason IS NOT NULL ORDER BY failed_at DESC LIMIT 1
    ) f ON true
    WHERE i.id = :id
""")

ATTEMPTS: Final = sql("""
    SELECT a.attempt_number AS number, a.outcome, a.request_model AS requested_model,
        a.response_model_version AS answered_by_model, a.prompt_hash,
        a.content_hash AS input_hash, a.transcript_hash, a.response_output_text AS output_text, a.started_at,
        a.completed_at, to_jsonb(u) AS usage, e.error_name, e.error_message, e.status_code, e.created_at AS failed_at,
        (SELECT jsonb_agg(jsonb_build_object('index', t.output_index, 'tool', t.tool_type, 'status', t.status,
            'payload', t.raw_payload::text, 'captured_at', t.captured_at) ORDER BY t.output_index)
            FROM investigation_attempt_tool_call t WHERE t.attempt_id = a.id) AS tool_calls
    FROM investigation_attempt a
    LEFT JOIN investigation_attempt_usage u ON u.attempt_id = a.id
    LEFT JOIN investigation_attempt_error e ON e.attempt_id = a.id
    WHERE a.investigation_id = :id ORDER BY a.attempt_number
""")

CANDIDATES: Final = sql("""
    SELECT c.claim_id, c.attempt, c.state, c.gate, c.proposed_at, c.decided_at, c.retained_from, c.payload,
        coalesce(r.response_model_version, r.request_model) AS model, r.total_tokens, r.transcript_hash,
        (SELECT jsonb_agg(jsonb_build_object('round', e.round, 'reason', e.reason, 'status_code', e.status_code,
            'at', e.decided_at) ORDER BY e.round, e.attempt = 0, e.attempt)
            FROM (SELECT * FROM claim_review WHERE claim_id = c.claim_id AND outcome IN ('RETRIED', 'FAILED')
                ORDER BY round DESC, attempt = 0 DESC, attempt DESC LIMIT 20) e) AS failures
    FROM claim_candidate c
    LEFT JOIN LATERAL (
        SELECT * FROM claim_review WHERE claim_id = c.claim_id ORDER BY round DESC, attempt LIMIT 1
    ) r ON true
    WHERE c.investigation_id = :id ORDER BY c.attempt NULLS FIRST, c.ordinal, c.claim_id
""")

EXCHANGES: Final = sql("""
    SELECT a.attempt_number AS number, left(a.request_instructions, 200000) AS instructions,
        left(a.request_input, 200000) AS input, length(a.request_input) AS input_characters,
        a.request_reasoning_effort AS reasoning_effort, a.request_reasoning_summary AS reasoning_summary,
        (SELECT jsonb_agg(jsonb_build_object('type', t.tool_type, 'definition', t.raw_definition::text)
            ORDER BY t.request_order)
            FROM investigation_attempt_requested_tool t WHERE t.attempt_id = a.id AND t.request_order < 50) AS tools,
        (SELECT jsonb_agg(left(s.text, 4000) ORDER BY s.output_index, s.summary_index)
            FROM (SELECT o.output_index, s.summary_index, s.text FROM investigation_attempt_output_item o
                JOIN investigation_attempt_reasoning_summary s ON s.output_item_id = o.id
                WHERE o.attempt_id = a.id ORDER BY o.output_index, s.summary_index LIMIT 100) s) AS reasoning_summaries,
        (SELECT jsonb_agg(jsonb_build_object('type', n.annotation_type, 'url', left(n.url, 4000),
            'title', left(n.title, 500)) ORDER BY n.place, n.url, n.title)
            FROM (SELECT n.annotation_type, n.url, n.title, min(o.output_index) AS place
                FROM investigation_attempt_output_item o
                JOIN investigation_attempt_text_part p ON p.output_item_id = o.id
                JOIN investigation_attempt_annotation n ON n.text_part_id = p.id
                WHERE o.attempt_id = a.id GROUP BY n.annotation_type, n.url, n.title
                ORDER BY place, n.url, n.title LIMIT 100) n) AS citations
    FROM (SELECT * FROM investigation_attempt WHERE investigation_id = :id ORDER BY attempt_number DESC LIMIT 10) a
    ORDER BY a.attempt_number
""")
