"""contracts/asyncapi.json, written from the contracts: every channel, its message, who sends and who may receive it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from contracts.cloudevents import HEADERS
from contracts.topology import ANALYST_SUBJECTS, CONSUMERS, stream_of
from contracts.v1 import EVENTS, Event, envelope_type
from tests.contract.reference import PUBLISHERS
from tests.contract.schemas import ROOT, examples, name_of

DOCUMENT: Final = ROOT / "contracts" / "asyncapi.json"
ABOUT: Final = """\
OpenErrata finds sentences that are demonstrably wrong in what people read. Everything that happens is a fact on a
subject of its own, stored for good and in one order.

Analysts may follow the channels with the tag `analysts`, over NATS with the account for analysts, or over HTTP as
server-sent events at `/events`, where `id` is the place in the log, `event` the subject without its key, and `data` the
same envelope. The other channels are between services. Only `investigation.completed` is a result.
"""
_REF: Final = "#/components/schemas/{model}"


def asyncapi() -> dict[Path, str]:
    """The document by its file."""
    return {DOCUMENT: json.dumps(document(), indent=1, ensure_ascii=False) + "\n"}


def for_analysts(event: type[Event]) -> bool:
    """Whether analysts may follow a fact."""
    return any(f"{event.SUBJECT}.".startswith(subject.removesuffix(">")) for subject in ANALYST_SUBJECTS)


def document() -> dict[str, Any]:
    """The whole document. Source: AsyncAPI 3.0.0."""
    envelopes = [(envelope_type(event), "validation") for event in EVENTS]
    _, found = models_json_schema(envelopes, ref_template=_REF)  # type: ignore[arg-type]  # the mode is inferred as any text
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "OpenErrata", "version": "1.0.0", "description": ABOUT},
        "defaultContentType": "application/json",
        "servers": {
            "broker": {
                "host": "{host}:{port}",
                "protocol": "nats",
                "description": "NATS with JetStream; ask whoever runs the instance for the address",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "4222"}},
            },
            "events": {
                "host": "{host}:{port}",
                "pathname": "/events",
                "protocol": "http",
                "description": "Server-sent events with Last-Event-ID, without any key",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "8787"}},
            },
        },
        "channels": {name_of(event): _channel(event) for event in EVENTS},
        "operations": dict(operation for event in EVENTS for operation in _operations(event).items()),
        "components": {
            "messages": {event.__name__: _message(event) for event in EVENTS},
            "schemas": found["$defs"],
            "messageTraits": {
                "cloudEvent": {
                    "headers": {
                        "type": "object",
                        "description": "CloudEvents 1.0 in binary mode; over NATS only",
                        "required": list(HEADERS),
                        "properties": {name: {"type": "string", "description": text} for name, text in HEADERS.items()},
                    }
                }
            },
        },
    }


def _channel(event: type[Event]) -> dict[str, Any]:
    servers = ["broker", "events"] if for_analysts(event) else ["broker"]
    return {
        "address": f"{event.SUBJECT}.{{key}}",
        "description": f"Kept in the stream {stream_of(event).name}.",
        "servers": [{"$ref": f"#/servers/{server}"} for server in servers],
        "parameters": {"key": {"description": "The id of the aggregate: the last token of the subject"}},
        "messages": {event.__name__: {"$ref": f"#/components/messages/{event.__name__}"}},
        **({"tags": [{"name": "analysts"}]} if for_analysts(event) else {}),
    }


def _message(event: type[Event]) -> dict[str, Any]:
    shown: Mapping[str, Any] = examples(event)
    return {
        "name": event.SUBJECT,
        "title": event.__name__,
        "summary": " ".join((event.__doc__ or "").split("\n\n")[0].split()),
        "contentType": "application/json",
        "payload": {"$ref": _REF.format(model=envelope_type(event).__name__)},
        "traits": [{"$ref": "#/components/messageTraits/cloudEvent"}],
        "examples": [{"name": name, "payload": payload} for name, payload in shown.items()],
    }


def _operations(event: type[Event]) -> dict[str, Any]:
    channel = {"$ref": f"#/channels/{name_of(event).replace('/', '~1')}"}
    told = {f"{service}-tells-{name_of(event)}": ("send", service) for service in PUBLISHERS[event]}
    handled = {each.name: ("receive", each.service) for each in CONSUMERS if each.event is event}
    return {
        name: {"action": action, "channel": channel, "tags": [{"name": service}]}
        for name, (action, service) in (told | handled).items()
    }
