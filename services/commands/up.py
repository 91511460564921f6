"""`openerrata up`: all or some services in this process."""

from __future__ import annotations

import os
from pathlib import Path

import click

from services.commands.process import SERVICES, Plan, order_services, run_until_signalled
from services.commands.shared import on_servers, open_servers, run


@click.command()
@click.argument("services", nargs=-1, type=click.Choice(SERVICES), metavar="[SERVICE]...")
@click.option("--port", type=click.IntRange(0, 65_535), help="The gateway's port; 0 takes a free one.  [default: 8787]")
@click.option("--unsafe-broker", is_flag=True, help="Accept a broker that may lose what it has acknowledged.")
@on_servers
def command(services: tuple[str, ...], port: int | None, unsafe_broker: bool, data_dir: Path) -> None:
    """Run all services in one process, or those named, until Ctrl-C or SIGTERM.

    \b
    SERVICE is one of: verifier ingest selector investigator validator auditor curator projector notary gateway

    Servers are embedded under --data-dir unless OPENERRATA_NATS_URL, OPENERRATA_DATABASE_URL and OPENERRATA_S3_ENDPOINT
    name some. A second `openerrata up` over the same data folder uses the servers of the first.

    \b
    openerrata up --port 0
    openerrata up ingest validator
    """
    if port is not None:
        os.environ["OPENERRATA_GATEWAY_PORT"] = str(port)
    plan = Plan(order_services(services), unsafe_broker)
    with open_servers(data_dir, needs=plan.servers) as found:
        run(run_until_signalled(plan, found))
