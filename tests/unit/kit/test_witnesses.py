"""The client of a witness, against a scripted one on the loopback."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
import pytest

from kit.witnesses import MAX_ANSWER_BYTES, ask
from tests.support.tlogs import NOW, ExampleLog, leaf_hashes, signing_key
from tlog.keys import Algorithm
from tlog.merkle import Hash
from tlog.witnessing import Action, Alarm, Cosigned, StopSigning, Submission, Wait

LOG = ExampleLog(leaf_hashes(9))
WITNESS = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
NOTE = LOG.note(9)
COSIGNED = ("200 OK", f"{WITNESS.sign(NOTE.text, NOW)}\n".encode())

Scripted = tuple[str, bytes]


@dataclass
class Witness:
    """Answers as it is written, and keeps what it was sent. After the last answer it is silent."""

    script: Sequence[Scripted]
    sent: list[Submission] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                assert head.startswith(b"POST /prefix/add-checkpoint HTTP/1.1\r\n")
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                self.sent.append(Submission.parse(await reader.readexactly(length)))
                if len(self.sent) <= len(self.script):
                    status, body = self.script[len(self.sent) - 1]
                    fields = (
                        f"HTTP/1.1 {status}\r\nContent-Type: text/x.tlog.size\r\nContent-Length: {len(body)}\r\n\r\n"
                    )
                    writer.write(fields.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def prove(old: int, new: int) -> tuple[Hash, ...]:
    """What the log would read from its tiles."""
    return LOG.consistency(old, new)


async def ask_scripted(*script: Scripted, old: int = 5) -> tuple[Action, list[Submission]]:
    """The action, and what the witness was sent."""
    witness = Witness(script)
    server = await asyncio.start_server(witness.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/prefix/"
    async with server, httpx.AsyncClient(trust_env=False) as http:
        action = await ask(http, url, [WITNESS.verifier], NOTE, old, prove)
    return action, witness.sent


@pytest.mark.requirement("TR-13")
async def test_sends_the_proof_from_the_size_that_the_witness_names() -> None:
    """The client of a witness acts on each answer: it keeps cosignatures, proves again, waits or stops."""
    action, sent = await ask_scripted(("409 Conflict", b"3\n"), COSIGNED)
    assert isinstance(action, Cosigned)
    assert sent == [Submission(5, LOG.consistency(5, 9), NOTE), Submission(3, LOG.consistency(3, 9), NOTE)]


@pytest.mark.parametrize("old", [0, 9])
async def test_sends_no_proof_from_nothing_and_from_the_same_size(old: int) -> None:
    """Neither has one."""
    action, sent = await ask_scripted(COSIGNED, old=old)
    assert isinstance(action, Cosigned)
    assert sent == [Submission(old, (), NOTE)]


@pytest.mark.requirement("TR-13")
async def test_stops_where_a_witness_knows_more() -> None:
    """The client of a witness acts on each answer: it keeps cosignatures, proves again, waits or stops."""
    action, sent = await ask_scripted(("409 Conflict", b"9\n"), ("422 Unprocessable Entity", b""))
    assert isinstance(action, StopSigning)
    assert [each.old for each in sent] == [5, 9]
    assert isinstance((await ask_scripted(("409 Conflict", b"10\n")))[0], StopSigning)


async def test_sends_a_checkpoint_three_times_at_most() -> None:
    """A witness that goes on naming sizes gets no fourth request."""
    action, sent = await ask_scripted(*(("409 Conflict", b"%d\n" % size) for size in (4, 3, 2, 1)))
    assert isinstance(action, Wait)
    assert [each.old for each in sent] == [5, 4, 3]


async def test_a_silent_witness_is_not_waited_for() -> None:
    """Nor is one that nobody serves."""
    sent: list[bytes] = []

    async def hold(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        await asyncio.Event().wait()
        raise AssertionError

    async with httpx.AsyncClient(transport=httpx.MockTransport(hold)) as http:
        action = await ask(http, "http://witness.example/", [], NOTE, 0, prove, timeout_s=0.01)
    assert (isinstance(action, Wait) and action.failed, len(sent)) == (True, 1)
    async with httpx.AsyncClient(trust_env=False) as http:
        assert isinstance(await ask(http, "http://127.0.0.1:1", [], NOTE, 0, prove), Wait)


async def test_no_redirect_is_followed() -> None:
    """An address that a witness names is not the operator's."""
    action, sent = await ask_scripted(("307 Temporary Redirect\r\nLocation: /prefix/add-checkpoint", b""), COSIGNED)
    assert (isinstance(action, Cosigned), len(sent)) == (False, 1)


async def test_an_answer_without_end_is_cut_off() -> None:
    """What is longer than any answer is none."""
    action, _ = await ask_scripted(("200 OK", COSIGNED[1] * (MAX_ANSWER_BYTES // len(COSIGNED[1]) + 1)))
    assert isinstance(action, Alarm)


@pytest.mark.parametrize(
    ("encoding", "body", "kind"),
    [
        ("gzip", gzip.compress(COSIGNED[1]), Cosigned),
        ("gzip", gzip.compress(bytes(100 * MAX_ANSWER_BYTES)), Alarm),
        ("gzip, gzip", gzip.compress(gzip.compress(COSIGNED[1])), Alarm),
    ],
)
async def test_a_small_answer_is_not_unpacked_to_a_large_one(encoding: str, body: bytes, kind: type[Action]) -> None:
    """Packed twice, three kilobytes are gigabytes; who reads the answer ends before."""
    action, _ = await ask_scripted((f"200 OK\r\nContent-Encoding: {encoding}", body))
    assert isinstance(action, kind)
