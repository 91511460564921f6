"""`openerrata stages`: the models of audits by stage, as the admin routes of the job API show and change them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar, get_args
from uuid import UUID

import click
from pydantic import ValidationError

from analyses.claims.costs import format_dollars
from contracts.jobs.requests import ConfigureRequest
from contracts.jobs.values import Stage
from kit.clock import SystemClock
from kit.model_settings import AuditSettings, ChatSettings, LlmSettings, ModelSettings
from kit.models.prices import price_of
from kit.models.stages import PROVIDERS
from kit.settings import load
from services.commands.shared import Group, on_servers, run_on_bus
from services.commands.terminal import format_table
from services.gateway.jobs.adapters import BusJobLog
from services.gateway.jobs.stages import StageSettings
from services.gateway.ports import Unavailable

OPERATOR: Final = UUID(int=0)
"""The author of changes by this command, which belong to no admin's account."""
_HEAD: Final = ("stage", "provider", "model", "max tokens", "temperature", "price")

T = TypeVar("T")


@click.group(cls=Group)
def command() -> None:
    """Show or change the models of audits by stage.

    Stage 1 extracts the claims of an article, stage 2 analyses each, stage 3 assesses the article. A change applies to
    jobs that have not begun, and overrides the environment.

    \b
    openerrata stages show
    openerrata stages set stage2 openai gpt-5.4
    """


@command.command()
@on_servers
def show(data_dir: Path) -> None:
    """List the stages with model and price: for an article, in stage 2 for a new claim."""

    async def main(stages: StageSettings) -> list[tuple[str, ...]]:
        return [
            (
                stage,
                each.provider,
                each.model,
                f"{each.max_tokens:,}",
                "" if each.temperature is None else f"{each.temperature:g}",
                format_dollars(stages.price(stage, each)),
            )
            for stage, each in (await stages.models()).items()
        ]

    click.echo(format_table(_HEAD, _with_stages(data_dir, main), right=(3, 4, 5)))


@command.command(name="set")
@click.argument("stage", metavar="STAGE", type=click.Choice(get_args(Stage)))
@click.argument("provider", metavar="PROVIDER", type=click.Choice(PROVIDERS))
@click.argument("model", metavar="MODEL")
@click.option("--max-tokens", type=click.IntRange(1, 200_000), help="Most tokens of an answer; without, as it is now.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="A number from 0 to 2; without, as it is now.")
@on_servers
def set_(
    stage: Stage, provider: str, model: str, max_tokens: int | None, temperature: float | None, data_dir: Path
) -> None:
    """Change the MODEL of a STAGE: stage1, stage2 or stage3.

    PROVIDER is anthropic, openai, google or local.

    \b
    openerrata stages set stage2 openai gpt-5.4 --temperature 0.3
    """

    async def main(stages: StageSettings) -> str:
        now = (await stages.models())[stage]
        wanted = ConfigureRequest(
            stage=stage,
            provider=provider,
            model=model,
            max_tokens=now.max_tokens if max_tokens is None else max_tokens,
            temperature=float((now.temperature or 0) if temperature is None else temperature),
        )
        return (await stages.configure(wanted, OPERATOR, SystemClock().new_id())).message

    try:
        click.echo(_with_stages(data_dir, main))
    except ValidationError as invalid:
        raise click.UsageError("; ".join(each["msg"] for each in invalid.errors())) from None
    if provider != "local" and price_of(model, load(ModelSettings).prices()) is None:
        advice = "is the name right? Without a price in the auditor's OPENERRATA_MODEL_PRICES it is not used"
        click.echo(f"no price is known for {model}: {advice}", err=True)


def _with_stages(data_dir: Path, action: Callable[[StageSettings], Awaitable[T]]) -> T:
    settings = load(LlmSettings), load(ChatSettings).model_id, load(AuditSettings).prices

    return run_on_bus(data_dir, "stages", lambda bus: action(StageSettings(BusJobLog(bus), *settings)), Unavailable)
