"""The exported tables: every column with its kind, meaning and source. docs/export.md is generated from this list.

Only the public record is exported: finished investigations of texts that their site or enough readers confirm, and what
they are about. Posts without an investigation would reveal what readers read.
"""

from __future__ import annotations

from typing import Final

from platforms import PLATFORMS
from services.commands.export.columns import LISTED, Column, ExportedTable
from services.commands.export.log_tables import LOG_TABLES

_STANDS: Final = "NOT EXISTS (SELECT FROM finding_state f WHERE f.claim_id = c.id AND f.state <> 'RELEASED')"
_SITES: Final = ", ".join(sorted(f"`{site.name}`" for site in PLATFORMS))

TABLES: Final = (
    ExportedTable(
        "posts",
        "Posts of which at least one version was investigated to the end",
        ("id",),
        f"FROM post p WHERE EXISTS (SELECT FROM {LISTED} WHERE d.post_id = p.id)",
        (
            Column("id", "id", "derives from platform and external id", "p.id"),
            Column("platform", "text", f"{_SITES}; more may come", "p.platform"),
            Column("external_id", "text", "the platform's own id", "p.external_id"),
            Column("url", "text", "where it was seen last", "p.url"),
            Column(
                "author_id",
                "id",
                "of `authors`; as the site says, and missing where only readers name one",
                "CASE WHEN p.confirmed THEN p.author_id END",
                null=True,
            ),
            Column("view_count", "number", "views by readers of the extension", "p.view_count"),
            Column("unique_view_score", "number", "views as they count for selection", "p.unique_view_score"),
            Column("first_seen_at", "time", "", "p.created_at"),
        ),
    ),
    ExportedTable(
        "versions",
        "All versions of these posts that the site or enough readers vouch for",
        ("id",),
        "FROM post_version v JOIN content_blob b USING (content_hash) "
        "LEFT JOIN version_heading h ON h.post_version_id = v.id "
        f"WHERE EXISTS (SELECT FROM {LISTED} WHERE d.post_id = v.post_id) "
        "AND (v.server_verified_at IS NOT NULL OR v.corroborated_at IS NOT NULL)",
        (
            Column("id", "id", "derives from post and version hash", "v.id"),
            Column("post_id", "id", "of `posts`", "v.post_id"),
            Column("version_hash", "text", "over normalised text and pictures", "v.version_hash"),
            Column("content_hash", "text", "SHA-256 of `text` in UTF-8, hexadecimal", "v.content_hash"),
            Column("title", "text", "as it was first seen", "h.title", null=True),
            Column("text", "text", "the normalised text", "b.content_text"),
            Column("word_count", "number", "words of the text", "b.word_count"),
            Column("server_verified_at", "time", "when the site confirmed it", "v.server_verified_at", null=True),
            Column("corroborated_at", "time", "when enough readers had seen it", "v.corroborated_at", null=True),
            Column("first_seen_at", "time", "", "v.first_seen_at"),
            Column("last_seen_at", "time", "", "v.last_seen_at"),
            Column("seen_count", "number", "observations of it", "v.seen_count"),
        ),
    ),
    ExportedTable(
        "investigations",
        "Finished investigations of texts that the site or enough readers vouch for, also those that found nothing",
        ("id",),
        f"FROM {LISTED} JOIN investigation i ON i.id = d.investigation_id "
        "JOIN investigation_input n ON n.investigation_id = i.id JOIN prompt q ON q.hash = i.prompt_hash",
        (
            Column("id", "id", "derives from version, analysis and origin", "i.id"),
            Column("version_id", "id", "of `versions`", "i.post_version_id"),
            Column("post_id", "id", "of `posts`", "d.post_id"),
            Column("platform", "text", "of the post", "d.platform"),
            Column("author_id", "id", "of `authors`, as the site says", "d.author_id", null=True),
            Column("analysis", "text", "what was looked for, e.g. `FACT_CHECK`", "i.analysis"),
            Column("provenance", "text", "`SERVER_VERIFIED` or `CLIENT_FALLBACK`", "n.provenance"),
            Column("claim_count", "number", "published findings, 0 for none", "d.claim_count"),
            Column(
                "corroboration_count",
                "number",
                "trusted readers who saw the same text",
                "(SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = i.id)",
            ),
            Column("requested_at", "time", "", "i.queued_at"),
            Column("checked_at", "time", "when it was finished", "i.checked_at"),
            Column("attempt_count", "number", "attempts it took", "i.attempt_count"),
            Column("prompt_version", "text", "", "q.version"),
            Column("provider", "text", "of the model", "i.provider"),
            Column("model", "text", "that was asked for", "i.model"),
            Column("model_version", "text", "that answered", "i.model_version", null=True),
            Column("parent_id", "id", "the investigation it updates", "i.parent_investigation_id", null=True),
        ),
    ),
    ExportedTable(
        "claims",
        "Published findings that stand",
        ("id",),
        f"FROM claim c JOIN {LISTED} USING (investigation_id) WHERE {_STANDS}",
        (
            Column("id", "id", "derives from investigation, text and context", "c.id"),
            Column("investigation_id", "id", "of `investigations`", "c.investigation_id"),
            Column("ordinal", "number", "place among the investigation's findings, from 0", "c.ordinal"),
            Column("text", "text", "the wrong sentence, verbatim", "c.text"),
            Column("context", "text", "the words around it, verbatim", "c.context"),
            Column("summary", "text", "the correction", "c.summary"),
            Column("reasoning", "text", "why, in Markdown", "c.reasoning"),
        ),
    ),
    ExportedTable(
        "sources",
        "Public pages that contradict a finding's sentence",
        ("claim_id", "ordinal"),
        f"FROM source s JOIN claim c ON c.id = s.claim_id JOIN {LISTED} USING (investigation_id) "  # noqa: S608 (our words)
        "LEFT JOIN LATERAL ("
        "SELECT * FROM source_check k WHERE k.claim_id = s.claim_id AND k.url = s.url ORDER BY k.round DESC LIMIT 1"
        f") k ON true WHERE {_STANDS}",
        (
            Column("claim_id", "id", "of `claims`", "s.claim_id"),
            Column("ordinal", "number", "place among the finding's sources, from 0", "s.ordinal"),
            Column("url", "text", "", "s.url"),
            Column("title", "text", "", "s.title"),
            Column("snippet", "text", "the words that contradict", "s.snippet"),
            Column("snapshot_hash", "text", "SHA-256 of the snippet as it was kept", "s.snapshot_hash", null=True),
            Column("retrieved_at", "time", "", "s.retrieved_at"),
            Column(
                "check_status",
                "text",
                "of the page when it was looked at: `found`, `missing`, `unavailable`, `unchecked`",
                "k.status",
                null=True,
            ),
            Column(
                "copy_hash", "text", "SHA-256 of the page as it came; `/sources/<copy_hash>`", "k.page_hash", null=True
            ),
            Column("copy_fetched_at", "time", "", "k.fetched_at", null=True),
        ),
    ),
    ExportedTable(
        "withdrawn_claims",
        "Findings that were published and are suspended or retracted now; nothing else about them is exported",
        ("claim_id",),
        f"FROM finding_state f JOIN {LISTED} USING (investigation_id) WHERE f.state <> 'RELEASED'",
        (
            Column("claim_id", "id", "as it was in `claims`", "f.claim_id"),
            Column("investigation_id", "id", "of `investigations`", "f.investigation_id"),
            Column("state", "text", "`SUSPENDED`: for now; `RETRACTED`: for good", "f.state"),
            Column("cause", "text", "what led to it, e.g. `OPERATOR`", "f.cause"),
            Column("note", "text", "why, in a sentence for readers", "f.note"),
            Column("changed_at", "time", "", "f.changed_at"),
        ),
    ),
    ExportedTable(
        "review_samples",
        "Draws of published findings for review by people outside",
        ("id",),
        "FROM review_sample s",
        (
            Column("id", "id", "derives from seed, days and size", "s.id"),
            Column("seed", "text", "what was hashed with each finding's id", "s.seed"),
            Column("first_day", "text", "in UTC; of `checked_at` of `investigations`", "s.first_day::text"),
            Column("last_day", "text", "in UTC", "s.last_day::text"),
            Column("size", "number", "how many were wanted", "s.size"),
            Column("drawn_from", "number", "findings that were published in these days", "s.drawn_from"),
            Column("drawn", "number", "how many were drawn; those that are missing were erased", "s.drawn"),
            Column("drawn_at", "time", "", "s.drawn_at"),
        ),
    ),
    ExportedTable(
        "sampled_claims",
        "Findings that were drawn",
        ("sample_id", "claim_id"),
        "FROM review_sample_claim s",
        (
            Column("sample_id", "id", "of `review_samples`", "s.sample_id"),
            Column("claim_id", "id", "of `claims`", "s.claim_id"),
            Column("place", "number", "among the drawn, by SHA-256 of seed, line feed and id, from 0", "s.place"),
        ),
    ),
    ExportedTable(
        "reviews",
        "What reviewers from outside said last of a finding",
        ("claim_id", "reviewer"),
        "FROM review r",
        (
            Column("claim_id", "id", "of `claims`", "r.claim_id"),
            Column("reviewer", "text", "the public name", "r.reviewer"),
            Column("sample_id", "id", "of `review_samples`", "r.sample_id"),
            Column("verdict", "text", "`RIGHT`, `PARTLY` or `WRONG`; of several the worst counts", "r.verdict"),
            Column("decided_on", "text", "a day in UTC", "r.decided_on::text"),
        ),
    ),
    *LOG_TABLES,
    ExportedTable(
        "authors",
        "Who wrote these posts, where the site says so; one identity on one platform, never merged across platforms",
        ("id",),
        f"FROM author a WHERE a.id IN (SELECT d.author_id FROM {LISTED} UNION SELECT p.author_id FROM post p "  # noqa: S608 (our words)
        f"WHERE p.confirmed AND EXISTS (SELECT FROM {LISTED} WHERE d.post_id = p.id))",
        (
            Column("id", "id", "derives from platform and the platform's id", "a.id"),
            Column("platform", "text", "", "a.platform"),
            Column("platform_user_id", "text", "the platform's own id", "a.platform_user_id"),
            Column("display_name", "text", "as it was seen last", "a.display_name"),
        ),
    ),
)
