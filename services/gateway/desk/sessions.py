"""Sessions of the desk: a sealed cookie that holds the hash of a key, never the key.

Nothing is stored, so any gateway with the master key answers. Revoking a key ends its sessions within seconds.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timedelta
from typing import Final

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from kit.cache import Cache
from kit.clock import Clock
from kit.vault import KeyUnusable, MasterKey, seal, unseal
from services.gateway.domain import read_base64, write_base64

LIFETIME: Final = timedelta(hours=8)
HOST: Final = "__Host-"
"""The prefix of cookies that a browser accepts only over https and for this host alone."""
ENDED: Final = 10_000
"""How many sessions that were logged out are remembered."""
_TOKEN_BYTES: Final = 32


class Session(BaseModel):
    """One browser's session; its forms carry `token`. Shapes: `key_hash` is empty before the log-in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    key_hash: str
    until: datetime

    def sent(self, token: str) -> bool:
        """Whether a form with this token was made for this session."""
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "replace"))

    def has_ended(self, now: datetime) -> bool:
        """Whether the session has expired, by the wall clock, since any gateway may read it."""
        return self.until <= now


class Sessions:
    """Starts, reads and ends sessions in the cookie `name`. `public_url`: where browsers reach the desk.

    A session that was logged out is refused by this process; elsewhere it ends with its time.
    """

    def __init__(self, name: str, masters: tuple[MasterKey, ...], clock: Clock, public_url: str) -> None:
        self._masters = masters
        self._clock = clock
        self._is_secure = public_url.startswith("https://")
        self._name = f"{HOST}{name}" if self._is_secure else name
        self._subject = f"session {name}".encode()
        self._ended: Cache[str, bool] = Cache(clock, capacity=ENDED, ttl_s=LIFETIME.total_seconds())

    def start(self, key_hash: str = "") -> Session:
        """Create a session with a random token."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        return Session(token=token, key_hash=key_hash, until=self._clock.now() + LIFETIME)

    def read(self, request: Request) -> Session | None:
        """The session of a request; None if its cookie is missing or not ours, or the session has ended."""
        cookie = request.cookies.get(self._name, "")
        try:
            session = Session.model_validate_json(unseal(self._masters, self._subject, read_base64(cookie)))
        except (KeyUnusable, ValueError):
            return None
        return None if session.has_ended(self._clock.now()) or self._ended.get(session.token) else session

    def keep(self, response: Response, session: Session) -> None:
        """Set the session's cookie in a response."""
        sealed = seal(self._masters[0], self._subject, session.model_dump_json())
        self._set(response, write_base64(sealed), int(LIFETIME.total_seconds()))

    def end(self, response: Response, session: Session) -> None:
        """Delete the session's cookie in a response, and refuse the session from now on."""
        self._ended.put(session.token, True)
        self._set(response, "", 0)

    def _set(self, response: Response, value: str, max_age_s: int) -> None:
        path = "/" if self._is_secure else "/desk"  # __Host- requires the path /
        response.set_cookie(
            self._name, value, max_age=max_age_s, path=path, secure=self._is_secure, httponly=True, samesite="strict"
        )
