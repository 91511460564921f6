"""Command line: `python -m tests.fuzz --requests 1000000 --seed 7`; exit status 1 if anything was found."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from functools import partial
from pathlib import Path
from random import SystemRandom

import click

from tests.fuzz.run import run
from tests.fuzz.run_jobs import run_jobs

JOBS_SHARE = 10
"""One request to the job API for so many to the rest."""


@click.command()
@click.option("--requests", default=1_000_000, show_default=True, help="how many requests are sent")
@click.option("--seed", type=int, help="repeats the requests of a run that printed it")
def main(requests: int, seed: int | None) -> None:
    """Send generated requests to systems of their own and judge every answer; some more go to the job API."""
    seed = SystemRandom().randrange(1 << 31) if seed is None else seed
    click.echo(f"seed {seed}, {requests} requests …")
    with (
        tempfile.TemporaryDirectory(prefix="openerrata-fuzz-") as folder,
        click.progressbar(length=requests, update_min_steps=max(1, requests // 1_000), show_pos=True) as bar,
    ):
        found = asyncio.run(run(Path(folder), seed=seed, requests=requests, each=partial(bar.update, 1)))
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(found.judged.statuses.items()))
    click.echo(f"{requests / found.seconds:.0f} requests/s; {counts}")
    click.echo(f"{found.versions} versions accepted, {found.projected} projected, {found.refused} facts refused")
    click.echo(f"memory {found.memory[0] >> 20} MiB after a fifth, {found.memory[1] >> 20} MiB at the end")
    to_jobs = max(1, requests // JOBS_SHARE)
    with tempfile.TemporaryDirectory(prefix="openerrata-fuzz-") as folder:
        jobs = asyncio.run(run_jobs(Path(folder), seed=seed, requests=to_jobs))
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(jobs.judged.statuses.items()))
    click.echo(f"job API: {to_jobs / jobs.seconds:.0f} requests/s; {counts}")
    complaints = [*found.complaints(), *jobs.complaints()]
    for complaint in complaints:
        click.echo(f"FOUND {complaint}", err=True)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
