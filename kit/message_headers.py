"""Message headers that are parsed only when read, and written in a fraction of the client library's time.

Each fact has a dozen headers with few different names, and most readers of a fact need none of them. The library
examines every character of every name of every message, in both directions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final

from nats.aio.client import _HEADER_KEY_RE, _HEADER_VALUE_NEWLINES, Client
from nats.errors import BadHeaderError
from nats.protocol.command import hpub_cmd

_VERSION: Final = "NATS/1.0\r\n"


def install(client: Client) -> None:
    """Make a connection parse and write headers with this module."""
    client._parse_header_lines = Headers  # type: ignore[assignment,method-assign]  # the library has no setting for it
    client._send_publish = partial(_send, client, client._send_publish)  # type: ignore[method-assign]  # nor for this


class Headers(Mapping[str, str]):
    """The values by name. True in a boolean context even if empty: to know that, they would have to be parsed."""

    __slots__ = ("_parsed", "_raw")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._parsed: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._values()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __bool__(self) -> bool:
        return True

    def _values(self) -> dict[str, str]:
        if self._parsed is None:
            self._parsed = parse(self._raw)
        return self._parsed


def parse(raw: bytes) -> dict[str, str]:
    """The values by name, without lines that have no valid name, as in the library."""
    found: dict[str, str] = {}
    for line in raw.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon and (known := _read_name(name)) is not None:
            found[known] = value.strip().decode("utf-8", "replace")
    return found


def write(headers: Mapping[str, str]) -> bytes:
    """The headers as they are sent. Raises: BadHeaderError: a name has an invalid character."""
    lines = [f"{_write_name(name)}{_write_value(value)}\r\n" for name, value in headers.items() if name.strip()]
    return f"{_VERSION}{''.join(lines)}\r\n".encode()


async def _send(
    client: Client,
    send_plain: Callable[..., Awaitable[None]],
    subject: str,
    reply: str,
    payload: bytes,
    payload_size: int,
    headers: Mapping[str, str] | None,
) -> None:
    if headers is None:
        await send_plain(subject, reply, payload, payload_size, headers)
        return
    command = hpub_cmd(subject, reply, write(headers), payload)
    client.stats["out_msgs"] += 1
    client.stats["out_bytes"] += payload_size
    await client._send_command(command)
    if client._flush_queue is not None and client._flush_queue.empty():
        await client._flush_pending()


@lru_cache(maxsize=256)
def _read_name(raw: bytes) -> str | None:
    """The header's name, or None if it is not ASCII or contains white space."""
    try:
        name = raw.strip().decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if any(map(str.isspace, name)) else name


@lru_cache(maxsize=256)
def _write_name(raw: str) -> str:
    name = raw.strip()
    if not _HEADER_KEY_RE.fullmatch(name):
        raise BadHeaderError(name)
    return f"{name}: "


def _write_value(value: str) -> str:
    stripped = value.strip()
    has_newlines = "\n" in stripped or "\r" in stripped  # translating takes longer than all the rest
    return stripped.translate(_HEADER_VALUE_NEWLINES) if has_newlines else stripped
