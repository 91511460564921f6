"""The routes beside jobs: estimates, credit, and the models of stages."""

from __future__ import annotations

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


class AccountRoutes:
    """Answers requests that concern no job."""

    def __init__(
        self,
        reception: Reception,
        intake: Intake,
        ledger: Ledger,
        stages: StageSettings,
        keys: ReceiptKeys,
        estimates: RateLimit,
        reads: RateLimit,
    ) -> None:
        self._reception = reception
        self._intake = intake
        self._ledger = ledger
        self._stages = stages
        self._keys = keys
        self._estimates = estimates
        self._reads = reads

    async def health(self, request: Request) -> Response:
        """Whether this interface answers."""
        choose_exchange_version(request)
        return answer(Health(status="ok"))

    async def receipt_keys(self, request: Request) -> Response:
        """The keys that receipts are verified with. Keys are added and never removed."""
        choose_exchange_version(request)
        return answer(await self._keys.read(), {"cache-control": "public, max-age=300"})

    async def estimate(self, request: Request) -> Response:
        """What an analysis would cost. Buys nothing, stores nothing, costs nothing."""
        body = await self._reception.read(request)
        principal = await self._reception.admit(request, self._estimates)
        require_json(request)
        return answer(await self._intake.estimate(read_article(body, principal), principal))

    async def credit(self, request: Request) -> Response:
        """What the account may still spend this month, and what it has used."""
        principal = await self._reception.admit(request, self._reads)
        least = compute_least(await self._stages.prices())
        return answer(await self._ledger.describe(principal.account, least))

    async def configure(self, request: Request) -> Response:
        """Change the model of a stage for jobs that have not begun."""
        body = await self._reception.read(request)
        principal = await self._reception.admit(request, self._reads, "configure")
        require_json(request)
        wanted = parse(_CONFIGURE, body)
        exchange: Exchange = request.state.exchange
        try:
            done = await self._stages.configure(wanted, principal.account.account_id, exchange.correlation)
        except UnknownProvider:
            raise Problem("UNKNOWN_PROVIDER") from None
        return answer(done)

    async def configuration(self, request: Request) -> Response:
        """The providers, and the model of each stage."""
        await self._reception.admit(request, self._reads, "configure")
        return answer(await self._stages.show())
