"""A result that the projector refused can be asked for again: that run ends too, and nobody pays for it twice."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.posts import BRAIN, on_x
from tests.support.extension_client import Extension
from tests.support.openai_server import Answer, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.oracle import oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import system

MEMBER_KEY = "oe_the-member"
USAGE = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}


class Provider(OpenAIServer):
    """Finds one sentence to be wrong, and approves."""

    page = ""

    def turn(self, request: Request) -> Turn:
        if "tools" not in request.body:
            return Answer((message('{"approved": true, "reason": "looked"}'),), usage=USAGE)
        if request.body.get("previous_response_id"):
            return Answer((message("Done."),), usage=USAGE)
        source = {"url": self.page, "title": "A source", "snippet": "It is otherwise."}
        claim = {"text": BRAIN, "context": BRAIN, "summary": "It is not so.", "reasoning": "See.", "sources": [source]}
        return Answer((call("submit_correction", claim, "call_1"),), usage=USAGE)


async def test_a_refused_result_is_stored_by_a_retry_without_asking_the_model_again(tmp_path: Path) -> None:
    async with Sites() as sites, openai_server(provider := Provider()):
        sites.pages["/a"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
        provider.page = f"{sites.url}/a"
        async with system(
            tmp_path,
            True,
            OPENAI_API_KEY="sk-test-of-the-instance-0123456789",
            OPENAI_BASE_URL=provider.url,
            OPENAI_MODEL_ID="gpt-test",
            OPENERRATA_VALIDATOR_PAGE_ORIGIN=sites.url,
            OPENERRATA_VALIDATOR_GATE_FAMILIES="1",
            OPENERRATA_GATEWAY_RETRY_COOLDOWN_S="0",
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running:
            await running.up()
            assert (await running.run("keys", "add", "member", "--key", MEMBER_KEY)).code == 0
            async with (
                oracle(running.database_url, running.nats_url) as looking,
                Extension(running.url, api_key=MEMBER_KEY) as reader,
            ):
                await looking.execute(
                    "ALTER TABLE readmodel.investigation_doc ADD CONSTRAINT broken CHECK (claim_count = 0)"
                )
                version = (await reader.register(on_x(BRAIN)))["postVersionId"]
                run = (await reader.investigate(version))["investigationId"]
                assert (await reader.result(run))["investigationState"] == "FAILED"
                paid = len(provider.requests)

                assert (await reader.investigate(version))["status"] == "PENDING"
                assert (await reader.result(run))["investigationState"] == "FAILED", "it is refused again, and says so"

                await looking.execute("ALTER TABLE readmodel.investigation_doc DROP CONSTRAINT broken")
                assert (await reader.investigate(version))["status"] == "PENDING"
                found = await reader.result(run)
                assert [claim["text"] for claim in found["claims"]] == [BRAIN]
                assert len(provider.requests) == paid
