"""The operator's own tables: accounts, and the instance keys of accounts and of readers without an account.

These rows come from no fact. Their unique keys are the only decisions that PostgreSQL makes.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy import text as sql

from contracts.accounts import RIGHTS, ROLES, TIERS, WITHOUT_ACCOUNT
from contracts.readmodel.columns import OPERATOR, key, one_of, text, timestamp

account: Final = Table(
    "account",
    OPERATOR,
    key(),
    text("username"),
    text("email", null=True),
    text("role"),
    text("tier"),
    Column(
        "credit_limit_micro_usd", BigInteger, nullable=True, comment="A month's credit by contract; NULL: the tier's"
    ),
    Column(
        "webhook_secrets",
        ARRAY(LargeBinary),
        nullable=False,
        server_default=sql("'{}'"),
        comment="Sealed with the master key for the id of the account, newest first; two while they are rotated",
    ),
    Column(
        "has_webhook_secret",
        Boolean,
        Computed("cardinality(webhook_secrets) > 0", persisted=True),
        nullable=False,
        comment="What services that send no webhooks may know of the secrets",
    ),
    timestamp("created_at"),
    timestamp("closed_at", null=True),
    UniqueConstraint("username"),
    UniqueConstraint("email"),
    one_of("role", ROLES),
    one_of("tier", tuple(TIERS)),
    CheckConstraint("credit_limit_micro_usd >= 0", name="credit_limit_micro_usd"),
    CheckConstraint("cardinality(webhook_secrets) <= 2", name="webhook_secrets"),
)

_RIGHTS: Final = ", ".join(repr(right) for right in RIGHTS)

instance_api_key: Final = Table(
    "instance_api_key",
    OPERATOR,
    key(),
    text("name"),
    text("key_hash"),
    timestamp("revoked_at", null=True),
    timestamp("created_at"),
    timestamp("updated_at"),
    Column("account_id", Uuid, ForeignKey("operator.account.id", ondelete="CASCADE"), nullable=True, index=True),
    Column("rights", ARRAY(Text), nullable=False, server_default=sql(f"'{{{','.join(WITHOUT_ACCOUNT)}}}'")),
    UniqueConstraint("key_hash"),
    CheckConstraint(f"cardinality(rights) > 0 AND rights <@ ARRAY[{_RIGHTS}]", name="rights"),
    CheckConstraint("account_id IS NOT NULL OR NOT 'audit' = ANY (rights)", name="account"),
)
