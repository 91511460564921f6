"""The decision log as an operator begins it: commands, the service, real servers, a witness, and those who check."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from click.testing import CliRunner

from contracts.v1 import Event
from kit.bus import connect
from kit.clock import SystemClock
from kit.http import HttpServer, bind
from services.__main__ import main
from services.commands.log.monitor import visit
from services.witness.app import make_app
from services.witness.store import Store
from tests.support.public_record import ESSAY, Article
from tests.support.published_finding import ARTICLE, changed, run_of
from tests.support.system import GivenServers, System, system, until
from tlog.decision import prove_decision
from tlog.keys import Algorithm, SigningKey, VerifierKey
from tlog.policy import Policy

ORIGIN = "errata.example/log/v1"
PROOF = f"/log/v1/proof/{ARTICLE.investigation_id}"


@asynccontextmanager
async def witnessing(folder: Path, log: VerifierKey) -> AsyncIterator[str]:
    """A witness that knows the log; its line of a policy."""
    Store.create(folder, [SigningKey("witness.example/w1", Algorithm.COSIGNATURE, secrets.token_bytes(32))])
    store = Store(folder)
    store.add(log)
    server = HttpServer(make_app(store, SystemClock()), bind("127.0.0.1", 0, given_by="the test"))
    await server.start()
    try:
        yield f"witness w1 {store.keys[0].verifier} {server.url}"
    finally:
        await server.stop()


async def tell(running: System, *events: Event) -> None:
    """Put facts into the log of events."""
    async with connect(running.nats_url, name="test") as bus:
        for event in events:
            await bus.publish(event, correlation=event.event_id())


async def proof_of(running: System, kind: str) -> bytes:
    """The proof of the newest decision about the article, once a witness has cosigned it."""
    async with httpx.AsyncClient(base_url=running.url, timeout=10, trust_env=False) as http:

        async def proven() -> bytes | None:
            document = await http.get(f"/investigations/{ARTICLE.investigation_id}.json")
            if document.status_code != 200 or not (decisions := document.json()["decisions"]):
                return None
            answer = await http.get(decisions[-1]["proof"])
            cosigned = answer.status_code == 200 and answer.content.count(b"\n\xe2\x80\x94 ") == 2
            return answer.content if decisions[-1]["kind"] == kind and cosigned else None

        return await until(proven, f"{kind} is in the log and cosigned", within_s=60)


async def test_a_log_begins_is_witnessed_outlasts_a_kill_and_is_monitored(tmp_path: Path) -> None:
    made = CliRunner().invoke(main, ["log", "key", ORIGIN])
    key = SigningKey.parse(made.output.strip())
    with GivenServers(tmp_path / "given") as servers:
        async with witnessing(tmp_path / "witness", key.verifier) as witness:
            settings = {
                **servers.settings,
                "OPENERRATA_NOTARY_KEY": key.secret(),
                "OPENERRATA_NOTARY_WITNESSES": f"{witness}; quorum w1",
                "OPENERRATA_NOTARY_PUBLISH_S": "0.2",
            }
            async with system(tmp_path / "running", **settings) as running:
                applied = await running.run("topology", "apply")
                assert applied.code == 0, applied.err
                await running.up("projector", "gateway")
                notary = await running.up("notary")
                waits = await running.run("log", "status")
                assert (waits.code, "openerrata log init" in waits.err) == (1, True)
                await tell(running, *run_of(ESSAY))
                await until(lambda: is_shown(running, ESSAY), "a finding is public before the log begins")
                begun = await running.run("log", "init")
                assert f"log {key.verifier}" in begun.out, begun.err
                await tell(running, *run_of(ARTICLE))
                policy = Policy.parse(f"log {key.verifier}\n{witness}\nquorum w1\n".encode())
                found = prove_decision(await proof_of(running, "found"), policy)
                assert (found.cosignatures, found.leaf.n) == (1, 1)

                await notary.kill()
                await tell(running, changed("SUSPENDED", 0))
                await running.up("notary", name="again")
                taken_back = await proof_of(running, "suspended")
                assert prove_decision(taken_back, policy).leaf.ref == (found.index,)
                again = await running.run("log", "init")
                assert "nothing changed" in again.out
                done = await running.run("log", "status")
                assert (done.code, "1 cosignatures" in done.out) == (0, True), done.err

                paths = [tmp_path / name for name in ("proof", "policy")]
                for path, data in zip(paths, (taken_back, bytes(policy)), strict=True):
                    path.write_bytes(data)
                checked = CliRunner().invoke(main, ["log", "verify", str(paths[0]), "--policy", str(paths[1])])
                assert (checked.exit_code, '"k":"suspended"' in checked.output) == (0, True), checked.output
                report = await visit(f"{running.url}/log/v1", policy, tmp_path / "seen", SystemClock().now())
                assert (report.size, report.new, report.cosignatures, report.alarms) == (3, 3, 1, ())

                earlier = {"claim_id": ESSAY.claim(0)[0], "investigation_id": ESSAY.investigation_id}
                await tell(running, changed("SUSPENDED", 0).model_copy(update=earlier))

                async def is_monitored() -> bool:
                    seen = tmp_path / "seen"
                    report = await visit(f"{running.url}/log/v1", policy, seen, SystemClock().now())
                    assert report.alarms == ()
                    return report.size == 4

                await until(is_monitored, "what is taken back of before the log is a leaf, and no alarm")


async def test_a_key_that_the_log_has_not_announced_signs_nothing_and_says_so(tmp_path: Path) -> None:
    first, second, newest = (
        SigningKey.parse(CliRunner().invoke(main, ["log", "key", ORIGIN]).output.strip()) for _ in "123"
    )
    with GivenServers(tmp_path / "given") as servers:
        settings = {**servers.settings, "OPENERRATA_NOTARY_PUBLISH_S": "0.2", "OPENERRATA_NOTARY_KEY": first.secret()}
        changed_key = {"OPENERRATA_NOTARY_KEY": second.secret(), "OPENERRATA_NOTARY_PREVIOUS_KEY": first.secret()}
        async with system(tmp_path / "running", **settings) as running:
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            await running.up("projector")
            assert (await running.run("log", "init")).code == 0
            notary = await running.up("notary")

            async def is_signed() -> bool:
                return (await running.run("log", "status")).code == 0

            await until(is_signed, "the log is signed by its first key")
            await notary.kill()
            running.settings.update(changed_key)
            notary = running.spawn("notary", name="later")

            async def url() -> str | None:
                return next((line["url"] for line in notary.lines() if line.get("event") == "operations"), None)

            async with httpx.AsyncClient(base_url=await until(url, "it starts"), timeout=10, trust_env=False) as http:

                async def is_refused() -> bool:
                    problems = (await http.get("/ready")).json()["problems"]
                    return "another key signs" in problems.get("decision log", "")

                await until(is_refused, "the notary is not ready, since another key signs")
                assert "openerrata_notary_refuses 1.0" in (await http.get("/metrics")).text
                refused = await running.run("log", "status")
                assert (refused.code, f"key         {first.verifier}\n" in refused.out) == (1, True)
                assert refused.err == f"Error: {second.verifier} signs only after `openerrata log init`\n"
                assert (await running.run("log", "init")).code == 0
                await notary.started()
                await until(is_signed, "the log is signed by its second key")

                third = {"OPENERRATA_NOTARY_KEY": newest.secret(), "OPENERRATA_NOTARY_PREVIOUS_KEY": second.secret()}
                running.settings.update(third)
                assert (await running.run("log", "init")).code == 0
                await until(is_refused, "the notary runs on with a key that was replaced, and signs nothing")


async def is_shown(running: System, article: Article) -> bool:
    """Whether the result of an article is public."""
    async with httpx.AsyncClient(base_url=running.url, timeout=10, trust_env=False) as http:
        return (await http.get(f"/investigations/{article.investigation_id}.json")).status_code == 200
