"""Headers of messages are read as the client library reads them."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from nats.aio.client import Client

from kit import message_headers

NAMES = st.sampled_from([b"ce-id", b" Nats-Sequence ", b"two words", b"\xc3\xa9", b"", b"\tx", b"a\x1cb"]) | st.binary(
    max_size=6
)
VALUES = st.sampled_from([b"1", b"  a: b ", b"\xff", "äöü".encode(), b""]) | st.binary(max_size=6)
LINES = st.builds(lambda name, colon, value: name + colon + value, NAMES, st.sampled_from([b":", b": ", b""]), VALUES)


@given(st.lists(LINES, max_size=6).map(b"\r\n".join))
@example(b"a: 1\r\na: 2\r\n\r\n")
def test_headers_are_those_that_the_library_finds(raw: bytes) -> None:
    assert message_headers.parse(raw) == Client._parse_header_lines(raw)


async def test_a_connection_parses_with_what_is_installed() -> None:
    client = Client()
    message_headers.install(client)
    before = message_headers._read_name.cache_info().misses
    assert await client._process_headers(b"NATS/1.0\r\nNever-Seen-Before: 1\r\n\r\n") == {"Never-Seen-Before": "1"}
    assert message_headers._read_name.cache_info().misses == before + 1
