"""The routes beside jobs: estimates, credit, and the models of stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from contracts.jobs.answers import Health
from contracts.jobs.requests import ConfigureRequest
from lifecycle.audits.charges import compute_least
from services.gateway.jobs.article import read_article
from services.gateway.jobs.credit import Ledger
from services.gateway.jobs.exchange import Exchange, Reception, answer, choose_exchange_version, parse, require_json
from services.gateway.jobs.intake import Intake
from services.gateway.jobs.ports import ReceiptKeys
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.jobs.stages import StageSettings, UnknownProvider

_CONFIGURE: Final = TypeAdapter(ConfigureRequest)


@dataclass(frozen=True, slots=True, eq=False)
class AccountRoutes:
    """Answers requests about the account, the stages and the API itself."""

    reception: Reception
    intake: Intake
    ledger: Ledger
    stages: StageSettings
    keys: ReceiptKeys
    estimates: RateLimit
    reads: RateLimit

    async def health(self, request: Request) -> Response:
        """Whether the job API answers."""
        choose_exchange_version(request)
        return answer(Health(status="ok"))

    async def receipt_keys(self, request: Request) -> Response:
        """The keys that receipts are verified with. Keys are added and never removed."""
        choose_exchange_version(request)
        return answer(await self.keys.read(), {"cache-control": "public, max-age=300"})

    async def estimate(self, request: Request) -> Response:
        """Estimate what an analysis would cost. Free of charge; nothing is stored."""
        body = await self.reception.read(request)
        principal = await self.reception.admit(request, self.estimates)
        require_json(request)
        return answer(await self.intake.estimate(read_article(body, principal), principal))

    async def credit(self, request: Request) -> Response:
        """What the account may still spend this month, and what it has used."""
        principal = await self.reception.admit(request, self.reads)
        least = compute_least(await self.stages.prices())
        return answer(await self.ledger.describe(principal.account, least))

    async def configure(self, request: Request) -> Response:
        """Change the model of a stage for jobs that have not begun."""
        body = await self.reception.read(request)
        principal = await self.reception.admit(request, self.reads, "configure")
        require_json(request)
        wanted = parse(_CONFIGURE, body)
        exchange: Exchange = request.state.exchange
        try:
            done = await self.stages.configure(wanted, principal.account.account_id, exchange.correlation)
        except UnknownProvider:
            raise Problem("UNKNOWN_PROVIDER") from None
        return answer(done)

    async def configuration(self, request: Request) -> Response:
        """The providers, and the model of each stage."""
        await self.reception.admit(request, self.reads, "configure")
        return answer(await self.stages.show())
