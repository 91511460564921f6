"""Users and permissions of the embedded broker: services as in `contracts.access`, analysts read only.

The services' account has a user for each service, and `openerrata`, which may do everything, for processes of several
services and for the operator's commands. Analysts have a separate account, so an analyst has no JetStream, no buckets,
no inboxes of services and only the exported subjects; permissions forbid publishing. The exported subjects carry the
facts that the stream republishes after storing them, so analysts never see refused and duplicate facts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from contracts.access import ACCESS
from contracts.broker_rights import may_publish, may_subscribe
from contracts.topology import ANALYST_SUBJECTS, STORED
from kit.embedded.files import write_private

SERVICES = "ERRATA"
ANALYSTS = "ANALYSTS"
ANALYST_CONNECTIONS = 64
ANALYST_SUBSCRIPTIONS = 32


USERS = ("openerrata", "analyst", *ACCESS)


def ensure_passwords(file: Path) -> dict[str, str]:
    """The passwords in a file by user; missing ones are created."""
    found: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    missing = [user for user in USERS if user not in found]
    if missing:
        found |= {user: secrets.token_urlsafe(24) for user in missing}
        write_private(file, json.dumps(found))
    return found


def build_permissions(service: str) -> dict[str, dict[str, list[str]]]:
    """The permissions of a service's user; all else is denied."""
    return {
        "publish": {"allow": list(may_publish(service))},
        "subscribe": {"allow": list(may_subscribe(service))},
    }


def build_accounts(passwords: Mapping[str, str]) -> dict[str, object]:
    """The `accounts` of the server's configuration."""
    exported = [f"{STORED}.{subject}" for subject in ANALYST_SUBJECTS]
    return {
        SERVICES: {
            "jetstream": "enabled",
            "users": [
                {"user": "openerrata", "password": passwords["openerrata"]},
                *(
                    {"user": service, "password": passwords[service], "permissions": build_permissions(service)}
                    for service in ACCESS
                ),
            ],
            "exports": [{"stream": subject} for subject in exported],
        },
        ANALYSTS: {
            "limits": {"max_connections": ANALYST_CONNECTIONS, "max_subscriptions": ANALYST_SUBSCRIPTIONS},
            "users": [
                {
                    "user": "analyst",
                    "password": passwords["analyst"],
                    "permissions": {"publish": {"deny": [">"]}, "subscribe": {"allow": list(ANALYST_SUBJECTS)}},
                }
            ],
            "imports": [
                {"stream": {"account": SERVICES, "subject": stored}, "to": subject}
                for stored, subject in zip(exported, ANALYST_SUBJECTS, strict=True)
            ],
        },
    }


def move_streams(store: Path) -> None:
    """Move streams of versions without accounts to the services' account; call it while the server is stopped."""
    before, now = store / "$G", store / SERVICES
    if before.exists() and not now.exists():
        before.rename(now)
