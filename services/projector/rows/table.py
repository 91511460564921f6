"""Tables as the projector sees them: the rows it has loaded, and what a batch of facts changes in them.

A field of a row is named as its column. A batch loads the rows that its facts are about, folds the facts over them, and
writes new and changed rows. Writers of a table hold the stream's lock, so nothing changes in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, dataclass_transform
from uuid import UUID

if TYPE_CHECKING:
    from dataclasses import Field


class Row(Protocol):
    """A dataclass whose fields are columns."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # as the standard library types it


R = TypeVar("R", bound=Row)
C = TypeVar("C")


@dataclass_transform(frozen_default=True)
def row(class_: type[C]) -> type[C]:
    """Declare a row that the type checker treats as immutable.

    A frozen dataclass with slots would take four times as long to create and twice as long to write as JSON.
    """
    return dataclass(class_)


@dataclass(frozen=True, slots=True, eq=False)
class Table(Generic[R]):
    """A table, and how a row that it has already is updated.

    Shapes: `changes` are the columns that an update sets. Without any, rows are written once and the first one stands;
    such a table need not be loaded.
    """

    name: str
    row: type[R]
    key: tuple[str, ...]
    changes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a row has, in its order."""
        return tuple(field.name for field in fields(self.row))

    @property
    def key_of(self) -> Callable[[R], Hashable]:
        """The key of a row: of one column its value, of several a tuple."""
        return attrgetter(*self.key)

    def by(self, *columns: str) -> Lookup:
        """A lookup of rows by these columns; by default the key."""
        return _lookup(self, columns or self.key)


AnyTable = Table[Any]  # a table of any row: `Table` is invariant


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """A query for a table's rows by the values of these columns. Equal lookups are the same object."""

    table: AnyTable
    columns: tuple[str, ...]


@cache
def _lookup(table: AnyTable, columns: tuple[str, ...]) -> Lookup:
    return Lookup(table, columns)


def columns_but(row: type[Row], *kept: str) -> tuple[str, ...]:
    """The columns of a row, without those that never change."""
    return tuple(field.name for field in fields(row) if field.name not in kept)


RowKey = tuple[Lookup, Hashable]
"""A lookup and its value: of one column a plain value, of several a tuple."""


class Rows(Generic[R]):
    """The rows of one table: as they were loaded, and as they are now."""

    __slots__ = ("_key_of", "_loaded", "_now", "_removed")

    def __init__(self, table: Table[R], loaded: Iterable[R] = ()) -> None:
        self._key_of = table.key_of
        self._loaded = {self._key_of(row): row for row in loaded}
        self._now: dict[Hashable, R] = {}
        self._removed: dict[Hashable, R] = {}

    def get(self, key: Hashable) -> R | None:
        """The row as it is now."""
        row = self._now.get(key)
        return self._loaded.get(key) if row is None else row

    def edit(self, key: Hashable) -> R | None:
        """The row as it is now, to be changed in place; what was loaded stays as it was."""
        row = self._now.get(key)
        if row is None and (loaded := self._loaded.get(key)) is not None:
            row = self._now[key] = copy(loaded)
        return row

    def put(self, row: R) -> None:
        """Write a row in the place of the one with its key, if there is one."""
        key = self._key_of(row)
        if self._removed and (removed := self._removed.pop(key, None)) is not None:
            self._loaded[key] = removed
        self._now[key] = row

    def add(self, row: R) -> None:
        """Write a row; the first one of its key stands."""
        key = self._key_of(row)
        if key not in self._loaded and key not in self._removed:
            self._now.setdefault(key, row)

    def remove(self, key: Hashable) -> None:
        """Delete a row, if there is one."""
        self._now.pop(key, None)
        if (row := self._loaded.pop(key, None)) is not None:
            self._removed[key] = row

    @property
    def current(self) -> list[R]:
        """All rows as they are now."""
        return list((self._loaded | self._now).values())

    @property
    def written(self) -> Collection[R]:
        """The rows that the batch put or added."""
        return self._now.values()

    @property
    def new(self) -> list[R]:
        """The written rows that the table did not have."""
        return (
            [row for key, row in self._now.items() if key not in self._loaded]
            if self._loaded
            else [*self._now.values()]
        )

    @property
    def changed(self) -> list[R]:
        """The written rows that differ from the loaded ones."""
        return [row for key, row in self._now.items() if key in self._loaded and row != self._loaded[key]]

    @property
    def removed(self) -> Collection[R]:
        """The loaded rows to delete."""
        return self._removed.values()


class Tables:
    """The rows that a batch is about.

    Shapes: `listable` are versions whose results may have become part of the public record, in the log's order.
    """

    __slots__ = ("_rows", "listable")

    def __init__(self, loaded: Mapping[AnyTable, Iterable[Row]] | None = None) -> None:
        # The row of each value is that of its key, which a dictionary type cannot express.
        self._rows: dict[AnyTable, Rows[Any]] = {table: Rows(table, rows) for table, rows in (loaded or {}).items()}
        self.listable: dict[UUID, None] = {}

    def __getitem__(self, table: Table[R]) -> Rows[R]:
        rows = self._rows.get(table)
        if rows is None:
            rows = self._rows[table] = Rows(table)
        return rows
