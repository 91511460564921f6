"""Checkpoints: what a log says of its tree, as the text of a note (C2SP tlog-checkpoint)."""

from __future__ import annotations

from dataclasses import dataclass

from tlog.encoding import decode_hash, decode_text, encode_base64, parse_decimal
from tlog.errors import MalformedError
from tlog.merkle import Hash


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The log named `origin` has `size` leaves with this root. Extension lines are opaque, and should be absent."""

    origin: str
    size: int
    root: Hash
    extensions: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """The text of a note as a checkpoint. Raises: MalformedError."""
        lines = decode_text(text.encode()).split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise MalformedError("a checkpoint has three or more lines, none empty, each with its newline")
        origin, size, root, *extensions = lines
        return cls(origin, parse_decimal(size), decode_hash(root), tuple(extensions))

    def __str__(self) -> str:
        """The text that is signed."""
        return "\n".join([self.origin, str(self.size), encode_base64(self.root), *self.extensions, ""])
