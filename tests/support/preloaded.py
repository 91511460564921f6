"""What a process that `Forked` starts has done already: the command's modules are imported, the demo's claims read.

Others that it would import at its start are imported too, and the gateway's schema is made.

All of it stays, so it is frozen: the command collects garbage once it has started, and would look at each of these
objects and so have every page copied that holds one.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil

import services
import services.commands
from kit.models.demo_catalogue import catalogue
from services.gateway.public.graphql.resolvers import executable_schema

for name in ("alembic.command", "anyio._backends._asyncio", "pydantic.v1"):
    importlib.import_module(name)
for name in ("chat_completions", "demo", "openai_responses"):
    importlib.import_module(f"kit.models.{name}")
for module in pkgutil.iter_modules(services.commands.__path__):
    importlib.import_module(f"services.commands.{module.name}")
for package in pkgutil.iter_modules(services.__path__):
    if package.ispkg and package.name != "commands":
        importlib.import_module(f"services.{package.name}.app")
catalogue()
executable_schema()
gc.collect()
gc.freeze()
