"""Signed notes: a text, a blank line, and a line for each signature (C2SP signed-note).

This is their form only; keys.py signs and verifies. A note must not be believed before its signatures are verified.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from tlog.encoding import decode_base64, decode_text, encode_base64
from tlog.errors import MalformedError

MAX_BYTES: Final = 1_000_000
MAX_SIGNATURES: Final = 100
KEY_ID_BYTES: Final = 4

_DASH: Final = "\u2014 "
_NAME: Final = re.compile(r"[^\s+\x00-\x1f\ud800-\udfff]+")


def check_name(name: str) -> str:
    """The name, if a key may have it: not empty; no white space, plus or control character. Raises: MalformedError."""
    if not _NAME.fullmatch(name):
        raise MalformedError(f"a key's name has at least one character, no blank, no + and no control: {name[:80]!r}")
    return name


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line. Name and key id together tell which key made it. Units: the id has 4 bytes."""

    name: str
    key_id: bytes
    value: bytes

    @classmethod
    def parse(cls, line: str) -> Signature:
        """A signature line without its newline. Raises: MalformedError."""
        name, space, encoded = line.removeprefix(_DASH).partition(" ")
        if not line.startswith(_DASH) or not space:
            raise MalformedError(f"not a signature line: {line[:80]!r}")
        data = decode_base64(encoded)
        if len(data) <= KEY_ID_BYTES:
            raise MalformedError(f"a signature line without a signature: {line[:80]!r}")
        return cls(check_name(name), data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])

    def __str__(self) -> str:
        """The line, without its newline."""
        return f"{_DASH}{self.name} {encode_base64(self.key_id + self.value)}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends in a newline, and its signatures."""

    text: str
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, data: bytes) -> Note:
        """A note as it is sent. Raises: MalformedError."""
        if len(data) > MAX_BYTES:
            raise MalformedError(f"a note of more than {MAX_BYTES} bytes")
        text, blank, lines = decode_text(data).rpartition("\n\n")
        if not blank or not text or not lines.endswith("\n"):
            raise MalformedError("a note has a text, a blank line, and signature lines that end in a newline")
        return cls(text + "\n", parse_signatures(lines))

    def __bytes__(self) -> bytes:
        """The note as it is sent."""
        return "\n".join([self.text, *map(str, self.signatures), ""]).encode()

    def with_signatures(self, *added: Signature) -> Note:
        """The note with further signatures; a later one replaces that of the same key."""
        keys = {(each.name, each.key_id) for each in added}
        kept = [each for each in self.signatures if (each.name, each.key_id) not in keys]
        return replace(self, signatures=(*kept, *added))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """One or more signature lines, each with its newline, as witnesses answer. Raises: MalformedError."""
    if not lines.endswith("\n"):
        raise MalformedError("a signature line ends in a newline")
    split = lines[:-1].split("\n")
    if len(split) > MAX_SIGNATURES:
        raise MalformedError(f"a note with more than {MAX_SIGNATURES} signatures")
    return tuple(map(Signature.parse, split))
