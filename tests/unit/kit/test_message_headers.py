"""Headers of messages are read and written as the client library does it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.errors import BadHeaderError

from kit import message_headers

NAMES = st.sampled_from([b"ce-id", b" Nats-Sequence ", b"two words", b"\xc3\xa9", b"", b"\tx", b"a\x1cb"]) | st.binary(
    max_size=6
)
VALUES = st.sampled_from([b"1", b"  a: b ", b"\xff", "äöü".encode(), b""]) | st.binary(max_size=6)
LINES = st.builds(lambda name, colon, value: name + colon + value, NAMES, st.sampled_from([b":", b": ", b""]), VALUES)
WRITTEN_NAMES = st.sampled_from(["ce-id", " Nats-Msg-Id\t", "two words", "é", "", " ", "a:b"]) | st.text(max_size=6)
WRITTEN_VALUES = st.sampled_from(["1", " a: b ", "a\r\nb: c", "ä\n", "", "\x85x\x1c"]) | st.text(max_size=6)


class Recorder(Client):
    """A connection that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    async def _send_command(self, cmd: bytes, priority: bool = False) -> None:
        self.sent.append(bytes(cmd))


async def send(client: Recorder, headers: dict[str, str] | None) -> tuple[list[bytes], int]:
    """What a publication would send and count; nothing if a name is refused."""
    try:
        await client._send_publish("subject", "reply", b"payload", 7, headers)
    except BadHeaderError:
        assert client.sent == []
    return client.sent, client.stats["out_bytes"]


@given(st.lists(LINES, max_size=6).map(b"\r\n".join))
@example(b"a: 1\r\na: 2\r\n\r\n")
def test_headers_are_those_that_the_library_finds(raw: bytes) -> None:
    assert message_headers.Headers(raw) == Client._parse_header_lines(raw)


@given(st.none() | st.dictionaries(WRITTEN_NAMES, WRITTEN_VALUES, max_size=5))
@example({"a": "1\r\nb: 2"})
async def test_headers_are_sent_as_the_library_sends_them(headers: dict[str, str] | None) -> None:
    ours = Recorder()
    message_headers.install(ours)
    assert await send(ours, headers) == await send(Recorder(), headers)


async def test_a_connection_parses_with_what_is_installed() -> None:
    client = Client()
    message_headers.install(client)
    before = message_headers._read_name.cache_info().misses
    found = await client._process_headers(b"NATS/1.0\r\nNever-Seen-Before: 1\r\n\r\n")
    assert message_headers._read_name.cache_info().misses == before
    assert found == {"Never-Seen-Before": "1"}
    assert message_headers._read_name.cache_info().misses == before + 1


async def test_a_status_comes_with_its_headers() -> None:
    client = Client()
    message_headers.install(client)
    heartbeat = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Stream: 7\r\n\r\n"
    found = await client._process_headers(heartbeat)
    assert found == {"Status": "100", "Description": "Idle Heartbeat", "Nats-Last-Stream": "7"}
    assert found == await Client()._process_headers(heartbeat)
