"""Each fact gets random bytes of its own, which go with its body."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from pydantic import ValidationError

from contracts.v1 import Envelope, decode
from kit.clock import SystemClock
from tests.support.envelopes import encode
from tests.support.factories import NOW, requested

SALT = SystemClock().new_salt()


def envelope(salt: str | None) -> Envelope:
    event = requested()
    return Envelope(id=event.event_id(), occurred_at=NOW, correlation=UUID(int=2), salt=salt, event=event)


@pytest.mark.requirement("TR-1")
def test_it_travels_with_the_fact() -> None:
    """TR-1: Every fact has a salt of its own, erased with its body."""
    body = encode(envelope(SALT))
    assert f'"salt":"{SALT}"'.encode() in body
    assert decode(requested().subject(), body).salt == SALT


def test_facts_of_before_have_none() -> None:
    assert b"salt" not in encode(envelope(None))
    assert decode(requested().subject(), encode(envelope(None))).salt is None


def test_it_is_no_shorter_than_promised() -> None:
    with pytest.raises(ValidationError):
        envelope(SALT[:-1])


@pytest.mark.requirement("TR-1")
def test_no_two_are_the_same() -> None:
    """TR-1: Every fact has a salt of its own, erased with its body."""
    salts = {SystemClock().new_salt() for _ in range(1_000)}
    assert len(salts) == 1_000
    assert all(re.fullmatch(r"[0-9A-Za-z_-]{43}", salt) for salt in salts)
