"""The exported tables of the decision log and of what watches over it: controls, breakers and variants."""

from __future__ import annotations

from typing import Final

from services.commands.export.columns import LISTED, Column, ExportedTable

_LEAF: Final = "convert_from(l.data, 'UTF8')::json"
_ABOUT: Final = (
    "SELECT (convert_from(r.document, 'UTF8')::json ->> 'investigation')::uuid FROM log.opening r "
    "WHERE r.index = l.index AND r.j = 0"
)
_PUBLIC: Final = "'log', 'variant', 'breaker', 'control_committed', 'control_opened'"
"""Leaves about the instance."""
_LISTED: Final = (
    f"({_LEAF} ->> 'k' IN ({_PUBLIC}) OR EXISTS (SELECT FROM {LISTED} WHERE d.investigation_id = ({_ABOUT})))"
)

LOG_TABLES: Final = (
    ExportedTable(
        "leaves",
        "Leaves of the decision log, and whether what they commit to is in `openings`",
        ("leaf",),
        "FROM log.leaf l",
        (
            Column("leaf", "number", "its index in the log", "l.index"),
            Column(
                "standing",
                "text",
                "`OPENED`; `UNLISTED`: about what is not exported; `ERASED`; `EMPTY`: it commits to nothing",
                f"CASE WHEN {_LEAF} -> 'c' IS NULL THEN 'EMPTY' "
                "WHEN NOT EXISTS (SELECT FROM log.opening o WHERE o.index = l.index) THEN 'ERASED' "
                f"WHEN {_LISTED} THEN 'OPENED' ELSE 'UNLISTED' END",
            ),
        ),
    ),
    ExportedTable(
        "openings",
        "What leaves of the decision log commit to, about these investigations and the instance itself",
        ("leaf", "j"),
        f"FROM log.opening o JOIN log.leaf l USING (index) WHERE {_LISTED}",
        (
            Column("leaf", "number", "of `leaves`", "o.index"),
            Column("j", "number", "which of the leaf's commitments, from 0", "o.j"),
            Column("investigation_id", "id", "of `investigations`, if it is about one", f"({_ABOUT})", null=True),
            Column("salt", "text", "base64", "encode(o.salt, 'base64')"),
            Column(
                "document",
                "text",
                "JSON; the commitment is SHA-256 of `openerrata/opening/1`, a line feed, the salt and this",
                "convert_from(o.document, 'UTF8')",
            ),
        ),
    ),
    ExportedTable(
        "control_lists",
        "Lists of posts in which nothing is wrong, by the hash that was published before any of them was checked",
        ("id",),
        "FROM control_batch b",
        (
            Column("id", "id", "", "b.id"),
            Column(
                "commitment",
                "text",
                "SHA-256 over `openerrata/controls/1` and, sorted, a line `<version_id> <salt>` for each post",
                "b.commitment",
            ),
            Column("size", "number", "posts in it", "b.size"),
            Column("committed_at", "time", "", "b.committed_at"),
            Column("closes_at", "time", "no run of the list began later", "b.closes_at"),
            Column("opened_at", "time", "", "b.opened_at", null=True),
        ),
    ),
    ExportedTable(
        "controls",
        "Posts of lists that are open; those that were not checked, or were erased, are missing",
        ("list_id", "version_id"),
        "FROM control_run r WHERE r.outcome IS NOT NULL",
        (
            Column("list_id", "id", "of `control_lists`", "r.batch_id"),
            Column("version_id", "id", "derives from post and version hash", "r.post_version_id"),
            Column("salt", "text", "in the list's hash", "r.salt"),
            Column("outcome", "text", "`CLEAN`, `FLAGGED` or `FAILED`", "r.outcome"),
        ),
    ),
    ExportedTable(
        "breakers",
        "What stops findings from being displayed, as it is now",
        ("scope",),
        "FROM breaker b",
        (
            Column("scope", "text", "`ALL`, `NEW`, or a variant", "b.scope"),
            Column("state", "text", "`OPEN`, `HALF_OPEN` or `CLOSED`", "b.state"),
            Column("triggers", "text", "JSON: [{trigger, numbers, at}] since it opened", "b.triggers::text"),
            Column("cause", "text", "what the cause was, in the words of `by`", "b.cause", null=True),
            Column("by", "text", "who made the newest change, or `curator`", "b.by"),
            Column("changed_at", "time", "", "b.changed_at"),
        ),
    ),
    ExportedTable(
        "variants",
        "Prompts, models, rules and gates that findings came from, and how much of each is displayed",
        ("variant",),
        "FROM variant x",
        (
            Column("variant", "text", "SHA-256 of its parts", "x.variant"),
            Column("parts", "text", "JSON: prompt, provider, model, rules and gates", "x.parts::text"),
            Column("state", "text", "`SHADOW`: nothing is displayed; `LIMITED`: `quota` a day; `FULL`", "x.state"),
            Column("quota", "number", "investigations with findings that are displayed a day", "x.quota", null=True),
            Column("why", "text", "of the newest change", "x.why"),
            Column("announced_at", "time", "", "x.announced_at"),
            Column("changed_at", "time", "", "x.changed_at"),
        ),
    ),
)
