"""Receipts: a signature over what was judged, by which prompts and models, and with which result.

A receipt is a compact JWS with Ed25519. Each key is announced in the bucket `receipt-keys` before its first signature
and stays there, so that a receipt can be verified after the key was changed. Source: requirements FH-162, RFC 7515,
RFC 8037.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import rfc8785
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm
from jwt.api_jws import PyJWS
from pydantic import JsonValue, SecretStr

from contracts.jobs.receipts import PublicKey, PublicKeys
from contracts.topology import RECEIPT_KEYS, RECEIPT_KEYS_ENTRY
from kit.bus import Bus
from kit.errors import Outage
from kit.kv import Bucket
from kit.settings import SettingsError
from kit.vault import MasterKey

KEY_FILE: Final = "receipt.key"
_JWS: Final = PyJWS()

log = structlog.get_logger(__name__)


class ReceiptKey:
    """Signs receipts. Ed25519 is deterministic: equal payloads have equal receipts."""

    def __init__(self, secret: bytes) -> None:
        """`secret` has 32 bytes."""
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        point = OKPAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        thumbprint = sha256(rfc8785.dumps({name: point[name] for name in ("crv", "kty", "x")})).digest()
        kid = base64.urlsafe_b64encode(thumbprint).rstrip(b"=").decode()
        self.public: Final = PublicKey(kty="OKP", crv="Ed25519", x=point["x"], kid=kid, use="sig")

    def sign(self, payload: Mapping[str, JsonValue]) -> str:
        """The receipt of this payload."""
        return _JWS.encode(rfc8785.dumps(dict(payload)), self._key, "EdDSA", {"kid": self.public.kid, "typ": None})


def choose_key(given: SecretStr | None, data_folder: Path | None) -> ReceiptKey:
    """The key of the settings, else that of the data folder, else a new one that is lost when this process ends.

    Raises: SettingsError: the given key is invalid.
    """
    if given is not None and given.get_secret_value():
        try:
            return ReceiptKey(MasterKey.parse(given.get_secret_value()).secret)
        except ValueError as error:
            raise SettingsError(f"OPENERRATA_AUDITOR_RECEIPT_KEY: {error}") from None
    if data_folder is not None:
        return ReceiptKey(MasterKey.of_file(data_folder / KEY_FILE).secret)
    log.warning("OPENERRATA_AUDITOR_RECEIPT_KEY is not set: receipts are signed with a key of this process only")
    return ReceiptKey(MasterKey.generate().secret)


async def announce_key(bus: Bus, key: ReceiptKey) -> None:
    """Add a key to the public list for verifying. Raises: BusError; Outage: other processes keep adding theirs."""
    bucket = await Bucket.open(bus, RECEIPT_KEYS)
    for _ in range(10):
        entry = await bucket.entry(RECEIPT_KEYS_ENTRY)
        known = PublicKeys.model_validate_json(entry.value).keys if entry is not None else ()
        if key.public in known:
            return
        value = PublicKeys(keys=(*known, key.public)).model_dump_json().encode()
        if entry is None:
            stored = await bucket.create(RECEIPT_KEYS_ENTRY, value)
        else:
            stored = await bucket.update(RECEIPT_KEYS_ENTRY, value, entry.revision)
        if stored:
            return
    raise Outage(1.0, "others keep announcing keys")


async def read_keys(bus: Bus) -> PublicKeys:
    """All keys that were ever announced. Raises: BusError."""
    value = await (await Bucket.open(bus, RECEIPT_KEYS)).get(RECEIPT_KEYS_ENTRY)
    return PublicKeys(keys=()) if value is None else PublicKeys.model_validate_json(value)
