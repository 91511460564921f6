"""The SQL that turns changes into rows, one statement a table, in the order that references demand.

Every statement takes all its rows as one JSON document whose keys are the table's columns, and reads them as `given`.
What a repeated key means (first wins, newest wins, add up) is said here and must agree with how `project` folds. A
connection keeps the statements of a stream as one temporary function, so a batch is written by a single call: as thirty
statements, a batch of one fact cost more to send than to execute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Table

from contracts.readmodel import (
    lesswrong_version_meta,
    substack_version_meta,
    wikipedia_version_meta,
    x_version_meta,
)
from services.projector.search import CORRECTED_DOCUMENTS, DOCUMENTS


@dataclass(frozen=True, slots=True)
class Write:
    """The rows it takes, the table whose columns they have, and what is done with them."""

    rows: str
    table: str
    sql: str

    @property
    def step(self) -> str:
        """The statement inside the function, skipped when there are no rows."""
        rows = f"rows_{self.rows}"
        # The limit limits nothing; it tells the planner that the rows are few, so that it looks them up in the table
        # instead of reading the table for them.
        given = f"""WITH given AS (SELECT * FROM json_populate_recordset(NULL::{self.table}, {rows})
            LIMIT json_array_length({rows}))"""  # noqa: S608 (our names)
        return f"IF rows_{self.rows} IS NOT NULL THEN\n{given}\n{self.sql};\nEND IF;"


@dataclass(frozen=True, slots=True)
class Writer:
    """All writes of one stream, as a function of its connection; `takes` are the names of its rows, in their order."""

    name: str
    writes: tuple[Write, ...]

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of rows, each once."""
        return tuple(dict.fromkeys(write.rows for write in self.writes))

    @property
    def definition(self) -> bytes:
        """What makes the function known to a connection."""
        parameters = ", ".join(f"rows_{rows} json" for rows in self.takes)
        steps = "\n".join(write.step for write in self.writes)
        head = f"CREATE OR REPLACE FUNCTION pg_temp.{self.name}({parameters}) RETURNS void LANGUAGE plpgsql"
        return f"{head} AS $body$ BEGIN\n{steps}\nEND $body$".encode()

    @property
    def call(self) -> bytes:
        """What runs it; one parameter for each of `takes`."""
        return f"SELECT pg_temp.{self.name}({', '.join(['%s'] * len(self.takes))})".encode()


def _first_wins(rows: str, table: str) -> Write:
    """Keep what is there."""
    return Write(rows, table, f"INSERT INTO {table} SELECT * FROM given ON CONFLICT DO NOTHING")  # noqa: S608 (our names)


def _of_record(rows: str, table: str) -> Write:
    """Parts of an attempt whose record is not kept yet."""
    attempt = "JOIN investigation_attempt a ON a.id = r.attempt_id AND a.transcript_hash IS NULL"
    return Write(rows, table, f"INSERT INTO {table} SELECT r.* FROM given r {attempt} ON CONFLICT DO NOTHING")  # noqa: S608 (our names)


def _part_of(parent: str, rows: str, table: str) -> Write:
    """Parts of what has a row."""
    there = f"JOIN investigation_attempt_{parent} p ON p.id = r.{parent}_id"
    return Write(rows, table, f"INSERT INTO {table} SELECT r.* FROM given r {there} ON CONFLICT DO NOTHING")  # noqa: S608 (our names)


def _sites_newest_wins(table: Table) -> Write:
    """Replace a version's metadata by what its site says now; of readers the first word and the first HTML stand."""
    name, key = table.name, table.primary_key.columns.keys()[0]
    readers_word = "excluded.server_html_hash IS NULL"
    assignments = {
        column: f"CASE WHEN {readers_word} THEN {name}.{column} ELSE excluded.{column} END"
        for column in table.columns.keys()  # noqa: SIM118 (not a dict)
    } | {"client_html_hash": f"coalesce({name}.client_html_hash, excluded.client_html_hash)"}
    del assignments[key], assignments["created_at"]
    old = ", ".join(f"{name}.{column}" for column in assignments)
    new = ", ".join(assignments.values())
    changes = ", ".join(f"{column} = {value}" for column, value in assignments.items())
    merge = f"ON CONFLICT ({key}) DO UPDATE SET {changes} WHERE ({old}) IS DISTINCT FROM ({new})"
    return Write(name, name, f"INSERT INTO {name} SELECT * FROM given {merge}")  # noqa: S608 (our names)


POSITION: Final = """INSERT INTO position VALUES (%s, %s)
    ON CONFLICT (stream) DO UPDATE SET sequence = excluded.sequence"""

_ERRATA: Final = (
    Write(
        "released",
        "parked",
        "DELETE FROM parked p USING given g WHERE (p.stream, p.sequence) = (g.stream, g.sequence)",
    ),
    _first_wins("parked", "parked"),
    _first_wins("refusals", "refused_fact"),
    Write(
        "authors",
        "author",
        """INSERT INTO author SELECT * FROM given
        ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, updated_at = excluded.updated_at,
            confirmed = true
        WHERE excluded.confirmed""",
    ),
    Write(
        "posts",
        "post",
        """INSERT INTO post SELECT * FROM given
        ON CONFLICT (id) DO UPDATE SET
            url = CASE WHEN excluded.confirmed THEN excluded.url ELSE post.url END,
            author_id = CASE WHEN excluded.confirmed THEN excluded.author_id WHEN post.confirmed THEN post.author_id
                ELSE coalesce(post.author_id, excluded.author_id) END,
            confirmed = post.confirmed OR excluded.confirmed,
            updated_at = greatest(post.updated_at, excluded.updated_at)""",
    ),
    _first_wins("contents", "content_blob"),
    _first_wins("pages", "html_blob"),
    _first_wins("occurrence_sets", "image_occurrence_set"),
    _first_wins("occurrences", "image_occurrence"),
    Write(
        "versions",
        "post_version",
        """INSERT INTO post_version SELECT * FROM given
        ON CONFLICT (id) DO UPDATE SET seen_count = post_version.seen_count + excluded.seen_count,
            last_seen_at = greatest(post_version.last_seen_at, excluded.last_seen_at),
            server_verified_at = coalesce(post_version.server_verified_at, excluded.server_verified_at)""",
    ),
    Write(
        "headings",
        "version_heading",
        """INSERT INTO version_heading AS h SELECT * FROM given
        ON CONFLICT (post_version_id) DO UPDATE SET url = excluded.url, title = excluded.title,
            author_id = excluded.author_id, author_name = excluded.author_name, confirmed = true
        WHERE excluded.confirmed AND NOT h.confirmed""",
    ),
    Write(
        "seen",
        "post_version",
        """UPDATE post_version v SET seen_count = v.seen_count + r.seen_count,
            last_seen_at = greatest(v.last_seen_at, r.last_seen_at),
            server_verified_at = coalesce(v.server_verified_at, r.server_verified_at)
        FROM given r WHERE v.id = r.id""",
    ),
    _sites_newest_wins(lesswrong_version_meta),
    _first_wins(x_version_meta.name, x_version_meta.name),
    _sites_newest_wins(substack_version_meta),
    _sites_newest_wins(wikipedia_version_meta),
    Write(
        "failures",
        "verification_failure",
        """INSERT INTO verification_failure AS f SELECT * FROM given
        ON CONFLICT (observation_id) DO UPDATE SET
            post_version_id = coalesce(excluded.post_version_id, f.post_version_id),
            reason = coalesce(f.reason, excluded.reason), detail = coalesce(f.detail, excluded.detail),
            failed_at = coalesce(f.failed_at, excluded.failed_at)""",
    ),
    _first_wins("anomalies", "integrity_anomaly"),
    _first_wins("prompts", "prompt"),
    Write(
        # The same version with another text: two deployments disagree, and neither may stop the other.
        "prompts",
        "prompt",
        """INSERT INTO prompt SELECT hash, version || '+' || left(hash, 12), text, created_at
        FROM given r WHERE NOT EXISTS (SELECT FROM prompt WHERE hash = r.hash) ON CONFLICT DO NOTHING""",
    ),
    _first_wins("inputs", "investigation_input"),
    Write(
        "investigations",
        "investigation",
        """INSERT INTO investigation AS i SELECT * FROM given
        ON CONFLICT (id) DO UPDATE SET input_id = excluded.input_id,
            parent_investigation_id = coalesce(i.parent_investigation_id, excluded.parent_investigation_id),
            content_diff = coalesce(i.content_diff, excluded.content_diff),
            (status, prompt_hash, provider, model, model_version, checked_at, queued_at, retry_after, failed_at,
                failure, failure_reason, round, attempt_count, requested_by, key_source, requested_sequence, updated_at)
            = ROW (excluded.status, excluded.prompt_hash, excluded.provider, excluded.model, excluded.model_version,
                excluded.checked_at, excluded.queued_at, excluded.retry_after, excluded.failed_at,
                excluded.failure, excluded.failure_reason, excluded.round, excluded.attempt_count,
                excluded.requested_by, excluded.key_source, excluded.requested_sequence, excluded.updated_at)""",
    ),
    Write(
        "investigations",
        "investigation",
        "DELETE FROM investigation_lease l USING given g WHERE l.investigation_id = g.id AND g.status <> 'PROCESSING'",
    ),
    Write(
        "leases",
        "investigation_lease",
        """INSERT INTO investigation_lease SELECT * FROM given
        ON CONFLICT (investigation_id) DO UPDATE SET lease_owner = excluded.lease_owner, attempt = excluded.attempt,
            started_at = excluded.started_at""",
    ),
    _first_wins("image_blobs", "image_blob"),
    _first_wins("images", "investigation_image"),
    _first_wins("picture_fates", "investigation_picture"),
    _first_wins("attempts", "investigation_attempt"),
    Write(
        "attempt_ends",
        "investigation_attempt",
        """UPDATE investigation_attempt a SET outcome = r.outcome, completed_at = r.completed_at,
            response_model_version = coalesce(r.response_model_version, a.response_model_version)
        FROM given r WHERE a.id = r.id""",
    ),
    # An attempt's first transcript is its record. The parts of another one find an attempt that has its record
    # already, and what is part of them finds no parent.
    _of_record("requested_tools", "investigation_attempt_requested_tool"),
    _of_record("output_items", "investigation_attempt_output_item"),
    _part_of("output_item", "text_parts", "investigation_attempt_text_part"),
    _part_of("text_part", "annotations", "investigation_attempt_annotation"),
    _part_of("output_item", "reasoning_summaries", "investigation_attempt_reasoning_summary"),
    _part_of("output_item", "tool_calls", "investigation_attempt_tool_call"),
    Write(
        "told",
        "investigation_attempt",
        """UPDATE investigation_attempt a SET transcript_hash = r.transcript_hash,
            transcript_state = r.transcript_state, request_model = coalesce(r.request_model, a.request_model),
            request_instructions = r.request_instructions, request_input = r.request_input,
            request_reasoning_effort = r.request_reasoning_effort,
            request_reasoning_summary = r.request_reasoning_summary,
            response_id = r.response_id, response_status = r.response_status,
            response_model_version = coalesce(a.response_model_version, r.response_model_version),
            response_output_text = r.response_output_text
        FROM given r WHERE a.id = r.id AND a.transcript_hash IS NULL""",
    ),
    Write(
        "usages",
        "investigation_attempt_usage",
        """INSERT INTO investigation_attempt_usage AS u
        SELECT r.* FROM given r JOIN investigation_attempt a ON a.id = r.attempt_id
        ON CONFLICT (attempt_id) DO UPDATE SET (input_tokens, output_tokens, total_tokens, cached_input_tokens,
                reasoning_output_tokens, cost_micro_usd, created_at)
            = ROW (excluded.input_tokens, excluded.output_tokens, excluded.total_tokens, excluded.cached_input_tokens,
                excluded.reasoning_output_tokens, excluded.cost_micro_usd, excluded.created_at)""",
    ),
    Write(
        "rounds",
        "investigation_round",
        """INSERT INTO investigation_round AS r SELECT * FROM given
        ON CONFLICT (investigation_id, round) DO UPDATE SET
            requested_by = coalesce(r.requested_by, excluded.requested_by),
            key_source = coalesce(r.key_source, excluded.key_source),
            requested_at = coalesce(r.requested_at, excluded.requested_at),
            fault = coalesce(r.fault, excluded.fault)""",
    ),
    Write(
        # A draft that comes late, when the next round is requested already, was paid for by the round it started in.
        "attempt_expenses",
        "expense",
        """INSERT INTO expense AS e
        SELECT r.id, r.investigation_id, a.round, r.stage, r.total_tokens, r.cost_micro_usd, r.spent_at
        FROM given r JOIN investigation_attempt a ON a.id = r.id
        ON CONFLICT (id) DO UPDATE SET (total_tokens, cost_micro_usd, spent_at)
            = ROW (excluded.total_tokens, excluded.cost_micro_usd, excluded.spent_at)
        WHERE e.total_tokens < excluded.total_tokens""",
    ),
    Write(
        "errors",
        "investigation_attempt_error",
        """INSERT INTO investigation_attempt_error
        SELECT r.* FROM given r JOIN investigation_attempt a ON a.id = r.attempt_id
        ON CONFLICT DO NOTHING""",
    ),
    Write(
        "candidates",
        "claim_candidate",
        """INSERT INTO claim_candidate AS c SELECT * FROM given
        ON CONFLICT (claim_id) DO UPDATE SET state = excluded.state, gate = excluded.gate, reason = excluded.reason,
            decided_at = excluded.decided_at
        WHERE excluded.state <> 'PENDING'
            AND (c.state = 'PENDING' OR (c.state = 'FAILED' AND excluded.state <> 'FAILED'))""",
    ),
    Write(
        "verdicts",
        "claim_candidate",
        """UPDATE claim_candidate c SET state = r.state, gate = r.gate, reason = r.reason, decided_at = r.decided_at
        FROM given r WHERE c.claim_id = r.claim_id
            AND (c.state = 'PENDING' OR (c.state = 'FAILED' AND r.state <> 'FAILED'))""",
    ),
    _first_wins("source_checks", "source_check"),
    _first_wins("reviews", "claim_review"),
    _first_wins("review_expenses", "expense"),
    _first_wins("claims", "claim"),
    _first_wins("sources", "source"),
    Write(
        "results",
        "investigation_doc",
        """INSERT INTO investigation_doc (investigation_id, post_version_id, analysis, provenance, checked_at,
            claim_count, claims)
        SELECT r.investigation_id, r.post_version_id, r.analysis, i.provenance, r.checked_at, r.claim_count, r.claims
        FROM given r JOIN investigation_input i USING (investigation_id)
        ON CONFLICT DO NOTHING""",
    ),
    Write("listable", "investigation_doc", DOCUMENTS),
    Write("headings", "version_heading", CORRECTED_DOCUMENTS),
    Write(
        "results",
        "investigation_doc",
        """INSERT INTO post_prior AS p (post_id, analysis, investigation_id, post_version_id, checked_at)
        SELECT DISTINCT ON (v.post_id, r.analysis) v.post_id, r.analysis, r.investigation_id, v.id, r.checked_at
        FROM given r
        JOIN investigation_input i USING (investigation_id) JOIN post_version v ON v.id = r.post_version_id
        WHERE i.provenance = 'SERVER_VERIFIED'
        ORDER BY v.post_id, r.analysis, r.checked_at DESC, r.investigation_id DESC
        ON CONFLICT (post_id, analysis) DO UPDATE SET investigation_id = excluded.investigation_id,
            post_version_id = excluded.post_version_id, checked_at = excluded.checked_at
        WHERE (excluded.checked_at, excluded.investigation_id) > (p.checked_at, p.investigation_id)""",
    ),
    Write(
        "inputs",
        "investigation_input",
        """INSERT INTO corroboration_credit (investigation_id, reporter_key, created_at)
        SELECT r.investigation_id, v.reporter_key, greatest(v.seen_at, r.created_at)
        FROM given r
        CROSS JOIN LATERAL (SELECT post_version_id FROM investigation WHERE id = r.investigation_id OFFSET 0) i
        JOIN version_reporter v ON v.post_version_id = i.post_version_id
        WHERE r.provenance = 'CLIENT_FALLBACK' ON CONFLICT DO NOTHING""",
    ),
)

_VIEWS: Final = (
    _first_wins("refusals", "refused_fact"),
    Write(
        "posts",
        "post",
        """UPDATE post p SET view_count = p.view_count + r.view_count,
            unique_view_score = p.unique_view_score + r.unique_view_score,
            last_viewed_at = greatest(p.last_viewed_at, r.last_viewed_at),
            updated_at = greatest(p.updated_at, r.last_viewed_at)
        FROM given r WHERE p.id = r.id""",
    ),
    _first_wins("credits", "post_view_credit"),
    _first_wins("reporters", "version_reporter"),
    Write(
        "reporters",
        "version_reporter",
        """INSERT INTO corroboration_credit (investigation_id, reporter_key, created_at)
        SELECT i.id, r.reporter_key, greatest(v.seen_at, n.created_at)
        FROM given r
        JOIN version_reporter v USING (post_version_id, reporter_key)
        JOIN investigation i USING (post_version_id) JOIN investigation_input n ON n.investigation_id = i.id
        WHERE n.provenance = 'CLIENT_FALLBACK' ON CONFLICT DO NOTHING""",
    ),
    _first_wins("ranges", "version_range"),
    Write(
        "corroborated",
        "post_version",
        """UPDATE post_version v SET corroborated_at = g.corroborated_at
        FROM given g WHERE v.id = g.id AND v.corroborated_at IS NULL""",
    ),
    Write("listable", "investigation_doc", DOCUMENTS),
)

ERRATA: Final = Writer("write_errata", _ERRATA)
VIEWS: Final = Writer("write_views", _VIEWS)
