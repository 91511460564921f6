"""What a crowded projector hurries for."""

from __future__ import annotations

import pytest

from contracts.v1 import (
    ClaimApproved,
    EntityErasureOrdered,
    ErasureOrdered,
    Event,
    InvestigationCompleted,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from services.projector.adapters import AWAITED_PREFIXES


@pytest.mark.parametrize(
    "event", [VersionRegistered, VersionSeen, VersionVerified, ErasureOrdered, EntityErasureOrdered]
)
def test_somebody_waits_for_observations_and_erasures(event: type[Event]) -> None:
    assert f"{event.SUBJECT}.x".startswith(AWAITED_PREFIXES)


@pytest.mark.parametrize("event", [ClaimApproved, InvestigationCompleted])
def test_nobody_waits_for_what_is_found(event: type[Event]) -> None:
    assert not f"{event.SUBJECT}.x".startswith(AWAITED_PREFIXES)
