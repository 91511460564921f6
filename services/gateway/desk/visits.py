"""One request with a log-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from services.gateway.cursors import parse_dated_key, read_key
from services.gateway.desk.sessions import Session
from services.gateway.domain import Principal, parse_id, parse_number
from services.gateway.jobs.problems import Problem
from services.gateway.record.desk import Key

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request with its session and account. Shapes: `form` is empty unless a form was sent."""

    request: Request
    session: Session
    principal: Principal
    correlation: UUID
    form: Mapping[str, str]

    def id(self, name: str) -> UUID:
        """An id in the path. Raises: Problem: the value is not a UUID."""
        known = parse_id(self.request.path_params[name])
        if known is None:
            raise Problem("NOT_FOUND")
        return known

    def after(self) -> Key | None:
        """The key after which the page starts, or None. Raises: BadQuestion."""
        cursor = self.request.query_params.get("after", "")
        return read_key(cursor, parse_dated_key) if cursor else None

    def read(self, shape: type[Shape], *names: str, **given: object) -> Shape:
        """Build a document from these fields of the form, without empty ones. Raises: Problem."""
        fields: dict[str, object] = {name: self.form[name] for name in names if self.form.get(name)}
        try:
            return shape.model_validate(fields | given)
        except ValidationError as invalid:
            issues = "; ".join(": ".join((*map(str, each["loc"]), each["msg"])) for each in invalid.errors())
            raise Problem("VALIDATION_ERROR", f"The form is not valid: {issues}.") from None

    def version(self) -> int:
        """The entry's version that the form changes. Raises: Problem."""
        version = parse_number(self.form.get("version", ""), 9)
        if version is None:
            raise Problem("VALIDATION_ERROR", "The form names no version.")
        return version
