"""How much load the cluster is given: little in `make test`, more on demand."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.system import show_logs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--writers", type=int, default=3, help="readers that ask for runs at the same time")
    parser.addoption("--runs", type=int, default=6, help="runs that are asked for before, during and after each fault")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    show_logs(report)
    return report
