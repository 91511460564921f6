"""Which troubles of a site are worth a second try at once."""

from __future__ import annotations

import pytest

from kit.sources import is_transient


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (503, None, True),
        (429, None, True),
        (404, None, False),
        (403, None, False),
        (None, "connection_failed", True),
        (None, "bad_response", True),
        (None, "timeout", False),
        (None, "blocked_address", False),
        (None, "too_large", False),
    ],
)
def test_what_may_pass_in_a_moment(status: int | None, kind: str | None, expected: bool) -> None:
    assert is_transient(status, kind) is expected
