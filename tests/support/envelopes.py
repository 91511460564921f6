"""Events as the log stores them."""

from __future__ import annotations

from contracts.v1 import Envelope, encode_parts


def encode(envelope: Envelope) -> bytes:
    """Encode an envelope as compact JSON without fields that are None."""
    return encode_parts(
        envelope.event, envelope.id, envelope.occurred_at, envelope.correlation, envelope.cause, envelope.salt
    )
