"""Proofs that an entry is in a log, which can be checked offline (C2SP tlog-proof)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tlog.checkpoint import Checkpoint
from tlog.encoding import decode_base64, decode_hash, encode_base64, parse_decimal
from tlog.errors import MalformedError
from tlog.merkle import Hash, verify_inclusion
from tlog.note import Note
from tlog.policy import Policy, Valid

HEADER: Final = "c2sp.org/tlog-proof@v1"
MAX_HASHES: Final = 63
MAX_BYTES: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Proof:
    """The entry at `index` is in the log that signed `note`. `extra` is not authenticated."""

    index: int
    hashes: tuple[Hash, ...]
    note: Note
    extra: bytes | None = None

    @classmethod
    def parse(cls, data: bytes) -> Proof:
        """A `.tlog-proof` file. Raises: MalformedError."""
        if len(data) > MAX_BYTES:
            raise MalformedError(f"a proof of more than {MAX_BYTES} bytes")
        head, blank, note = data.partition(b"\n\n")
        if not blank or not head.isascii():
            raise MalformedError("a proof has ASCII lines, a blank line and a checkpoint")
        header, *lines = head.decode("ascii").split("\n")
        if header != HEADER:
            raise MalformedError(f"a proof starts with {HEADER}")
        extra = decode_base64(lines.pop(0).removeprefix("extra ")) if lines and lines[0].startswith("extra ") else None
        if extra == b"":
            raise MalformedError("empty extra data is left out")
        if not lines or not lines[0].startswith("index "):
            raise MalformedError("a proof has an index")
        index = parse_decimal(lines.pop(0).removeprefix("index "))
        if len(lines) > MAX_HASHES:
            raise MalformedError(f"a proof of more than {MAX_HASHES} hashes")
        proof = cls(index, tuple(map(decode_hash, lines)), Note.parse(note), extra)
        Checkpoint.parse(proof.note.text)
        return proof

    def __bytes__(self) -> bytes:
        """The proof as a file."""
        extra = [f"extra {encode_base64(self.extra)}"] if self.extra else []
        lines = [HEADER, *extra, f"index {self.index}", *map(encode_base64, self.hashes), "", ""]
        return "\n".join(lines).encode() + bytes(self.note)

    def verify(self, leaf: Hash, policy: Policy) -> Valid:
        """The checkpoint, if the policy accepts it and the leaf with this hash is in it.

        Raises: MalformedError, SignatureError, QuorumError, ProofError.
        """
        valid = policy.verify(self.note)
        verify_inclusion(self.index, valid.checkpoint.size, leaf, valid.checkpoint.root, self.hashes)
        return valid
