"""The routes of the public record in the OpenAPI document that answer without FastAPI."""

from __future__ import annotations

from typing import Final

from pydantic.json_schema import models_json_schema

from contracts.lookup.documents import Layout
from lifecycle.audits.scores import PARTS
from services.gateway.openapi import REF, Schema, json_content, refuse
from services.gateway.public.appeals import PATH, AppealRequest
from services.gateway.public.described_reads import describe_reads
from services.gateway.public.proofs import PREFIX, SUFFIX, ProofRequest

PUBLISHER: Final = "/v1/publishers/{publisher_id}"
_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_PERCENT: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 100}
_SHARE: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_EPOCH: Final[Schema] = {"type": ["integer", "null"], "description": "An ISO week: 100 times its year plus its number"}
_FIELDS: Final[Schema] = {
    "id": {"type": "string", "format": "uuid"},
    "name": _TEXT,
    "domain": _TEXT,
    "type": _TEXT,
    "track_record_score": _PERCENT,
    "band": {"type": ["string", "null"]},
    "why": {"type": ["string", "null"], "enum": ["INITIAL", "COMPUTED", "SET", None]},
    "score_epoch": _EPOCH,
    "accuracy": _SHARE,
    "accuracy_history": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"epoch": _EPOCH, "score": _PERCENT, "accuracy": _SHARE, "total": _COUNT},
        },
    },
    "correct_citations": _COUNT,
    "judged_citations": _COUNT,
    "total_citations": _COUNT,
    "claim_count": _COUNT,
    "corrections_count": {"type": ["integer", "null"]},
    "correction_frequency": {"type": ["number", "null"], "description": "Corrections a year"},
    **{name: _PERCENT for name in PARTS if name != "accuracy"},
    "weights": {"type": "object", "additionalProperties": _COUNT, "description": "Per cent of the score by part"},
    "last_updated": {"type": "string", "format": "date-time"},
}
_STORED: Final[Schema] = {"appeal_id": _TEXT, "page": _TEXT}
_APPEAL: Final[Schema] = {"type": "object", "required": [*_STORED], "properties": _STORED | {"token": _TEXT}}
_OFFERED: Final[Schema] = {"type": "object", "required": ["page"], "properties": {"page": _TEXT}}

_FOREIGN_FORM: Final[Schema] = {
    "403": {
        "description": "A form that is not on a page of this server",
        "content": {"text/plain": {"schema": _TEXT}},
    }
}


def describe_public(schema: Schema, *, publishers: bool) -> Schema:
    """Add the public routes without FastAPI to an OpenAPI document, in place. `publishers`: the catalogue is on."""
    models: Final = (AppealRequest, ProofRequest, Layout)
    _, definitions = models_json_schema([(model, "validation") for model in models], ref_template=REF)
    schema.setdefault("components", {}).setdefault("schemas", {}).update(definitions.get("$defs", {}))
    schema.setdefault("paths", {}).update(describe_reads())
    schema["paths"][PATH] = {"post": _appeals()}
    schema["paths"][f"{PREFIX}{{appeal_id}}{SUFFIX}"] = {"post": _proofs()}
    if publishers:
        schema["paths"][PUBLISHER] = {"get": _publisher()}
    return schema


def _appeals() -> Schema:
    refusals = {
        "400": "The body is not valid, or names findings that do not stand",
        "404": "There is no finished investigation with this id",
        "409": "An appeal against this investigation is open already",
        "413": "The request is too large",
        "415": "The body is neither JSON nor a form",
        "429": "Too many appeals or requests from one network",
        "503": "A server that the gateway needs does not answer; try again",
    }
    return {
        "operationId": "openAppeal",
        "tags": ["public"],
        "summary": "Object to a result",
        "description": "An operator decides. Neither an account nor a name is needed. `by_author` claims that it "
        "is by the post's author, or by a contributor where there are many; they prove it by publishing the `token` "
        "of the answer where only they can, and naming that page.",
        "requestBody": {"required": True, "content": json_content({"$ref": REF.format(model=AppealRequest.__name__)})},
        "responses": {
            "201": {"description": "The appeal", "content": json_content(_APPEAL)},
            **refuse(refusals),
            **_FOREIGN_FORM,
        },
    }


def _proofs() -> Schema:
    refusals = {
        "400": "The body is not valid, or the page cannot be the author's",
        "404": "There is no appeal with this id that claims to be the author's",
        "409": "The author is proven already",
        "410": "The token has expired",
        "413": "The request is too large",
        "415": "The body is neither JSON nor a form",
        "429": "Too many requests from one network",
        "503": "A server that the gateway needs does not answer; try again",
    }
    return {
        "operationId": "offerProof",
        "tags": ["public"],
        "summary": "Name the page on which an author has published their appeal's token",
        "description": "The site is asked soon afterwards; the appeal's page shows the outcome.",
        "parameters": [
            {"name": "appeal_id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
        ],
        "requestBody": {"required": True, "content": json_content({"$ref": REF.format(model=ProofRequest.__name__)})},
        "responses": {
            "202": {"description": "The page will be checked", "content": json_content(_OFFERED)},
            **refuse(refusals),
            **_FOREIGN_FORM,
        },
    }


def _publisher() -> Schema:
    return {
        "operationId": "publisher",
        "tags": ["public"],
        "summary": "A source's track record",
        "description": "Its score, the history of its score, and the formula.",
        "parameters": [
            {"name": "publisher_id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
        ],
        "responses": {
            "200": {
                "description": "The source",
                "content": json_content({"type": "object", "required": list(_FIELDS), "properties": _FIELDS}),
            },
            **refuse({"404": "No such source is known"}),
        },
    }
