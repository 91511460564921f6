"""Rows as the JSON that the database reads.

PostgreSQL's text cannot hold U+0000, and pages from the internet can: it becomes U+FFFD here, in the one place that
every text passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import orjson
from psycopg.types.json import Json

_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def _as_is(document: bytes) -> bytes:
    return document


def as_json(rows: Iterable[object]) -> Json:
    """A JSON array of the rows, each an object with a key for each column."""
    document = orjson.dumps(list(rows))
    if rb"\u0000" in document:
        document = _NUL.sub(rb"\1\\ufffd", document)
    return Json(document, dumps=_as_is)
