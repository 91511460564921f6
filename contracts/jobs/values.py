"""Field types of the job API: ids, money, times and numbers as they are on the wire.

In Python money is whole micro-dollars and an id is a UUID; in JSON money is a number of dollars and an id a ULID. So
parse a document with `model_validate_json`, write it with `model_dump_json`, and pass Python values to the constructor.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeVar
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from contracts.jobs.ids import format_job_id, parse_job_id
from contracts.rpc.values import Optional, wire_instant

MICRO_USD: Final = 1_000_000
_MOST_MICRO_USD: Final = 10**15
"""The largest amount; up to it, a double holds dollars exactly to the micro-dollar."""

T = TypeVar("T")


class Document(BaseModel):
    """Base of all documents: immutable, no unknown keys, no coercion. A field with a default may be absent."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class _MoneySchema:
    """Whole micro-dollars in Python; in JSON a number of dollars with at most six decimals."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        whole = core_schema.int_schema(strict=True, ge=0, le=_MOST_MICRO_USD)
        dollars = core_schema.float_schema(strict=True, ge=0, allow_inf_nan=False)
        return core_schema.json_or_python_schema(
            json_schema=core_schema.chain_schema(
                [core_schema.no_info_after_validator_function(_to_micro_usd, dollars), whole]
            ),
            python_schema=whole,
            serialization=core_schema.plain_serializer_function_ser_schema(_to_usd, when_used="json"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "number", "minimum": 0, "description": "US dollars with at most six decimals"}


def _to_micro_usd(dollars: float) -> int:
    micro_usd = Decimal(str(dollars)) * MICRO_USD
    if micro_usd != int(micro_usd):
        raise PydanticCustomError("money", "must have at most six decimals")
    return int(micro_usd)


def _to_usd(micro_usd: int) -> float:
    return micro_usd / MICRO_USD


class _JobIdSchema:
    """A UUID in Python, a ULID in JSON."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(_read_job_id, core_schema.str_schema(strict=True)),
            python_schema=core_schema.is_instance_schema(UUID),
            serialization=core_schema.plain_serializer_function_ser_schema(format_job_id, when_used="json"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", "description": "ULID"}


def _read_job_id(text: str) -> UUID:
    job_id = parse_job_id(text)
    if job_id is None:
        raise PydanticCustomError("job_id", "must be a ULID")
    return job_id


class _InstantSchema:
    """An aware datetime in Python; in JSON a UTC time that ends in Z."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(
            json_schema=core_schema.no_info_after_validator_function(
                _read_instant, core_schema.str_schema(strict=True)
            ),
            python_schema=core_schema.datetime_schema(strict=True, tz_constraint="aware"),
            serialization=core_schema.plain_serializer_function_ser_schema(wire_instant, when_used="json"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "date-time"}


def _read_instant(text: str) -> datetime:
    try:
        if "T" not in text or not text.endswith("Z"):
            raise ValueError
        return datetime.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("datetime", "must be an RFC 3339 date and time that ends in Z") from None


Absent = Annotated[Optional[T], Field(exclude_if=lambda value: value is None)]
"""A field that may be absent, and is left out if it is None; null is rejected. Its default must be None."""

Money = Annotated[int, _MoneySchema()]
JobId = Annotated[UUID, _JobIdSchema()]
Instant = Annotated[datetime, _InstantSchema()]
Count = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Code = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
ClaimHash = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
ClaimId = Annotated[str, Field(pattern=r"^C[1-9][0-9]?$")]

Stage = Literal["stage1", "stage2", "stage3"]
RiskTier = Literal["A", "B", "C"]
ScenarioLabel = Literal["Highly Likely", "Likely", "Unclear", "Unlikely", "Highly Unlikely", "Unsubstantiated"]
TruthLabel = Literal["TRUE", "PARTIALLY_TRUE", "DISPUTED", "UNSUPPORTED", "FALSE", "UNVERIFIABLE"]
RollupVerdict = Literal["Supported", "Refuted", "Inconclusive"]
OverallVerdict = Literal["WELL-SUPPORTED", "MISLEADING", "REFUTED", "UNCERTAIN"]
