"""Adds the procedures to the OpenAPI document, from the table that routes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from contracts.rpc.errors import ERROR_CODES, OpenErrataCode
from platforms import PLATFORMS
from services.gateway.procedure import Procedure

Schema = dict[str, Any]
"""A JSON schema or a part of the OpenAPI document, as FastAPI writes it: JSON of any depth."""

REF: Final = "#/components/schemas/{model}"
_VERSION: Final = {
    "name": "x-openerrata-extension-version",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
}
_ERRORS: Final = {
    "400": "The request is malformed, or its input is not valid",
    "401": "No usable credentials",
    "429": "Too many requests from this network; try again later",
    "500": "Internal error",
    "503": "A server that the gateway needs does not answer; try again",
}
_OF_VERSIONS: Final = {"412": "The extension is too old"}
_OF_BODIES: Final = {
    "408": "The request did not arrive in time",
    "413": "The request is too large",
    "415": "The content type is not application/json",
}
_ERROR: Final = "RpcError"


def add_procedures(schema: Schema, table: Mapping[str, Procedure], prefix: str) -> Schema:
    """Add every procedure to an OpenAPI document, in place."""
    definitions = schema.setdefault("components", {}).setdefault("schemas", {})
    definitions[_ERROR] = _error()
    for procedure in table.values():
        schema.setdefault("paths", {})[f"{prefix}{procedure.name}"] = {
            method.lower(): _operation(procedure, method, definitions) for method in sorted(procedure.methods)
        }
    schema["paths"]["/events"] = {"get": _events()}
    _list_platforms(schema)
    return schema


def refuse(refusals: dict[str, str]) -> Schema:
    """Describe error responses with a message. Shapes: `refusals` maps a status to its description."""
    message = json_content(_object(message={"type": "string"}))
    return {status: {"description": words, "content": message} for status, words in refusals.items()}


def _list_platforms(part: object) -> None:
    """Replace the format `platform` by an enumeration of the sites that this gateway knows, in place."""
    if isinstance(part, dict) and part.get("format") == "platform":
        del part["format"]
        part["enum"] = [site.name for site in PLATFORMS]
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _list_platforms(each)


def _events() -> Schema:
    """The operation of `/events`; its messages are in the AsyncAPI document."""
    text = {"schema": {"type": "string"}}
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}, "description": description}
        for name, description in (
            ("after", "The id of the last event received; 0 starts at the beginning. By default, only new events"),
            ("type", "Only events of these types, comma-separated: `claim.approved,investigation.completed`"),
            ("investigation", "Only events of this investigation"),
        )
    ]
    return {
        "operationId": "events",
        "tags": ["public"],
        "summary": "Follow findings and results",
        "description": "Server-sent events: `id` is the place in the log, `event` the subject without its key, `data` "
        "the stored envelope. See /asyncapi.json.",
        "parameters": [*parameters, {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}],
        "responses": {
            "200": {"description": "A stream of events, without an end", "content": {"text/event-stream": text}},
            **refuse(
                {
                    "400": "A parameter is not valid, or Last-Event-ID is ahead of the log",
                    "429": "Too many clients in this network; try again after Retry-After",
                    "503": "Too many clients; try again after Retry-After",
                }
            ),
        },
    }


def _operation(procedure: Procedure, method: str, definitions: Schema) -> Schema:
    answer = procedure.answer.json_schema(by_alias=True, mode="serialization", ref_template=REF)
    definitions.update(answer.pop("$defs", {}))
    envelope = _object(result=_object(data=answer))
    errors = _ERRORS | (_OF_VERSIONS if procedure.versioned else {}) | (_OF_BODIES if method == "POST" else {})
    operation: Schema = {
        "operationId": f"{procedure.name}.{method.lower()}",
        "tags": ["extension" if procedure.versioned else "public"],
        "summary": procedure.name,
        "description": (procedure.handle.__doc__ or "").partition("\n")[0].partition(" Raises: ")[0],
        "parameters": [_VERSION] if procedure.versioned else [],
        "responses": {
            "200": {"description": "The answer", "content": json_content(envelope)},
            **{
                status: {"description": text, "content": json_content({"$ref": REF.format(model=_ERROR)})}
                for status, text in sorted(errors.items())
            },
        },
    }
    if procedure.question is None:
        return operation
    question = procedure.question.json_schema(by_alias=True, ref_template=REF)
    definitions.update(question.pop("$defs", {}))
    content = json_content(question)
    if method == "GET":
        operation["parameters"].append({"name": "input", "in": "query", "required": True, "content": content})
    else:
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _error() -> Schema:
    """The schema of an error. Source: docs/protocol.md 1.4 and 1.6."""
    text = {"type": "string"}
    data = _object(code={"enum": list(ERROR_CODES)}, httpStatus={"type": "integer"})
    data["properties"] |= {
        "path": text,
        "openerrataCode": {"enum": list(get_args(OpenErrataCode))},
        "minimumSupportedExtensionVersion": text,
        "receivedExtensionVersion": {"type": ["string", "null"]},
    }
    return _object(error=_object(message=text, code={"type": "integer"}, data=data))


def json_content(schema: Schema) -> Schema:
    """The content of a body in JSON."""
    return {"application/json": {"schema": schema}}


def _object(**properties: object) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}
