"""Who may do what on the embedded broker: services everything, analysts listen to findings, nobody else anything.

The two are accounts of their own, so an analyst has no JetStream, no buckets, nobody's inboxes and no subject but the
two that are handed over; permissions then take away publishing. What is handed over is what the stream has stored and
published again: a fact that it refused, or knew already, is never heard.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contracts.topology import ANALYST_SUBJECTS, STORED
from kit.embedded.files import write_private

SERVICES = "ERRATA"
ANALYSTS = "ANALYSTS"
ANALYST_CONNECTIONS = 64
ANALYST_SUBSCRIPTIONS = 32


@dataclass(frozen=True)
class Passwords:
    """Of the two users, `openerrata` and `analyst`."""

    openerrata: str
    analyst: str


def passwords(file: Path) -> Passwords:
    """The folder's passwords, made when they are first asked for."""
    if not file.exists():
        write_private(file, json.dumps(asdict(Passwords(secrets.token_urlsafe(24), secrets.token_urlsafe(24)))))
    return Passwords(**json.loads(file.read_text()))


def accounts(known: Passwords) -> dict[str, Any]:
    """The part of the server's configuration."""
    handed_over = [f"{STORED}.{subject}" for subject in ANALYST_SUBJECTS]
    return {
        SERVICES: {
            "jetstream": "enabled",
            "users": [{"user": "openerrata", "password": known.openerrata}],
            "exports": [{"stream": subject} for subject in handed_over],
        },
        ANALYSTS: {
            "limits": {"max_connections": ANALYST_CONNECTIONS, "max_subscriptions": ANALYST_SUBSCRIPTIONS},
            "users": [
                {
                    "user": "analyst",
                    "password": known.analyst,
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
