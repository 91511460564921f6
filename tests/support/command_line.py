"""Every command of `openerrata`, as its own parser lists them, so that a new one cannot be forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from services.__main__ import main


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Groups and commands with their words, from `openerrata` itself down."""
    yield path, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def leaves() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands, without groups."""
    return ((path, command) for path, command in commands() if not isinstance(command, click.Group))


def parsed(command: click.Command, words: Sequence[str]) -> click.Context:
    """What a command makes of its words, by the settings of `openerrata`: it keeps the names of its help for good."""
    return command.make_context(command.name, list(words), **main.context_settings)
