"""Column kinds and the three schemas.

Tables of the read model name no schema: the connection's search path does, so that a rebuild can fill a second copy and
change places with the first. Name a schema here and the rebuild writes into the live tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import CheckConstraint, Column, DateTime, ForeignKey, Integer, MetaData, Text, Uuid
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


def key(name: str = "id") -> Column[Any]:
    """A uuid that identifies the row."""
    return Column(name, Uuid, primary_key=True)


def text(name: str, *, null: bool = False, primary_key: bool = False) -> Column[Any]:
    """A text."""
    return Column(name, Text, nullable=null, primary_key=primary_key)


def number(name: str, *, null: bool = False, primary_key: bool = False) -> Column[Any]:
    """A 32-bit integer; never counted by the database itself."""
    return Column(name, Integer, nullable=null, primary_key=primary_key, autoincrement=False)


def at(name: str, *, null: bool = False) -> Column[Any]:
    """A moment, always one that an event states and never the database's own clock."""
    return Column(name, DateTime(timezone=True), nullable=null)


def document(name: str, *, null: bool = False) -> Column[Any]:
    """A JSON document."""
    return Column(name, JSONB, nullable=null)


def uuid(name: str, *, null: bool = False) -> Column[Any]:
    """A uuid of something that has no row of its own to refer to."""
    return Column(name, Uuid, nullable=null)


def ref(
    name: str, target: str, *, null: bool = False, primary_key: bool = False, cascade: bool = False, **extra: Any
) -> Column[Any]:
    """A reference to another row. `cascade`: the row goes when the other one does."""
    rule = ForeignKey(target, ondelete="CASCADE" if cascade else None)
    return Column(name, rule, nullable=null, primary_key=primary_key, **extra)


def one_of(column: str, values: Sequence[str]) -> CheckConstraint:
    """A closed set, kept as text so that widening it rewrites nothing."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})", name=column)
