"""A job's id on the wire: the 128 bits of its UUIDv7 as a ULID, which sorts by time as text.

Source: github.com/ulid/spec; Crockford's base 32, read without regard to case.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_ULID: Final = re.compile(rf"[0-7][{_DIGITS}]{{25}}", re.IGNORECASE | re.ASCII)
_LENGTH: Final = 26


def format_job_id(job_id: UUID) -> str:
    """The ULID of a job's id: 26 characters."""
    return "".join(_DIGITS[job_id.int >> 5 * place & 31] for place in reversed(range(_LENGTH)))


def parse_job_id(text: str) -> UUID | None:
    """The UUID of a ULID, or None if `text` is not a ULID."""
    if _ULID.fullmatch(text) is None:
        return None
    number = 0
    for digit in text.upper():
        number = number << 5 | _VALUES[digit]
    return UUID(int=number)
