"""The settings that this installation reads, so that a misspelt one is refused instead of ignored."""

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
from kit import settings

DATA_DIR: Final = "OPENERRATA_DATA_DIR"
_READ_ELSEWHERE: Final = frozenset({DATA_DIR, "OPENERRATA_IMAGE", "OPENERRATA_VECTORS"})
"""By the option `--data-dir`, deploy/compose.yaml and the tests."""


def check_environment() -> None:
    """Refuse settings that nobody reads.

    An image may hold one service alone, and all services may be given one environment: the settings of a service that
    is not installed are unknown here and left alone.

    Raises: SettingsError: naming the nearest known one.
    """
    absent = tuple(f"{settings.PREFIX}{name.upper()}_" for name in ACCESS if not _installed(name))
    given = [name for name in os.environ if not name.upper().startswith(absent)]
    if any(name.upper().startswith(settings.PREFIX) for name in given):
        settings.refuse_unknown(given, known())


@cache
def known() -> frozenset[str]:
    """Every variable that the installed services and commands read."""
    return settings.variables(_classes()) | _READ_ELSEWHERE


def _classes() -> Iterator[type[BaseSettings]]:
    for module in (settings, *_modules()):
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
