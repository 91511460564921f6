"""In which order a backup's tables are filled."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, MetaData, Table

from contracts.readmodel.columns import LEDGER, OPERATOR
from kit.dump import order_by_reference


def test_a_table_comes_after_what_it_refers_to_whatever_its_name() -> None:
    schema = MetaData(schema="operator")
    Table("zebra", schema, Column("id", Integer, primary_key=True))
    Table("ape", schema, Column("zebra", ForeignKey("operator.zebra.id")))
    names = ["operator.ape", "operator.gone", "operator.zebra"]
    assert order_by_reference(names, schema) == ["operator.zebra", "operator.ape", "operator.gone"]


def test_our_own_tables_have_a_place() -> None:
    names = {table.fullname for schema in (LEDGER, OPERATOR) for table in schema.sorted_tables}
    order = order_by_reference(names)
    assert set(order) == names
    assert order.index("operator.account") < order.index("operator.instance_api_key")
