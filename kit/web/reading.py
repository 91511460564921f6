"""Reading untrusted documents in a child process with limits on time and memory.

A hostile HTML or PDF can keep a parser running for hours, and a thread cannot be stopped. The child has no connection,
no key and no environment of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kit.web import readable as child
from kit.web.readable import Readable, Unreadable, read_document

MAX_CONCURRENCY: Final = 2
_IN_PROCESS_BYTES: Final = 1_000_000
_COMMAND: Final = (sys.executable, "-I", str(Path(child.__file__).resolve()))


class Reader:
    """Reads documents, a few at a time. Units: `within_s` for one, without the time in the queue."""

    def __init__(self, *, within_s: float = 10.0, command: Sequence[str] = _COMMAND) -> None:
        self._within_s = within_s
        self._command = command
        self._slots = asyncio.Semaphore(MAX_CONCURRENCY)

    async def read(self, data: bytes, content_type: str | None) -> Readable:
        """As `read_document`, within bounds. Raises: Unreadable."""
        if len(data) <= _IN_PROCESS_BYTES and child.detect_kind(data, content_type) == "plain":
            return read_document(data, content_type)
        async with self._slots:
            return await self._read_in_subprocess(data, content_type or "")

    async def _read_in_subprocess(self, data: bytes, content_type: str) -> Readable:
        process = await asyncio.create_subprocess_exec(
            *self._command,
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
        if process.returncode != 0:
            raise Unreadable("reading it needed too much time or memory")
        answer = json.loads(output)
        if "unreadable" in answer:
            raise Unreadable(answer["unreadable"])
        return Readable(**answer)
