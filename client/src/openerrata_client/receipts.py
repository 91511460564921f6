"""Receipts: whether a result is what the server signed. Source: RFC 7515, RFC 8037, RFC 8785."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

import jwt
import rfc8785
from pydantic import Field, JsonValue

from openerrata_client.documents import Answer, OpenErrataError
from openerrata_client.types import CacheOnlyResult, FullResult, PublicKeys


class ReceiptError(OpenErrataError):
    """The result is not what was signed, or none of these keys signed it."""


class ReceiptPrompt(Answer):
    """The instructions of a stage."""

    stage: str
    version: str
    sha256: str


class ReceiptModel(Answer):
    """The model of a call."""

    stage: str
    provider: str
    model: str


class ReceiptClaim(Answer):
    """What was concluded of a claim."""

    claim_hash: str
    analysis_id: str
    label: str
    confidence: float


class Receipt(Answer):
    """What the server signed: which text, by which prompts and models, with which outcome."""

    issuer: str = Field(alias="iss")
    job_id: str = Field(alias="jti")
    issued_at: datetime = Field(alias="iat")
    content_sha256: str
    result_sha256: str
    normalisation: str
    rules: str
    prompts: tuple[ReceiptPrompt, ...]
    models: tuple[ReceiptModel, ...]
    claims: tuple[ReceiptClaim, ...]


def verify_receipt(result: FullResult | CacheOnlyResult | Mapping[str, JsonValue], keys: PublicKeys) -> Receipt:
    """Verify the receipt of a result, as the client read it or as JSON. `keys`: `client.receipt_keys()`.

    Raises: ReceiptError.
    """
    received = result if isinstance(result, Mapping) else result.received
    token = received.get("receipt")
    if not isinstance(token, str):
        raise ReceiptError("The result has no receipt.")
    try:
        receipt = Receipt.model_validate(_decode(token, keys))
    except ValueError as error:
        raise ReceiptError(f"The receipt is signed, and cannot be read: {error}") from None
    if _hash({name: value for name, value in received.items() if name != "receipt"}) != receipt.result_sha256:
        raise ReceiptError("The result was changed after it was signed.")
    if received.get("job_id") != receipt.job_id:
        raise ReceiptError("The receipt is that of another job.")
    return receipt


def _hash(result: Mapping[str, JsonValue]) -> str | None:
    """The hash of a result; None if it has no canonical form, so that it cannot have been signed."""
    try:
        return sha256(rfc8785.dumps(dict(result))).hexdigest()
    except ValueError:
        return None


def _decode(token: str, keys: PublicKeys) -> Mapping[str, Any]:  # claims of a JWT are untyped JSON
    try:
        kid = jwt.get_unverified_header(token).get("kid")
        key = next((each for each in keys.keys if each.kid == kid), None)
        if key is None:
            raise ReceiptError("The receipt is signed with a key that the server does not list.")
        found: Mapping[str, Any] = jwt.decode(
            token,
            jwt.PyJWK(key.model_dump()),
            ["EdDSA"],
            # a slow clock does not make a receipt invalid
            {"verify_aud": False, "verify_iat": False, "require": ["iss", "jti", "iat"]},
        )
    except jwt.PyJWTError as error:
        raise ReceiptError(f"The receipt is not signed by the server: {error}") from None
    return found
