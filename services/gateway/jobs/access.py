"""Authentication for the job API: the bearer key, its rights, and the verbs of its account's role."""

from __future__ import annotations

import re
from typing import Final

from contracts.accounts import Right, Verb
from services.gateway.domain import Principal, key_hash
from services.gateway.jobs.problems import Problem
from services.gateway.keys import InstanceKeys

_BEARER: Final = re.compile(r"bearer +([!-~]{1,512})", re.IGNORECASE)
_CHALLENGE: Final = ((b"www-authenticate", b'Bearer realm="openerrata"'),)


def read_bearer(authorization: str) -> str | None:
    """The key in an Authorization header, or None. Source: RFC 6750, section 2.1."""
    match = _BEARER.fullmatch(authorization)
    return match[1] if match else None


async def authenticate(keys: InstanceKeys, authorization: str, right: Right, verb: Verb = "read") -> Principal:
    """The account that a request comes from, if its key has this right and its role this verb.

    Raises: Problem: 401 without a usable key, 403 without the right or the verb. Unavailable.
    """
    key = read_bearer(authorization)
    principal = None if key is None else await keys.principal(key_hash(key))
    if principal is None:
        raise Problem("UNAUTHENTICATED", headers=_CHALLENGE)
    require_right(principal, right)
    require_verb(principal, verb)
    return principal


def require_right(principal: Principal, right: Right) -> None:
    """Raises: Problem: the key does not have this right."""
    if right not in principal.rights:
        raise Problem("FORBIDDEN", f"This key does not have the right {right}.")


def require_verb(principal: Principal, verb: Verb) -> None:
    """Raises: Problem: the account's role does not include this verb."""
    if not principal.may(verb):
        raise Problem("FORBIDDEN", f"This needs a role that may {verb}.")
