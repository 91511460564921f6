"""What a log does on each answer of a witness."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tlogs import NOW, ExampleLog, leaf_hashes, signing_key
from tlog.errors import MalformedError
from tlog.keys import Algorithm
from tlog.witnessing import (
    LONGEST_PAUSE_S,
    SIZE_TYPE,
    Action,
    Alarm,
    Answer,
    Cosigned,
    ProveFrom,
    StopSigning,
    Submission,
    Wait,
    decide,
)

LOG = ExampleLog(leaf_hashes(9))
WITNESS = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
SECOND = signing_key("witness.example/w1", Algorithm.ML_DSA_44)
STRANGER = signing_key("stranger.example/w1", Algorithm.COSIGNATURE)
KEYS = (WITNESS.verifier, SECOND.verifier)
NOTE = LOG.note(9)
SENT = Submission(5, LOG.consistency(5, 9), NOTE)
SAME = Submission(9, (), NOTE)


def cosigned(*lines: object) -> Answer:
    """A 200 with these lines."""
    return Answer(200, "".join(f"{line}\n" for line in lines).encode())


def conflict(size: object, content_type: str = SIZE_TYPE) -> Answer:
    """A 409 that names a size."""
    return Answer(409, f"{size}\n".encode(), content_type)


GOOD = WITNESS.sign(NOTE.text, NOW)
QUANTUM = SECOND.sign(NOTE.text, NOW)
FOREIGN = STRANGER.sign(NOTE.text, NOW)
BAD = replace(GOOD, value=bytes(72))


@pytest.mark.requirement("TR-13")
@pytest.mark.parametrize(
    ("sent", "answer", "expected"),
    [
        (SENT, cosigned("\u2014 garbage"), Alarm),
        (SENT, cosigned(FOREIGN), Alarm),
        (SENT, cosigned(BAD), Alarm),
        (SENT, Answer(200), Alarm),
        (SENT, Answer(200, b"\xff\n"), Alarm),
        (SENT, conflict(3), ProveFrom(3)),
        (SENT, conflict(0), ProveFrom(0)),
        (SENT, conflict(9), ProveFrom(9)),
        (SENT, conflict(3, f"{SIZE_TYPE}; charset=utf-8"), ProveFrom(3)),
        (SENT, conflict(10), StopSigning),
        (SAME, conflict(10), StopSigning),
        (SAME, conflict(9), StopSigning),
        (SAME, conflict("", "text/plain"), StopSigning),
        (SAME, conflict(3), ProveFrom(3)),
        (SENT, conflict(5), Alarm),
        (SENT, conflict(3, "text/plain"), Alarm),
        (SENT, conflict("03"), Alarm),
        (SENT, Answer(409, b"3", SIZE_TYPE), Alarm),
        (SAME, Answer(422), StopSigning),
        (SENT, Answer(422), Alarm),
        (SENT, Answer(404), Wait(86_400, "the witness does not know this log", failed=False)),
        (SENT, Answer(403), Alarm),
        (SENT, Answer(400), Alarm),
        (SENT, Answer(302), Alarm),
        (SENT, Answer(418), Alarm),
        (SENT, Answer(600), Alarm),
        (SENT, Answer(429), Wait),
        (SENT, Answer(500), Wait),
        (SENT, Answer(503), Wait),
        (SENT, Answer(None), Wait),
    ],
)
def test_each_answer_has_its_action(sent: Submission, answer: Answer, expected: Action | type[Action]) -> None:
    """The client of a witness acts on each answer: it keeps cosignatures, proves again, waits or stops."""
    action = decide(sent, answer, KEYS)
    assert action == expected if not isinstance(expected, type) else isinstance(action, expected)


@pytest.mark.requirement("TR-13")
def test_keeps_the_valid_lines_of_known_keys() -> None:
    """The client of a witness acts on each answer: it keeps cosignatures, proves again, waits or stops."""
    action = decide(SENT, cosigned(FOREIGN, GOOD, BAD, QUANTUM), KEYS)
    assert isinstance(action, Cosigned)
    assert [each.signature for each in action.signatures] == [GOOD, QUANTUM]
    assert {each.time for each in action.signatures} == {NOW}


def test_proves_again_three_times_at_most() -> None:
    """A witness that names another size each time is asked again later."""
    assert decide(SENT, conflict(3), KEYS, tries=2) == ProveFrom(3)
    assert isinstance(decide(SENT, conflict(3), KEYS, tries=3), Wait)
    assert isinstance(decide(SENT, conflict(10), KEYS, tries=3), StopSigning)


@pytest.mark.parametrize(("failures", "seconds"), [(0, 10), (1, 20), (5, 320), (9, 3600), (10_000, LONGEST_PAUSE_S)])
def test_backs_off_to_an_hour(failures: int, seconds: int) -> None:
    """Each failure in a row doubles the pause."""
    action = decide(SENT, Answer(None), KEYS, failures=failures)
    assert (isinstance(action, Wait) and action.failed and action.seconds) == seconds


@given(st.integers(0, 2**63 - 1), st.lists(st.binary(min_size=32, max_size=32), max_size=63))
def test_submissions_are_read_as_they_are_written(old: int, proof: list[bytes]) -> None:
    """There is one spelling of each request."""
    sent = Submission(old, tuple(proof), NOTE)
    assert Submission.parse(bytes(sent)) == sent


@pytest.mark.parametrize(
    "change",
    [
        (b"old 5", b"old 05"),
        (b"old 5", b"old  5"),
        (b"old 5", b"old -5"),
        (b"old 5", b"old"),
        (b"old 5", b"new 5"),
        (b"old 5", b"old 5 "),
        (b"old 5", b"old 5\r"),
        (b"old 5\n", b""),
        (b"old 5\n", b"old 5\nA\n"),
        (b"old 5\n", b"old 5\n" + (b"A" * 43 + b"=\n") * 61),
        ("\n\n\u2014".encode(), "\n\u2014".encode()),
    ],
)
def test_refuses_other_spellings_of_a_submission(change: tuple[bytes, bytes]) -> None:
    """What a witness answers with 400."""
    changed = bytes(SENT).replace(*change)
    assert changed != bytes(SENT)
    with pytest.raises(MalformedError):
        Submission.parse(changed)
