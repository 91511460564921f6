"""Identifies callers by headers and socket; rejects no request.

A caller with an inactive key is anonymous, and missing or wrong signatures are only counted: the extension works
without either.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from pydantic import SecretStr

from contracts.accounts import Right
from services.gateway.domain import key_hash, resolve_client_address
from services.gateway.http import Scope
from services.gateway.keys import InstanceKeys
from services.gateway.ports import Caller

Headers = Mapping[bytes, bytes]


def header(headers: Headers, name: bytes) -> str:
    """A header's trimmed value; empty if it is missing."""
    return headers.get(name, b"").decode("latin-1").strip()


class Callers:
    """Identifies callers. `trusted_proxies`: the number of our own proxies that a request passes."""

    def __init__(self, keys: InstanceKeys, *, trusted_proxies: int, hmac_secret: SecretStr) -> None:
        self._keys = keys
        self._trusted_proxies = trusted_proxies
        self._hmac_secret = hmac_secret.get_secret_value().encode()

    def address(self, scope: Scope) -> str:
        """The client address of an ASGI request."""
        peer = scope.get("client")
        forwarded_for = ""
        if self._trusted_proxies:
            forwarded_for = ",".join(
                value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"
            )
        return resolve_client_address(peer[0] if peer else "", forwarded_for, self._trusted_proxies)

    async def identify(self, scope: Scope, headers: Headers) -> Caller:
        """The caller of an ASGI request. Raises: Unavailable: its instance key cannot be checked."""
        instance_key = header(headers, b"x-api-key")
        hashed = key_hash(instance_key) if instance_key else ""
        rights = await self._keys.rights(hashed) if hashed else frozenset[Right]()
        return Caller(
            address=self.address(scope),
            user_agent=headers.get(b"user-agent", b"").decode("latin-1"),
            instance_key_hash=hashed if rights else None,
            user_key=header(headers, b"x-openai-api-key"),
            instance_key_rights=rights,
        )

    def attests(self, headers: Headers, body: bytes) -> bool | None:
        """Whether the body's signature is valid; None without a signature or body."""
        signature = headers.get(b"x-openerrata-signature")
        if not signature or not body:
            return None
        return hmac.compare_digest(signature.strip(), hmac.digest(self._hmac_secret, body, "sha256").hex().encode())
