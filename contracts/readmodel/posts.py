"""Posts, their authors, and the views that decide what is investigated next.

A post's id derives from platform and external id, so its row is found by primary key. `post` has no index on its
counters, so that a view updates the row in place: the order of selection is in `candidate`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, Index, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, boolean, day, key, number, ref, text, timestamp, uuid


def _confirmed_flag() -> Column[bool]:
    """Whether the row's values come from the site itself; if so, readers' observations do not change them."""
    return Column("confirmed", Boolean, nullable=False, server_default=sql("false"))


author: Final = Table(
    "author",
    READMODEL,
    key(),
    text("platform"),
    text("platform_user_id"),
    text("display_name"),
    timestamp("created_at"),
    timestamp("updated_at"),
    _confirmed_flag(),
    timestamp("hidden_at", null=True),
    UniqueConstraint("platform", "platform_user_id"),
    Index(None, "display_name", "id", postgresql_where=sql("confirmed")),
    Index("author_hidden_idx", "id", postgresql_where=sql("hidden_at IS NOT NULL")),
    Index(
        "author_find_idx",
        "display_name",
        postgresql_using="gin",
        postgresql_ops={"display_name": "gin_trgm_ops"},
        postgresql_where=sql("confirmed"),
    ),
    postgresql_with={"fillfactor": 60},
)

post: Final = Table(
    "post",
    READMODEL,
    key(),
    text("platform"),
    text("external_id"),
    text("url"),
    ref("author_id", "author.id", null=True, index=True),
    number("view_count"),
    number("unique_view_score"),
    number("hint_score"),
    timestamp("last_viewed_at", null=True),
    timestamp("created_at"),
    timestamp("updated_at"),
    _confirmed_flag(),
    UniqueConstraint("platform", "external_id"),
    postgresql_with={"fillfactor": 80},
)

post_view_credit: Final = Table(
    "post_view_credit",
    READMODEL,
    ref("post_id", "post.id"),
    text("viewer_key"),
    day("bucket_day"),
    text("ip_range_key"),
    number("weight"),
    timestamp("created_at"),
    PrimaryKeyConstraint("post_id", "viewer_key", "bucket_day"),
    Index(None, "post_id", "bucket_day", "ip_range_key"),
)

candidate: Final = Table(
    "candidate",
    READMODEL,
    ref("post_id", "post.id"),
    text("analysis"),
    uuid("post_version_id"),
    number("score"),
    boolean("word_ok"),
    text("status", null=True),
    timestamp("eligible_at", null=True),
    text("platform"),
    boolean("confirmed"),
    PrimaryKeyConstraint("post_id", "analysis"),
    Index(
        "candidate_next_idx",
        "analysis",
        "platform",
        sql("confirmed DESC"),
        sql("score DESC"),
        "post_id",
        postgresql_include=["post_version_id"],
        postgresql_where=sql("word_ok AND eligible_at IS NOT NULL AND (status IS NULL OR status = 'FAILED')"),
    ),
    comment="One version of each post: the one last seen, of those that its site confirmed if there are any. `status` "
    "NULL: not investigated; `eligible_at`: since when the selector may take it, NULL: under way, over, or vouched for "
    "by too few. FAILED may be taken only if nothing failed but runs that readers paid for",
    postgresql_with={"fillfactor": 80},
)

post_prior: Final = Table(
    "post_prior",
    READMODEL,
    ref("post_id", "post.id"),
    text("analysis"),
    ref("investigation_id", "investigation.id"),
    uuid("post_version_id"),
    timestamp("checked_at"),
    PrimaryKeyConstraint("post_id", "analysis"),
    comment="The newest COMPLETE investigation of a post whose input was SERVER_VERIFIED",
)

forgotten: Final = Table(
    "forgotten",
    READMODEL,
    key("post_id"),
    uuid("erasure_id"),
    text("reason"),
    timestamp("forgotten_at"),
    comment="Posts that somebody had the right to have erased; nothing of them is shown again",
)

_NEWEST_FIRST: Final = (sql("detected_at DESC"), sql("observation_id DESC"), sql("kind DESC"))

integrity_anomaly: Final = Table(
    "integrity_anomaly",
    READMODEL,
    uuid("observation_id"),
    text("kind"),
    uuid("post_id"),
    text("platform"),
    text("external_id"),
    text("observed"),
    text("canonical"),
    timestamp("detected_at"),
    PrimaryKeyConstraint("observation_id", "kind"),
    Index(None, "post_id"),
    Index("integrity_anomaly_newest_idx", *_NEWEST_FIRST),
    Index("integrity_anomaly_platform_idx", "platform", *_NEWEST_FIRST),
    comment="What a reader sent and what the site says differ; it may precede its post, so it refers to none",
)
