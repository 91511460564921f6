"""Column kinds and the three schemas.

Tables of the read model name no schema: the connection's search path does, so that a rebuild can fill a second copy and
swap it with the first. If a schema were named here, the rebuild would write to the live tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

SEARCH_PATH: Final = "readmodel,ledger,operator"

_NAMES: Final = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_name)s_fkey",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "ck": "%(table_name)s_%(constraint_name)s_check",
}

READMODEL: Final = MetaData(naming_convention=_NAMES)
LEDGER: Final = MetaData(schema="ledger", naming_convention=_NAMES)
OPERATOR: Final = MetaData(schema="operator", naming_convention=_NAMES)


def key(name: str = "id") -> Column[UUID]:
    """The primary key, a uuid."""
    return Column(name, Uuid, primary_key=True)


def text(name: str, *, null: bool = False, primary_key: bool = False) -> Column[str]:
    """A string of any length."""
    return Column(name, Text, nullable=null, primary_key=primary_key)


def number(name: str, *, null: bool = False, primary_key: bool = False) -> Column[int]:
    """A 32-bit integer without a database sequence."""
    return Column(name, Integer, nullable=null, primary_key=primary_key, autoincrement=False)


def sequence(name: str = "sequence", *, null: bool = False) -> Column[int]:
    """A message's place in its stream."""
    return Column(name, BigInteger, nullable=null)


def money(name: str, *, null: bool = False) -> Column[int]:
    """An amount in millionths of a US dollar."""
    return Column(name, BigInteger, nullable=null)


def real(name: str, *, null: bool = False) -> Column[float]:
    """A number in double precision."""
    return Column(name, Double, nullable=null)


def boolean(name: str, *, null: bool = False) -> Column[bool]:
    """A boolean."""
    return Column(name, Boolean, nullable=null)


def day(name: str, *, null: bool = False) -> Column[date]:
    """A calendar day."""
    return Column(name, Date, nullable=null)


def texts(name: str, *, null: bool = False) -> Column[list[str]]:
    """A list of strings."""
    return Column(name, ARRAY(Text), nullable=null)


def timestamp(name: str, *, null: bool = False) -> Column[datetime]:
    """A point in time that an event states, never the database's clock."""
    return Column(name, DateTime(timezone=True), nullable=null)


def document(name: str, *, null: bool = False) -> Column[JsonValue]:
    """A JSON document."""
    return Column(name, JSONB, nullable=null)


def uuid(name: str, *, null: bool = False) -> Column[UUID]:
    """A uuid without a foreign key."""
    return Column(name, Uuid, nullable=null)


def ref(
    name: str,
    target: str,
    *,
    null: bool = False,
    primary_key: bool = False,
    cascade: bool = False,
    index: bool | None = None,
) -> Column[object]:
    """A foreign key. `cascade`: the row is deleted with the one it refers to."""
    rule = ForeignKey(target, ondelete="CASCADE" if cascade else None)
    return Column(name, rule, nullable=null, primary_key=primary_key, index=index)


def one_of(column: str, values: Sequence[str]) -> CheckConstraint:
    """Limit a text column to a set of strings; unlike with an enum, widening the set rewrites no rows."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})", name=column)
