"""Recorded pages of real sites may lie beside the checkout. They are extra: what tests need is in tests/cases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[2]
RECORDED: Final = Path(os.environ.get("OPENERRATA_VECTORS") or CHECKOUT.parent / "shared" / "vectors")


def recorded(name: str) -> Path:
    """A file of recorded cases; skips the test that asks where there is none."""
    file = RECORDED / f"{name}.json"
    if not file.exists():
        pytest.skip(f"{name} is not recorded here; OPENERRATA_VECTORS names a folder of recorded cases")
    return file
