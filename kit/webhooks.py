"""Webhooks: signed messages to addresses that accounts gave, in the form of Standard Webhooks.

Source: github.com/standard-webhooks/standard-webhooks, spec 1.0. Addresses are not trusted: only https on public
networks, no redirects, and only the status of the answer is read.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, Literal

from kit.web import GuardedHttpClient, Policy, Request, WebError, parse_url

Outcome = Literal["delivered", "gone", "failed"]
"""`gone`: the receiver wants no more of these messages (status 410)."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 (every secret begins with it)
TIMEOUT_S: Final = 15.0
_GONE: Final = 410


def sign(secret: str, message_id: str, sent_at: int, body: bytes) -> str:
    """One signature. Shapes: `secret` is base64, with or without `whsec_`. Units: `sent_at` in Unix seconds."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{sent_at}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()}"


def webhook_policy(contact_url: str) -> Policy:
    """The policy for the client that sends webhooks."""
    return Policy(contact_url, timeout_s=TIMEOUT_S, max_bytes=0, max_redirects=0)


class Webhooks:
    """Sends messages; each is signed with every secret that is valid during a rotation.

    `http` has the policy of `webhook_policy`.
    """

    def __init__(self, http: GuardedHttpClient) -> None:
        self._http = http

    async def send(self, url: str, message_id: str, body: bytes, secrets: Sequence[str], now: datetime) -> Outcome:
        """Send a message once; a status 2xx means that it was delivered."""
        sent_at = int(now.timestamp())
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(sent_at),
            "webhook-signature": " ".join(sign(secret, message_id, sent_at, body) for secret in secrets),
        }
        try:
            if parse_url(url).scheme != "https":
                return "failed"
            answer = await self._http.fetch(Request(url, "POST", headers, body))
        except WebError:
            return "failed"
        if answer.status == _GONE:
            return "gone"
        return "delivered" if 200 <= answer.status < 300 else "failed"
