"""The users of services in `deploy/nats-users.conf`, written from the table of what each may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from contracts.access import ACCESS
from kit.embedded.nats_accounts import build_permissions
from tests.architecture.sources import ROOT

FILE: Final = ROOT / "deploy" / "nats-users.conf"
HEAD: Final = """\
# Written by `python -m tests.contract.write` from contracts/access.py: what each service may publish and receive.
users: [
  { user: openerrata, password: $NATS_SERVICES_PASSWORD }
"""


def broker_users() -> dict[Path, str]:
    """The file and its text."""
    users = [_user(service) for service in ACCESS]
    return {FILE: HEAD + "".join(users) + "]\n"}


def _user(service: str) -> str:
    lines = [f"  {{ user: {service}, password: $NATS_{service.upper()}_PASSWORD, permissions {{\n"]
    for what, rule in build_permissions(service).items():
        lines.append(f"    {what} {{ allow: [\n")
        lines += [f"      {json.dumps(subject)}\n" for subject in rule["allow"]]
        lines.append("    ] }\n")
    return "".join([*lines, "  } }\n"])
