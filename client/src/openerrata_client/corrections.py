"""The published corrections of a post, which can be read without a key. Source: docs/analysts.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from openerrata_client.documents import UnreadableAnswerError, parse_json
from openerrata_client.exchanges import Call

POST: Final = "public.getPostInvestigations"
INVESTIGATION: Final = "public.getInvestigation"


def post_call(platform: str, external_id: str) -> Call:
    """The request for every finished investigation of a post."""
    return _call(POST, {"platform": platform, "externalId": external_id})


def investigation_call(investigation_id: str) -> Call:
    """The request for one investigation with its findings."""
    return _call(INVESTIGATION, {"investigationId": investigation_id})


def _call(procedure: str, asked: Mapping[str, str]) -> Call:
    return Call("GET", f"/trpc/{procedure}?{urlencode({'input': json.dumps(asked)})}")


def read_data(body: bytes) -> Any:  # JSON, as docs/protocol.md has it
    """The answer inside its envelope. Raises: UnreadableAnswerError."""
    try:
        return parse_json(body)["result"]["data"]
    except (KeyError, TypeError, ValueError):
        raise UnreadableAnswerError("The server's answer is not the record of a post.") from None
