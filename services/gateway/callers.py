"""Who sends a request, from its headers and its socket. Nothing in here can refuse anybody.

A key that is not active makes its sender anonymous, a signature that is missing or wrong is a number in the metrics;
the extension works for people who have neither.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from services.gateway.domain import client_address, key_hash
from services.gateway.keys import InstanceKeys
from services.gateway.ports import Caller

Headers = Mapping[bytes, bytes]


def header(headers: Headers, name: bytes) -> str:
    """A header's trimmed value; empty if it is missing."""
    return headers.get(name, b"").decode("latin-1").strip()


class Callers:
    """Recognises callers. Units: `trusted_proxies` is how many of our own proxies a request passes."""

    def __init__(self, keys: InstanceKeys, *, trusted_proxies: int, hmac_secret: SecretStr) -> None:
        self._keys = keys
        self._trusted_proxies = trusted_proxies
        self._hmac_secret = hmac_secret.get_secret_value().encode()

    def address(self, scope: Mapping[str, Any]) -> str:
        """The address that an ASGI request comes from."""
        peer = scope.get("client")
        forwarded_for = ""
        if self._trusted_proxies:
            forwarded_for = ",".join(
                value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"
            )
        return client_address(peer[0] if peer else "", forwarded_for, self._trusted_proxies)

    async def identify(self, scope: Mapping[str, Any], headers: Headers) -> Caller:
        """The caller of an ASGI request. Raises: Unavailable: its instance key cannot be checked now."""
        instance_key = header(headers, b"x-api-key")
        hashed = key_hash(instance_key) if instance_key else None
        return Caller(
            address=self.address(scope),
            user_agent=headers.get(b"user-agent", b"").decode("latin-1"),
            instance_key_hash=hashed if hashed is not None and await self._keys.accepts(hashed) else None,
            user_key=header(headers, b"x-openai-api-key"),
        )

    def attests(self, headers: Headers, body: bytes) -> bool | None:
        """Whether the body's signature is right; None if there is nothing to judge."""
        signature = headers.get(b"x-openerrata-signature")
        if not signature or not body:
            return None
        return hmac.compare_digest(signature.strip(), hmac.digest(self._hmac_secret, body, "sha256").hex().encode())
