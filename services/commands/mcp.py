"""`openerrata mcp`: the server of the package openerrata-client for models."""

from __future__ import annotations

import click

from services.commands.shared import handle_errors


@click.command("mcp")
@handle_errors
def command() -> None:
    """Serve audits to models over the Model Context Protocol, on standard input and output.

    A program that talks to models starts it, with OPENERRATA_API_KEY and OPENERRATA_SERVER in its environment:

    \b
    openerrata mcp
    """
    try:
        from openerrata_client.mcp_server import main
    except ModuleNotFoundError as missing:
        if missing.name != "mcp":
            raise
        raise click.ClickException("this needs another package: pip install 'openerrata-client[mcp]'") from None
    main()
