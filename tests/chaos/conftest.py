"""What all disturbances share: a model slow enough to be interrupted, and work of the dead taken over soon."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

import pytest

from tests.support.sites import Sites
from tests.support.system import show_logs

ACK_WAIT_S: Final = "2"
PACE_S: Final = "0.3"
KEY: Final = "oe_the-key-of-this-instance"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    show_logs(report)
    return report


def disturbed(sites: Sites) -> dict[str, str]:
    """The settings of a system that is going to be disturbed."""
    return {
        "OPENERRATA_MODEL": "demo",
        "OPENERRATA_DEMO_PACE_S": PACE_S,
        "OPENERRATA_ACK_WAIT_S": ACK_WAIT_S,
        "OPENERRATA_SELECTOR_RUNS_PER_DAY": "0",
        "OPENERRATA_VERIFIER_WIKIPEDIA_URL": f"{sites.url}/w/api.php",
        "OPENERRATA_VERIFIER_SUBSTACK_URL": sites.url,
        "OPENERRATA_VERIFIER_LESSWRONG_URL": f"{sites.url}/graphql",
        "OPENERRATA_VERIFIER_TIMEOUT_S": "15",
        "OPENERRATA_VERIFIER_DEADLINE_S": "20",
    }
