"""Reading untrusted documents in a child process with limits on time and memory.

A hostile HTML or PDF can keep a parser running for hours, and a thread cannot be stopped. The child has no connection,
no key and no environment of ours.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from kit.documents import child
from kit.documents.article import ReadArticle, read_article
from kit.documents.decoding import Interrupted, Unreadable, detect_kind
from kit.documents.readable import Readable, read_document

MAX_CONCURRENCY: Final = 2
_IN_PROCESS_BYTES: Final = 1_000_000
_FROM_OUTSIDE: Final = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT})
"""Exit codes of a child that the system or an operator ended; its own limits end it with another one."""
_COMMAND: Final = (sys.executable, "-I", str(Path(child.__file__).resolve()))

Answer = dict[str, Any]
"""The fields of a Readable or ReadArticle, as the child wrote them."""


class Reader:
    """Reads documents, MAX_CONCURRENCY at a time. Units: `within_s` for one, without its time in the queue."""

    def __init__(self, *, within_s: float = 10.0, command: Sequence[str] = _COMMAND) -> None:
        self._within_s = within_s
        self._command = command
        self._slots = asyncio.Semaphore(MAX_CONCURRENCY)

    async def read(self, data: bytes, content_type: str | None) -> Readable:
        """`read_document` with limits. Raises: Unreadable, and its subclass Interrupted: the child was killed."""
        if _is_small(data, content_type):
            return read_document(data, content_type)
        return Readable(**await self._read("text", data, content_type))

    async def read_article(self, data: bytes, content_type: str | None) -> ReadArticle:
        """The function `read_article` with limits. Raises: see `read`."""
        if _is_small(data, content_type):
            return read_article(data, content_type)
        return ReadArticle(**await self._read("article", data, content_type))

    async def _read(self, form: Literal["text", "article"], data: bytes, content_type: str | None) -> Answer:
        async with self._slots:
            return await self._read_in_subprocess(form, data, content_type or "")

    async def _read_in_subprocess(self, form: str, data: bytes, content_type: str) -> Answer:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            form,
            content_type.replace("\0", "")[:200],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(self._within_s):
                output, _ = await process.communicate(data)
        except TimeoutError:
            raise Unreadable(f"reading it took longer than {self._within_s:g} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode in _FROM_OUTSIDE:
            raise Interrupted("the process that read it was ended")
        if process.returncode != 0:
            raise Unreadable("reading it needed too much time or memory")
        answer: Answer = json.loads(output)
        if "unreadable" in answer:
            raise Unreadable(answer["unreadable"])
        return answer


def _is_small(data: bytes, content_type: str | None) -> bool:
    """Whether a document is short plain text, which needs no parser."""
    return len(data) <= _IN_PROCESS_BYTES and detect_kind(data, content_type) == "plain"
