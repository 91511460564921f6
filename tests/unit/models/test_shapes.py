"""What a compatible server sends instead of what its protocol documents is an answer that cannot be read."""

from __future__ import annotations

import pytest

from kit.models import anthropic_assembly
from kit.models.events import BadEvent


@pytest.mark.parametrize("block", ["text", ["text"], 1, None])
def test_a_block_of_another_shape_cannot_be_read(block: object) -> None:
    assembly = anthropic_assembly.Assembly()
    with pytest.raises(BadEvent):
        assembly.feed({"type": "content_block_start", "index": 0, "content_block": block})
