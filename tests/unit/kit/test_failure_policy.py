"""What an exception of a delivery means, and how long an outage is waited out."""

from __future__ import annotations

import nats.errors
import pytest

from contracts.v1 import Undecodable
from kit.blobs import BlobsUnavailable
from kit.errors import Outage, Reject, Retry, Superseded
from kit.failure_policy import (
    MAX_OUTAGE_DELIVERIES,
    OUTAGE_RETRY_MAX_S,
    AttemptsExhausted,
    Outcome,
    classify,
    outage_delay_s,
)
from kit.lease import LeaseLost
from kit.publisher import BusError, PublishConflict, PublishRefused


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (LeaseLost(), "lost"),
        (Reject("erased", dead_letter=False), "refused"),
        (Reject("nonsense"), "dead"),
        (AttemptsExhausted("too often"), "dead"),
        (Undecodable("bytes"), "dead"),
        (Superseded("a later delivery"), "stale"),
        (PublishConflict("another fact follows"), "stale"),
        (BusError("no leader"), "outage"),
        (Outage(1.0, "a site"), "outage"),
        (BlobsUnavailable("silent"), "outage"),
        (nats.errors.TimeoutError(), "outage"),
        (Retry(5.0, "not yet"), "retry"),
        (PublishRefused("too large"), "error"),
        (ZeroDivisionError(), "error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_exception_has_one_meaning(error: Exception, outcome: Outcome) -> None:
    assert classify(error, delivery_count=1) == outcome


@pytest.mark.parametrize(("error", "outcome"), [(Outage(1.0, "a site"), "retry"), (BusError("no leader"), "error")])
def test_a_message_with_too_many_outages_is_suspected_itself(error: Exception, outcome: Outcome) -> None:
    assert classify(error, MAX_OUTAGE_DELIVERIES - 1) == "outage"
    assert classify(error, MAX_OUTAGE_DELIVERIES) == outcome


def test_outages_are_retried_with_backoff() -> None:
    assert [outage_delay_s(BusError("no leader"), count) for count in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert outage_delay_s(Outage(5.0, "a site"), 2) == 10.0
    assert outage_delay_s(BusError("no leader"), 5_000) == OUTAGE_RETRY_MAX_S
