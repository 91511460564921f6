"""Reading a stranger's document in a child process that is stopped when it takes too long or too much memory.

Parsers of HTML and PDF can be made to run for hours, and a thread cannot be stopped; in this process it would take
everybody else with it. Nothing of ours is in the child: no connection, no key, no environment.
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
from kit.web.readable import Readable, Unreadable, readable

AT_ONCE: Final = 2
_IN_PROCESS_BYTES: Final = 1_000_000
_COMMAND: Final = (sys.executable, "-I", str(Path(child.__file__).resolve()))


class Reader:
    """Reads documents, a few at a time. Units: `within_s` for one, waiting for its turn not counted."""

    def __init__(self, *, within_s: float = 10.0, command: Sequence[str] = _COMMAND) -> None:
        self._within_s = within_s
        self._command = command
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def read(self, data: bytes, content_type: str | None) -> Readable:
        """As `readable`, within bounds. Raises: Unreadable."""
        if len(data) <= _IN_PROCESS_BYTES and child.kind(data, content_type) == "plain":
            return readable(data, content_type)
        async with self._turn:
            return await self._apart(data, content_type or "")

    async def _apart(self, data: bytes, content_type: str) -> Readable:
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
                said, _ = await process.communicate(data)
        except TimeoutError:
            raise Unreadable(f"reading it took longer than {self._within_s:g} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode != 0:
            raise Unreadable("reading it needed too much time or memory")
        answer = json.loads(said)
        if "unreadable" in answer:
            raise Unreadable(answer["unreadable"])
        return Readable(answer["title"], answer["text"])
