"""The public keys for verifying receipts, as they are published. Source: RFC 7517, RFC 8037."""

from __future__ import annotations

from typing import Literal

from contracts.jobs.values import Document


class PublicKey(Document):
    """One key. `x` is the public point; `kid` is the key's thumbprint (RFC 7638)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    use: Literal["sig"]


class PublicKeys(Document):
    """`GET /.well-known/openerrata-receipts.json`. Replaced keys stay listed."""

    keys: tuple[PublicKey, ...]
