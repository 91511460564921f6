"""How long an answer may be, how it is drawn, and what one request may cost, as each provider's server sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import SecretStr

from contracts.transcript import Price, Transcript
from kit.models.base import Limits, ModelError, Sampling
from kit.models.provider import ProviderDeps
from tests.support.openai_server import openai_server
from tests.support.providers import ANTHROPIC, APIS, CHAT, DONE, OPENAI, Api, brief, provider, run

pytestmark = pytest.mark.parametrize("api", APIS, ids=repr)

DRAWN = Sampling(max_tokens=4_096, temperature=0.0, stop=("###",))
MAX_TOKENS = {OPENAI.protocol: "max_output_tokens", ANTHROPIC.protocol: "max_tokens", CHAT.protocol: "max_tokens"}
STOP = {ANTHROPIC.protocol: "stop_sequences", CHAT.protocol: "stop"}
PRICED = ProviderDeps(price=lambda _: Price(input=3_000_000, cached=0, cache_write=0, output=15_000_000, search=0))


@pytest.mark.requirement("FH-100", "FH-103")
async def test_a_step_says_how_its_answers_are_drawn(api: Api) -> None:
    """Length, temperature and stop texts reach the provider, but for a temperature that its API refuses.

    FH-100: Provider-neutral interface. FH-103: Limits by stage, and no key anywhere.

    FH-100: All providers have one interface.
    FH-103: Stored configuration beats the environment, and no key is stored.
    """
    async with provider(api, DONE) as (model, server):
        await run(model, replace(brief(), sampling=DRAWN))
    body = server.requests[0].body
    assert body[MAX_TOKENS[api.protocol]] == 4_096
    assert body.get("temperature") == (None if api is ANTHROPIC else 0.0)
    assert body.get("reasoning", {"effort": "none"}) == {"effort": "none"}
    assert "reasoning_effort" not in body
    if api.protocol in STOP:
        assert body[STOP[api.protocol]] == ["###"]


async def test_a_step_without_an_opinion_leaves_it_to_the_provider(api: Api) -> None:
    async with provider(api, DONE) as (model, server):
        await run(model)
    assert not {"temperature", "max_output_tokens", "stop", "stop_sequences"} & server.requests[0].body.keys()


@pytest.mark.requirement("FH-106")
async def test_a_request_that_could_cost_too_much_is_not_sent(api: Api) -> None:
    """The estimate counts the longest answer.

    FH-106: A call over the cap is refused before it is sent.

    FH-106: A call that would cost more than the cap is not sent.
    """
    dear = replace(brief(), sampling=DRAWN, limits=Limits(call_micro_usd=1_000))
    async with provider(api, DONE, deps=PRICED) as (model, server):
        with pytest.raises(ModelError, match="A request could cost") as raised:
            await run(model, dear)
    assert (raised.value.name, server.requests) == ("CostLimit", [])
    assert raised.value.transcript is not None
    assert Transcript.model_validate_json(raised.value.transcript).calls == ()


async def test_a_request_within_the_cap_is_sent(api: Api) -> None:
    cheap = replace(brief(), sampling=DRAWN, limits=Limits(call_micro_usd=70_000))
    async with provider(api, DONE, deps=PRICED) as (model, server):
        await run(model, cheap)
    assert len(server.requests) == 1


async def test_a_cap_needs_a_price(api: Api) -> None:
    async with openai_server() as server:
        model = api.make(
            server.url, key=SecretStr("sk-instance-key-0123456789abcdef"), deps=ProviderDeps(price=lambda _: None)
        )
        with pytest.raises(ModelError, match="no price"):
            await run(model, replace(brief(), limits=Limits(call_micro_usd=70_000)))
        await model.aclose()
    assert server.requests == []
