"""Events as CloudEvents in binary mode: the attributes are headers, and the stored envelope is the data.

Source: CloudEvents 1.0.2, section 3; its NATS protocol binding.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from contracts.v1 import Event

SOURCE: Final = "urn:openerrata"
HEADERS: Final = {
    "ce-specversion": "the version of CloudEvents, `1.0`",
    "ce-id": "the event's id: a repeated event has the same",
    "ce-source": f"always `{SOURCE}`; unique together with the id",
    "ce-type": "the subject without its key",
    "ce-subject": "the key: the id of the aggregate",
    "ce-time": "when it happened, UTC",
    "content-type": "`application/json`",
}


def cloud_headers(event: Event, subject: str, event_id: str, moment: datetime) -> dict[str, str]:
    """The CloudEvents attributes of an event as headers; subject and id are passed since the caller has them."""
    return {
        "ce-specversion": "1.0",
        "ce-id": event_id,
        "ce-source": SOURCE,
        "ce-type": event.SUBJECT,
        "ce-subject": subject[len(event.SUBJECT) + 1 :],
        "ce-time": moment.isoformat(),
        "content-type": "application/json",
    }
