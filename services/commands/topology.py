"""`openerrata topology`: the only writer of streams, consumers and buckets."""

from __future__ import annotations

from pathlib import Path

import click

from contracts.topology import BUCKETS, CONSUMERS, STREAMS, stream_of
from kit import topology
from kit.bus import STARTUP_TIMEOUT_S, connect
from kit.settings import Infrastructure, load
from services.commands.shared import Group, data_dir_option, handle_errors, open_servers, run


@click.group(cls=Group)
def command() -> None:
    """Show or apply streams, durable consumers and key-value buckets.

    \b
    openerrata topology apply --dry-run
    """


@command.command()
@handle_errors
def show() -> None:
    """Print the topology that this version of the code needs, without connecting to a server."""
    for stream in STREAMS:
        age = f"{stream.max_age_s // 86_400} days" if stream.max_age_s else "for ever"
        click.echo(f"stream    {stream.name:<12} kept {age:<9} {'  '.join(stream.subjects)}")
    width = max(len(each.name) for each in CONSUMERS)
    for consumer in CONSUMERS:
        click.echo(
            f"consumer  {consumer.name:<{width}} on {stream_of(consumer.event).name}  {consumer.filter}  "
            f"ack {consumer.ack_wait_s:g} s, {consumer.attempts} attempts, {consumer.slots} slots"
        )
    for bucket in BUCKETS:
        age = f"{bucket.ttl_s} s" if bucket.ttl_s else "until deleted"
        click.echo(f"bucket    {bucket.name:<12} kept {age}")


@command.command()
@data_dir_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=STARTUP_TIMEOUT_S,
    show_default=True,
    help="How long the broker may take to start.",
)
@handle_errors
def apply(data_dir: Path, dry_run: bool, wait_s: float) -> None:
    """Apply the topology to the broker. Safe to repeat."""

    wanted = load(Infrastructure)

    async def main(url: str) -> list[topology.Difference]:
        async with connect(url, name="openerrata-topology", startup_timeout_s=wait_s) as bus:
            replicas, ack_wait_s = wanted.nats_replicas, wanted.ack_wait_s
            if dry_run:
                return [item async for item in topology.find_differences(bus, replicas=replicas, ack_wait_s=ack_wait_s)]
            return await topology.apply(bus, replicas=replicas, ack_wait_s=ack_wait_s)

    with open_servers(data_dir, needs=["nats"]) as found:
        changed = run(main(found.nats_url))
    for item in changed:
        click.echo(f"{'would change' if dry_run else 'changed'}: {item.thing}: {item.found} → {item.wanted}")
    if not changed:
        click.echo("everything is as declared")
