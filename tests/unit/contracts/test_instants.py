"""Moments have one form on the wire, whatever their year."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from contracts.rpc.values import InstantText, wire_instant


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 3, 4, 5, 6, 7, 8999, tzinfo=UTC), "2026-03-04T05:06:07.008Z"),
        (datetime(999, 1, 1, tzinfo=UTC), "0999-01-01T00:00:00.000Z"),
    ],
)
def test_the_form(moment: datetime, text: str) -> None:
    assert wire_instant(moment) == text


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_written_is_read_unchanged(moment: datetime) -> None:
    text = wire_instant(moment)
    assert TypeAdapter(InstantText).validate_python(text) == text
