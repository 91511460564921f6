"""A log's request to a witness, and what the log does after each answer (C2SP tlog-witness).

A witness that knows more of a log than the log itself, or another root, is the sign of a fork: an old database was
restored, or a key was stolen. Nothing is signed after that until an operator has looked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from tlog.checkpoint import Checkpoint
from tlog.encoding import decode_hash, encode_base64, parse_decimal
from tlog.errors import MalformedError, SignatureError, TlogError
from tlog.keys import Verified, VerifierKey
from tlog.merkle import Hash
from tlog.note import Note, parse_signatures

PATH: Final = "add-checkpoint"
SIZE_TYPE: Final = "text/x.tlog.size"
"""The content type of a 409 that names a size."""
MAX_HASHES: Final = 63
MAX_TRIES: Final = 3
DAY_S: Final = 86_400
FIRST_PAUSE_S: Final = 10
LONGEST_PAUSE_S: Final = 3_600

_OLD: Final = "old "


@dataclass(frozen=True, slots=True)
class Submission:
    """A checkpoint for a witness that cosigned `old` leaves last, with the proof from there, empty if `old` is 0."""

    old: int
    proof: tuple[Hash, ...]
    note: Note

    @classmethod
    def parse(cls, data: bytes) -> Submission:
        """The submission in a request's body. Does not check that the note is a checkpoint. Raises: MalformedError."""
        head, blank, note = data.partition(b"\n\n")
        if not blank or not head.isascii():
            raise MalformedError("a submission has an old size, hashes, an empty line and a checkpoint")
        first, *hashes = head.decode("ascii").split("\n")
        if not first.startswith(_OLD):
            raise MalformedError("a submission starts with the old size")
        if len(hashes) > MAX_HASHES:
            raise MalformedError(f"a proof of more than {MAX_HASHES} hashes")
        return cls(parse_decimal(first.removeprefix(_OLD)), tuple(map(decode_hash, hashes)), Note.parse(note))

    def __bytes__(self) -> bytes:
        """The body of a request."""
        lines = [f"{_OLD}{self.old}", *map(encode_base64, self.proof), "", ""]
        return "\n".join(lines).encode() + bytes(self.note)


@dataclass(frozen=True, slots=True)
class Answer:
    """A witness's answer. `status` is None after a timeout or a failed connection."""

    status: int | None
    body: bytes = b""
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Cosigned:
    """The witness cosigned: the signatures by known keys that verify, one or more."""

    signatures: tuple[Verified, ...]


@dataclass(frozen=True, slots=True)
class ProveFrom:
    """The witness is at this size: send the checkpoint again, with the proof from there."""

    old: int


@dataclass(frozen=True, slots=True)
class StopSigning:
    """The witness has cosigned what this log does not have: sign nothing until an operator has looked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Alarm:
    """A permanent error: raise an alarm, and do not send this checkpoint to this witness again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait, then send the checkpoint that is newest then. `failed`: count one more failure in a row."""

    seconds: int
    reason: str
    failed: bool


Action: TypeAlias = Cosigned | ProveFrom | StopSigning | Alarm | Wait


def decide(
    sent: Submission, answer: Answer, keys: Collection[VerifierKey], tries: int = 1, failures: int = 0
) -> Action:
    """What to do after an answer.

    `keys` are those of the witness. `tries` counts how often this checkpoint was sent in a row, this time included;
    `failures` how often the witness failed in a row before.
    """
    match answer.status:
        case 200:
            return _keep_valid(sent.note, answer.body, keys)
        case 409:
            return _prove_again(sent, answer, tries, failures)
        case 422 if sent.old == _size(sent):
            return StopSigning("the witness cosigned another root of the same size")
        case 404:
            return Wait(DAY_S, "the witness does not know this log", failed=False)
        case None:
            return _back_off("the witness does not answer", failures)
        case status if status == 429 or 500 <= status <= 599:
            return _back_off(f"the witness answered {status}", failures)
        case status:
            return Alarm(f"the witness refused the checkpoint with {status}")


def _keep_valid(note: Note, body: bytes, keys: Collection[VerifierKey]) -> Action:
    try:
        lines = parse_signatures(body.decode())
    except (UnicodeDecodeError, MalformedError):
        return Alarm("the witness cosigned with lines that are no signatures")
    verified = []
    for line in lines:
        for key in keys:
            try:
                verified.append(Verified(key, line, key.verify(note.text, line)))
            except SignatureError:
                continue  # by another key, or forged
    if not verified:
        return Alarm("the witness cosigned with no valid signature by its keys")
    return Cosigned(tuple(verified))


def _prove_again(sent: Submission, answer: Answer, tries: int, failures: int) -> Action:
    size = _size(sent)
    named = _named_size(answer)
    if named is not None and named > size:
        return StopSigning(f"the witness cosigned {named} leaves, more than the {size} of this log")
    if sent.old == size and named in (None, size):
        # The specification asks for 409 in this case; some witnesses answer 422.
        return StopSigning("the witness cosigned another root of the same size")
    if named is None:
        return Alarm("the witness refused the old size without naming its own")
    if named == sent.old:
        return Alarm(f"the witness refused the old size {named} and named the same")
    if tries >= MAX_TRIES:
        return _back_off(f"the witness named another size {tries} times", failures)
    return ProveFrom(named)


def _named_size(answer: Answer) -> int | None:
    if answer.content_type.partition(";")[0].strip().lower() != SIZE_TYPE or not answer.body.endswith(b"\n"):
        return None
    try:
        return parse_decimal(answer.body[:-1].decode("ascii"))
    except (UnicodeDecodeError, TlogError):
        return None


def _size(sent: Submission) -> int:
    return Checkpoint.parse(sent.note.text).size


def _back_off(reason: str, failures: int) -> Wait:
    pause = LONGEST_PAUSE_S if failures > 16 else min(LONGEST_PAUSE_S, FIRST_PAUSE_S << failures)
    return Wait(pause, reason, failed=True)
