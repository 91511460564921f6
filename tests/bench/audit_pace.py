"""Jobs at a steady pace, from a process of its own."""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection

from kit.bus import connect
from services.commands.shared import run
from tests.bench.audit_jobs import Jobs
from tests.bench.audit_model import fresh_article


def main(pipe: Connection, nats_url: str) -> None:
    """Take orders: a pace in jobs a second from now on, 0 for none; each is answered by the jobs that have ended."""
    run(_serve(pipe, nats_url))


async def _serve(pipe: Connection, nats_url: str) -> None:
    loop = asyncio.get_running_loop()
    async with connect(nats_url, name="jobs") as bus:
        jobs = Jobs(bus)
        await jobs.open()
        ended, running = 0, set[asyncio.Task[float]]()

        def count(task: asyncio.Task[float]) -> None:
            nonlocal ended
            running.discard(task)
            ended += not task.cancelled() and task.exception() is None

        async def go(per_second: float) -> None:
            at = loop.time()
            while True:
                task = asyncio.create_task(jobs.audit(fresh_article()))
                running.add(task)
                task.add_done_callback(count)
                at += 1 / per_second
                await asyncio.sleep(max(0.0, at - loop.time()))

        going: asyncio.Task[None] | None = None
        while True:
            try:
                pace: float = await loop.run_in_executor(None, pipe.recv)
            except EOFError:
                break
            if going is not None:
                going.cancel()
            going = asyncio.create_task(go(pace)) if pace else None
            if not pace and running:
                await asyncio.wait(running)
            pipe.send(ended)
        if going is not None:
            going.cancel()
