"""The investigator over the log in memory."""

from __future__ import annotations

import pytest

from tests.support.factories import VERSION_ID, snapshot
from tests.support.fakes import MemoryLog
from tests.support.investigating import InMemory, Journal
from tests.support.investigating_suite import InvestigatingSuite


class TestInMemory(InvestigatingSuite):
    @pytest.fixture
    def journal(self) -> Journal:
        return InMemory(MemoryLog(versions={VERSION_ID: snapshot()}))
