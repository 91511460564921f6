"""Which checkpoints a witness cosigns: those that continue what it cosigned before, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from tlog.checkpoint import Checkpoint
from tlog.errors import MalformedError, ProofError, SignatureError
from tlog.keys import SigningKey, VerifierKey, verify_note
from tlog.merkle import EMPTY_ROOT, Hash, verify_consistency
from tlog.note import Note
from tlog.witnessing import SIZE_TYPE, Submission


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest cosigned tree of a log; the empty tree if none was cosigned."""

    size: int = 0
    root: Hash = EMPTY_ROOT


class Refused(Exception):
    """A submission is refused with this status and text. The size in a conflict has a content type of its own."""

    def __init__(self, status: HTTPStatus, text: str, content_type: str = "text/plain; charset=utf-8") -> None:
        super().__init__(text)
        self.status, self.text, self.content_type = status, text, content_type


@dataclass(frozen=True, slots=True)
class Request:
    """A submission whose note is a checkpoint."""

    submission: Submission
    checkpoint: Checkpoint


def read_request(body: bytes) -> Request:
    """The body of a request. Raises: Refused: 400."""
    try:
        submission = Submission.parse(body)
        return Request(submission, Checkpoint.parse(submission.note.text))
    except MalformedError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{error}\n") from None


def check_signature(request: Request, keys: Sequence[VerifierKey]) -> Note:
    """The checkpoint with the signatures of its log alone, if there are any and the sizes are possible.

    `keys` are those of its origin; without any, the log is unknown. Raises: Refused: 404, 403 or 400.
    """
    if not keys:
        raise Refused(HTTPStatus.NOT_FOUND, "this witness does not know a log of this origin\n")
    try:
        verified = verify_note(request.submission.note, keys)
    except SignatureError as error:
        raise Refused(HTTPStatus.FORBIDDEN, f"{error}\n") from None
    if request.submission.old > request.checkpoint.size:
        raise Refused(HTTPStatus.BAD_REQUEST, "the old size is larger than that of the checkpoint\n")
    return Note(request.submission.note.text, tuple(each.signature for each in verified))


def check_growth(request: Request, latest: Latest) -> None:
    """Require that the checkpoint continues what was cosigned last. Raises: Refused: 409 or 422."""
    sent, checkpoint = request.submission, request.checkpoint
    if sent.old != latest.size:
        raise Refused(HTTPStatus.CONFLICT, f"{latest.size}\n", SIZE_TYPE)
    try:
        if checkpoint.size == 0 and checkpoint.root != EMPTY_ROOT:
            raise ProofError("an empty tree has another root")
        if latest.size == 0:
            # The empty tree is the beginning of any other, of which there is no proof.
            if sent.proof:
                raise ProofError("there is no proof from an empty tree")
        else:
            verify_consistency(latest.size, checkpoint.size, latest.root, checkpoint.root, sent.proof)
    except ProofError as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{error}\n") from None


def cosign(note: Note, keys: Sequence[SigningKey], time: int) -> Note:
    """The note with cosignatures added; `time` is the POSIX time."""
    return note.with_signatures(*(key.sign(note.text, time) for key in keys))
