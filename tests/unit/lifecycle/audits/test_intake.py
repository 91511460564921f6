"""An idempotency key names one job of an account for a day."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from contracts.v1.ids import idempotency_id
from lifecycle.audits.intake import KEY_LIFETIME, NewRequest, OtherBody, Repetition, look_up_key
from tests.support.audits import ACCOUNT, bound, hash_of
from tests.support.factories import NOW

JOB = UUID(int=1)
SECOND = timedelta(seconds=1)


def test_a_key_that_was_never_bound_is_free() -> None:
    assert look_up_key(None, 0, hash_of("body"), NOW) == NewRequest(0)


@pytest.mark.requirement("FH-33")
def test_the_same_key_with_another_body_is_a_mistake() -> None:
    """FH-33: The same key with another body (SHA-256 of canonical JSON, RFC 8785) is 409 `VALIDATION_ERROR`

    FH-33: The same key with another body is 409.
    """
    assert look_up_key(bound(JOB), 7, hash_of("body"), NOW) == Repetition(JOB)
    assert look_up_key(bound(JOB), 7, hash_of("another"), NOW) == OtherBody()


@pytest.mark.requirement("FH-34")
@pytest.mark.parametrize("body", ["body", "another"])
def test_after_a_day_a_key_is_free_and_its_binding_follows_the_old_one(body: str) -> None:
    """FH-34: After 24 h the key is free again

    FH-34: After 24 hours the key is free again.
    """
    assert timedelta(hours=24) == KEY_LIFETIME
    old = bound(JOB)
    assert look_up_key(old, 7, hash_of(body), NOW + KEY_LIFETIME - SECOND) != NewRequest(7)
    assert look_up_key(old, 7, hash_of(body), NOW + KEY_LIFETIME) == NewRequest(7)
    assert bound(UUID(int=2), follows=7).event_id() != old.event_id()


@pytest.mark.requirement("FH-31")
def test_a_key_is_one_accounts() -> None:
    """FH-31: `Idempotency-Key` or `client.request_id` names a retry; the header wins; scope is the account

    FH-31: A key in a header or the request id names a retry, per account.
    """
    assert idempotency_id(ACCOUNT, "key") != idempotency_id(UUID(int=5), "key")
