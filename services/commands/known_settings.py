"""The settings of this installation; an unknown one is an error."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Final

from pydantic_settings import BaseSettings

from contracts.access import ACCESS
from kit import model_settings, settings
from services.commands.shared import DATA_DIR

_READ_ELSEWHERE: Final = frozenset(
    {
        DATA_DIR,
        "OPENERRATA_API_KEY",
        "OPENERRATA_IMAGE",
        "OPENERRATA_SERVER",
        "OPENERRATA_VECTORS",
        "OPENERRATA_TEST_MODEL",
        "OPENERRATA_TEST_MODEL_URL",
    }
)
"""Read by the option `--data-dir`, the client, deploy/compose.yaml and the tests."""


def check_environment() -> None:
    """Refuse unknown settings.

    An image may contain one service only while all share one environment, so settings of services that are not
    installed are ignored.

    Raises: SettingsError: with the nearest known name.
    """
    absent = tuple(f"{settings.PREFIX}{name.upper()}_" for name in ACCESS if not _installed(name))
    given = [name for name in os.environ if not name.upper().startswith(absent)]
    if any(name.upper().startswith(settings.PREFIX) for name in given):
        settings.refuse_unknown(given, list_known())


@cache
def list_known() -> frozenset[str]:
    """All variables of the installed services and commands."""
    return settings.variables(list_classes()) | _READ_ELSEWHERE


def list_classes() -> Iterator[type[BaseSettings]]:
    """The classes of settings of the installed services and commands."""
    for module in (settings, model_settings, *_modules()):
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, BaseSettings) and each.__module__ == module.__name__:
                yield each


def _modules() -> Iterator[ModuleType]:
    for name in ACCESS:
        module = f"services.{name}.settings"
        if _installed(name) and importlib.util.find_spec(module) is not None:
            yield importlib.import_module(module)


def _installed(service: str) -> bool:
    return importlib.util.find_spec(f"services.{service}") is not None
