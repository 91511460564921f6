"""The name of the model that answered, as results and receipts state it."""

from __future__ import annotations

import pytest

from contracts.v1.parts import ModelName


@pytest.mark.parametrize(
    ("model", "version", "stated"),
    [
        ("gpt-5.4", None, "gpt-5.4"),
        ("gpt-5.4", "gpt-5.4-2026-03-05", "gpt-5.4-2026-03-05"),
        ("claude-sonnet-5-5", "claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("demo-catalogue", "3f2a91c0", "demo-catalogue@3f2a91c0"),
    ],
)
def test_a_version_is_stated_with_its_model(model: str, version: str | None, stated: str) -> None:
    assert ModelName(provider="any", model=model, version=version).answered == stated
