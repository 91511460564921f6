"""Ids of audits derive from what they name; a job's id has one form on the wire."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.jobs.ids import format_job_id, parse_job_id
from contracts.v1.ids import (
    analysis_run_id,
    assertion_id,
    idempotency_id,
    memo_id,
    period_id,
    sent_memo_id,
    step_run_id,
)

A, B = UUID(int=1), UUID(int=2)
HASHES = ("a" * 64, "b" * 64)


@given(st.uuids(), st.uuids())
def test_a_ulid_is_the_same_number_in_the_same_order(one: UUID, other: UUID) -> None:
    assert parse_job_id(format_job_id(one)) == one
    assert (format_job_id(one) < format_job_id(other)) == (one.int < other.int)


@pytest.mark.parametrize(
    ("identifier", "ulid"),
    [
        (UUID(int=0), "0" * 26),
        (UUID(int=2**128 - 1), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
        (UUID("01563e3a-b5d3-d676-4c61-efb99302bd5b"), "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ],
    ids=["least", "greatest", "the specification's"],
)
def test_ulids_are_as_specified(identifier: UUID, ulid: str) -> None:
    assert (format_job_id(identifier), parse_job_id(ulid)) == (ulid, identifier)


@pytest.mark.parametrize(
    "text",
    ["", "0" * 25, "0" * 27, "8" + "0" * 25, "I" + "0" * 25, "0" * 25 + "U", "٠" * 26],
)
def test_anything_else_is_no_job_id(text: str) -> None:
    assert parse_job_id(text) is None


def test_whatever_differs_has_another_id() -> None:
    ids = {
        assertion_id("v1norm1", "en", *HASHES),
        assertion_id("v1norm1-2016", "en", *HASHES),
        assertion_id("v1norm1", "de", *HASHES),
        assertion_id("v1norm1", "en", *reversed(HASHES)),
        assertion_id("v1norm1", "en", HASHES[0], HASHES[0]),
        analysis_run_id(A, 0),
        analysis_run_id(A, 1),
        analysis_run_id(B, 0),
        step_run_id(A, "CLAIM_AUDIT/extract"),
        step_run_id(A, "CLAIM_AUDIT/assess"),
        period_id(A, "2026-12"),
        period_id(A, "2027-01"),
        period_id(B, "2026-12"),
        idempotency_id(A, "key"),
        idempotency_id(A, "Key"),
        idempotency_id(B, "key"),
        memo_id(A, *HASHES, "p-1"),
        memo_id(A, *HASHES, "p-2"),
        memo_id(B, *HASHES, "p-1"),
        sent_memo_id(A, "text", "p-1"),
        sent_memo_id(A, "text", "p-2"),
        sent_memo_id(A, "Text", "p-1"),
        sent_memo_id(B, "text", "p-1"),
    }
    assert len(ids) == 23


def test_ids_in_the_log_never_change() -> None:
    assert str(assertion_id("v1norm1", "en", *HASHES)) == "964c34f2-b659-5938-9180-2c91c6f31e36"
    assert str(analysis_run_id(A, 7)) == "5049400f-bf34-593d-814f-5f75281a2bfd"
    assert str(step_run_id(A, "CLAIM_AUDIT/extract")) == "7764cf82-e02b-5a3d-81b8-055a6e758efc"
    assert str(period_id(A, "2026-12")) == "2cda741f-fba6-56d6-981c-576b5c7be711"
    assert str(idempotency_id(A, "key")) == "5e133b6d-f1c6-5a9c-b2f2-c8c25d6eacc6"
    assert str(memo_id(A, *HASHES, "p-1")) == "33393185-75cc-54ef-b9dd-20455d5e8367"
