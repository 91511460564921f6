"""`openerrata audit`: the command of the package openerrata-client, which knows the job API and none of the servers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from openerrata_client.command import NoVerdict, make_command
from services.commands.shared import handle_errors

P = ParamSpec("P")
T = TypeVar("T")


def _end_with_its_status(function: Callable[P, T]) -> Callable[P, T]:
    """End errors with another exit status than 1, which says that the article is not well supported."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except click.ClickException as error:
            raise NoVerdict(error.format_message()) from error

    return wrapped


command = make_command("openerrata audit")
assert command.callback is not None
command.callback = _end_with_its_status(handle_errors(command.callback))
