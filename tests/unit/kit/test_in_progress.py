"""A message counts as in progress as long as this process works on it."""

from __future__ import annotations

from typing import cast

import pytest

from contracts.topology import INVESTIGATOR_INVESTIGATION_REQUESTED
from kit.bus import Bus
from kit.dead_letters import Origin
from kit.in_progress import InProgress

ORIGIN = Origin("ERRATA", 7, "errata.v1.investigation.requested.a")


async def test_work_that_failed_is_not_in_progress_when_its_message_returns() -> None:
    in_progress = InProgress(cast("Bus", None), INVESTIGATOR_INVESTIGATION_REQUESTED)
    with pytest.raises(TimeoutError), in_progress.claim(ORIGIN):
        assert await in_progress.is_claimed(ORIGIN, elsewhere=False)
        raise TimeoutError
    assert not await in_progress.is_claimed(ORIGIN, elsewhere=False)
