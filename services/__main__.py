"""The command `openerrata`. Each subcommand is imported only when it is used, so that help is instant."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

NAME = "openerrata"
COMMANDS = {
    "up": "Run all or some services.",
    "demo": "See a wrong sentence found, validated and published.",
    "doctor": "Check broker, topology, lag, database, blobs and model; say what to do.",
    "topology": "Show or apply streams, consumers and buckets.",
    "keys": "Manage instance API keys.",
    "accounts": "Manage accounts of the job API: role, tier, credit, webhook secrets.",
    "credit": "Show and correct the credit of accounts.",
    "job": "Show, cancel or forget one audit.",
    "claims": "Show the cache key of a sentence, what keeps it apart, and whether it is cached.",
    "stages": "Show or change the models of audits by stage.",
    "publisher": "Show how publishers of cited sources are scored; rate one.",
    "reviews": "Have published findings reviewed by people outside; show what they said.",
    "labels": "Show what makes this instance a labeler of the AT Protocol.",
    "audit": "Audit one article: its claims, the evidence, a verdict.",
    "mcp": "Serve audits to models over the Model Context Protocol.",
    "witness": "Cosign the checkpoints of transparency logs.",
    "select": "Request investigations of the next posts now, or show which and why.",
    "budget": "Show today's runs and cost.",
    "investigation": "Show, replay, retry or cancel one investigation.",
    "finding": "Show, suspend, release or retract one published finding.",
    "appeal": "List, show and decide readers' objections to results.",
    "log": "Keep a log of decisions that cannot be rewritten; verify a decision.",
    "breaker": "Show what stops findings from being displayed; begin its trial, close it.",
    "variant": "Show how much of each variant is displayed; enter the result of its gate tier.",
    "controls": "Have posts in which nothing is wrong checked: commit to a list, open it.",
    "tail": "Follow facts as they happen.",
    "export": "Write the public record as files.",
    "projector": "Migrate the database; rebuild the read model from the log.",
    "ledger": "Verify the chain of facts.",
    "streams": "Show lag, rates and the oldest waiting fact.",
    "dead": "List, show, requeue or drop dead letters; resume a paused consumer.",
    "replay": "Deliver facts to one consumer again, or compare a shadow read model.",
    "post": "Erase a post: the right to erasure.",
    "erase": "Erase a job, an assertion or an account.",
    "backup": "Save streams, ledger and blobs into a folder.",
    "restore": "Restore a backup to empty servers.",
}


class Lazy(click.Group):
    """A group that imports each command from the module of the same name when it is used."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: object,
    ) -> NoReturn:
        """Run, and end the process; a usage error is reported in one line."""
        _open_missing_streams()
        if os.environ.get("NO_COLOR"):
            extra["color"] = False
        try:
            sys.exit(super().main(args, prog_name or NAME, complete_var, standalone_mode=False, **extra))
        except click.ClickException as error:
            if isinstance(error, click.UsageError) and not isinstance(error, click.exceptions.NoArgsIsHelpError):
                where = error.ctx.command_path if error.ctx is not None else NAME
                click.echo(f"Error: {' '.join(error.format_message().split())} ({where} --help)", err=True)
            else:
                error.show()
            sys.exit(error.exit_code)
        except click.Abort as error:
            interrupted = isinstance(error.__cause__, KeyboardInterrupt)
            click.echo("interrupted" if interrupted else "aborted", err=True)
            sys.exit(130 if interrupted else 1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"services.commands.{cmd_name}").command
        from services.commands.timeouts import add_timeout

        assert isinstance(command, click.Command)
        return add_timeout(command, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _open_missing_streams() -> None:
    """Open standard streams that the parent closed, or the event loop's own files would take their numbers."""
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None and os.open(os.devnull, os.O_RDWR) == number:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


@click.command(NAME, cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="openerrata")
def main() -> None:
    """OpenErrata finds sentences that are demonstrably wrong in what people read, and shows the evidence.

    \b
    See it work:          openerrata demo
    Run everything here:  openerrata up
    Run one service:      openerrata up validator   (servers by OPENERRATA_NATS_URL, …)
    Is all well?          openerrata doctor

    Settings are environment variables; docs/operations/settings.md lists them.
    """


if __name__ == "__main__":
    main()
