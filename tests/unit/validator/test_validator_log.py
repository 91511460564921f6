"""The validator over the log in memory."""

from __future__ import annotations

import pytest

from tests.support.fakes import MemoryLog
from tests.support.judging import InMemory, Journal
from tests.support.judging_suite import JudgingSuite


class TestInMemory(JudgingSuite):
    @pytest.fixture
    def journal(self) -> Journal:
        return InMemory(MemoryLog())
