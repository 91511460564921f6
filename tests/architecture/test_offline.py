"""All that is tested works without network: no model, site, witness or index is asked, whoever's key is set."""

from __future__ import annotations

import errno
import os
import socket

import pytest

ELSEWHERE = ("198.51.100.1", 9)
"""An address of documentation (RFC 5737). Connecting a datagram socket sends nothing; it only looks for a route."""


@pytest.mark.requirement("TR-51")
@pytest.mark.skipif("WITHOUT_NETWORK" not in os.environ, reason="`make test` takes the network away, as root")
def test_no_test_can_reach_anything_outside() -> None:
    """TR-51: All tests pass without a model, a network and a witness from outside."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked, pytest.raises(OSError) as refused:
        asked.connect(ELSEWHERE)
    assert refused.value.errno == errno.ENETUNREACH
