"""Rows of the projector and tables of the read model are the same."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.readmodel.columns import READMODEL
from services.projector.projections import errata, jobs
from services.projector.rows.claims import PROMPT_NAMES
from services.projector.rows.investigations import PROVENANCES
from services.projector.rows.log import PARKED, REFUSALS
from services.projector.rows.table import Table
from services.projector.rows.views import VIEW_TABLES

WRITTEN = (*errata.TABLES, *jobs.TABLES, *VIEW_TABLES, PARKED, REFUSALS)


@pytest.mark.parametrize("table", [*WRITTEN, PROMPT_NAMES, PROVENANCES], ids=lambda table: table.row.__name__)
def test_a_row_has_columns_of_its_table_and_its_key(table: Table[Any]) -> None:
    columns = READMODEL.tables[table.name].columns
    assert {*table.columns, *table.changes} <= set(columns.keys())
    assert list(table.key) == [column.name for column in READMODEL.tables[table.name].primary_key]


@pytest.mark.parametrize("table", WRITTEN, ids=lambda table: table.row.__name__)
def test_a_new_row_has_every_column_that_its_table_requires(table: Table[Any]) -> None:
    if table in VIEW_TABLES:
        return
    required = {column.name for column in READMODEL.tables[table.name].columns if not column.nullable}
    assert required <= set(table.columns)
