"""Who may do what on the embedded broker: each service what its line in `contracts.access` says, analysts listen.

The services' account has a user for each service, and `openerrata`, which may do everything, for processes of several
services and for the operator's commands. Analysts have an account of their own, so an analyst has no JetStream, no
buckets, nobody's inboxes and no subject but those handed over; permissions then take away publishing. What
is handed over is what the stream has stored and published again: a fact that it refused, or knew already, is never
heard.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contracts.access import ACCESS, may_hear, may_publish
from contracts.topology import ANALYST_SUBJECTS, STORED
from kit.embedded.files import write_private

SERVICES = "ERRATA"
ANALYSTS = "ANALYSTS"
ANALYST_CONNECTIONS = 64
ANALYST_SUBSCRIPTIONS = 32


USERS = ("openerrata", "analyst", *ACCESS)


def passwords(file: Path) -> dict[str, str]:
    """The folder's passwords by user, made when they are first asked for."""
    known: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    missing = [user for user in USERS if user not in known]
    if missing:
        known |= {user: secrets.token_urlsafe(24) for user in missing}
        write_private(file, json.dumps(known))
    return known


def permissions(service: str) -> dict[str, Any]:
    """What a service's user may do; all else is refused."""
    return {
        "publish": {"allow": list(may_publish(service))},
        "subscribe": {"allow": list(may_hear(service))},
    }


def accounts(known: Mapping[str, str]) -> dict[str, Any]:
    """The part of the server's configuration."""
    handed_over = [f"{STORED}.{subject}" for subject in ANALYST_SUBJECTS]
    return {
        SERVICES: {
            "jetstream": "enabled",
            "users": [
                {"user": "openerrata", "password": known["openerrata"]},
                *(
                    {"user": service, "password": known[service], "permissions": permissions(service)}
                    for service in ACCESS
                ),
            ],
            "exports": [{"stream": subject} for subject in handed_over],
        },
        ANALYSTS: {
            "limits": {"max_connections": ANALYST_CONNECTIONS, "max_subscriptions": ANALYST_SUBSCRIPTIONS},
            "users": [
                {
                    "user": "analyst",
                    "password": known["analyst"],
                    "permissions": {"publish": {"deny": [">"]}, "subscribe": {"allow": list(ANALYST_SUBJECTS)}},
                }
            ],
            "imports": [
                {"stream": {"account": SERVICES, "subject": stored}, "to": subject}
                for stored, subject in zip(handed_over, ANALYST_SUBJECTS, strict=True)
            ],
        },
    }


def move_streams(store: Path) -> None:
    """Hand streams that were written before there were accounts to the services' account; once, while nothing runs."""
    before, now = store / "$G", store / SERVICES
    if before.exists() and not now.exists():
        before.rename(now)
