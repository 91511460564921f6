"""The client's `types.py`, written from contracts/jobs: the client is installed without the server's code.

What a server answers is read leniently: unknown fields are ignored and unknown words of an enumeration kept, so that an
older client understands a newer server. What a client asks is strict, since a misspelt option would change the price.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from contracts.jobs.answers import Estimate, Health, JobAccepted, JobFinished, JobRepeated, JobView
from contracts.jobs.credit import Credit
from contracts.jobs.problems import PROBLEMS, CreditLimitReached, ProblemDocument
from contracts.jobs.receipts import PublicKeys
from contracts.jobs.requests import AnalyzeRequest
from contracts.jobs.result import CacheOnlyResult, FullResult
from services.gateway.jobs.request_headers import VERSIONS
from tests.contract.schemas import ROOT

TYPES: Final = ROOT / "client" / "src" / "openerrata_client" / "types.py"
ANSWERS: Final[tuple[type[BaseModel], ...]] = (
    *(JobAccepted, JobFinished, JobRepeated, JobView, Estimate, FullResult, CacheOnlyResult),
    *(Credit, Health, PublicKeys, ProblemDocument, CreditLimitReached),
)
ASKED: Final = frozenset({"AnalyzeRequest", "Options", "ClientLabels"})
ECHOED: Final = {"Options": "ChosenOptions"}
"""What is asked and answered too: the answer has a lenient class of its own."""
Schema = Mapping[str, Any]
"""A JSON schema: JSON of any depth."""

HEAD: Final = '''\
"""What the job API takes and answers. Written by `python -m tests.contract.write` from contracts/jobs; do not edit.

Money is a Decimal of US dollars, a moment an aware datetime. An enumeration may hold words that this version does not
know yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from openerrata_client.documents import Answer, Question

'''
SCALARS: Final = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}
FORMATS: Final = {"date-time": "datetime", "uuid": "UUID"}
MONEY: Final = "US dollars with at most six decimals"


def client_types() -> dict[Path, str]:
    """The module by its file."""
    models: list[type[BaseModel]] = [*ANSWERS, AnalyzeRequest]
    _, found = models_json_schema([(model, "validation") for model in models])
    definitions: Mapping[str, Schema] = found["$defs"]
    chosen = dict(_discriminators(found))
    classes = [_class(name, definitions[name], chosen.get(name)) for name in _in_order(definitions)]
    echoes = [_class(echo, definitions[name], None) for name, echo in ECHOED.items()]
    text = HEAD + "\n\n".join([*echoes, *classes])
    results = " | ".join(model.__name__ for model in (FullResult, CacheOnlyResult))
    text += f'\n\nResult = Annotated[{results}, Field(discriminator="status")]\n"""What `…/result` answers."""\n'
    text += f"\nAPI_VERSION: Final = {VERSIONS[-1]!r}\n"
    text += '"""The dated version of the interface that this module describes."""\n'
    text += "\nADVICE: Final[Mapping[str, str]] = {\n"
    text += "".join(f"    {json.dumps(code)}: {json.dumps(kind.advice)},\n" for code, kind in PROBLEMS.items())
    text += '}\n"""What to do about each problem, by its code."""\n'
    return {TYPES: _format(text)}


def _discriminators(schema: object) -> Iterator[tuple[str, str]]:
    """Classes that a field tells apart, with this field, which therefore stays closed."""
    if isinstance(schema, dict):
        if "discriminator" in schema:
            name = schema["discriminator"]["propertyName"]
            yield from ((_target(each), name) for each in schema["oneOf"])
        for each in schema.values():
            yield from _discriminators(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _discriminators(each)


def _target(ref: Schema) -> str:
    return str(ref["$ref"]).rpartition("/")[2]


def _in_order(definitions: Mapping[str, Schema]) -> Sequence[str]:
    """Names, each behind those that it uses."""
    order: dict[str, None] = {}

    def add(name: str) -> None:
        if name not in order and name in definitions:
            for used in _refs(definitions[name]):
                add(used)
            order[name] = None

    for name in sorted(definitions):
        add(name)
    order.pop("JsonValue", None)
    return list(order)


def _refs(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield _target(schema)
        for each in schema.values():
            yield from _refs(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _refs(each)


def _class(name: str, schema: Schema, closed: str | None) -> str:
    base = "Question" if name in ASKED else "Answer"
    lines = [f"class {name}({base}):", f'    """{schema.get("description", "")}"""', ""]
    for field, about in schema.get("properties", {}).items():
        required = field in schema.get("required", ())
        hint = _hint(about, is_open=base == "Answer" and field != closed)
        if not required and "None" not in hint.split(" | "):
            hint = f"{hint} | None"
        lines.append(f"    {field}: {hint}" + ("" if required else " = None"))
    return "\n".join(lines) + "\n"


def _hint(schema: Schema, *, is_open: bool) -> str:
    if "$ref" in schema:
        return ECHOED.get(_target(schema), _target(schema)) if is_open else _target(schema)
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        literal = f"Literal[{', '.join(map(repr, schema['enum']))}]"
        return f"{literal} | str" if is_open else literal
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(_hint(each, is_open=is_open) for each in schema[union])
    kind = schema.get("type")
    if kind == "array":
        return f"tuple[{_hint(schema['items'], is_open=is_open)}, ...]"
    if kind == "object":
        return f"Mapping[str, {_hint(schema['additionalProperties'], is_open=is_open)}]"
    if kind == "string":
        return FORMATS.get(schema.get("format", ""), "str")
    return "Decimal" if schema.get("description") == MONEY else SCALARS[str(kind)]


def _format(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run(
        [ruff, "format", "--stdin-filename", str(TYPES), "-"], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout
