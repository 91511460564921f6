"""The subcommands of `openerrata`, one module each."""
