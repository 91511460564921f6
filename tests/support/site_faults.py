"""Ways in which a site misbehaves, and the bytes of those that are no answer at all."""

from __future__ import annotations

from typing import Literal

Fault = Literal[
    "slow",
    "stalled_body",
    "rate_limited",
    "server_error",
    "not_found",
    "wrong_revision",
    "other_page",
    "huge",
    "gzip_bomb",
    "redirect_private",
    "redirect_loop",
    "invalid_json",
    "truncated_gzip",
    "truncated",
    "reset",
    "drips",
    "endless_headers",
    "interim_flood",
    "no_http",
    "bad_chunks",
    "two_lengths",
    "unknown_encoding",
    "deep_json",
    "wrong_types",
    "no_utf8",
    "redirect_file",
]
CHUNK = b"x" * 65_536

ENDLESS: dict[Fault, tuple[bytes, bytes]] = {
    "drips": (b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", b"x"),
    "endless_headers": (b"HTTP/1.1 200 OK\r\n", b"x-more: " + CHUNK + b"\r\n"),
    "interim_flood": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
}
"""What comes first, and what comes again and again."""

BROKEN: dict[Fault, bytes] = {
    "truncated": b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nsome",
    "no_http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "bad_chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n",
    "two_lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 20\r\n\r\n{}",
}
