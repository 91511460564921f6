"""The job API of a whole gateway: a key that the operator made opens it, and no longer once the account is closed."""

from __future__ import annotations

import pytest

from contracts.jobs.answers import Estimate
from contracts.jobs.problems import ProblemDocument
from kit.database import Database
from services.commands.account_rows import add_account, close_account
from services.commands.keys import activate
from services.commands.known_settings import list_known
from tests.support.desk_browser import TOKEN
from tests.support.gateway import migrated, serving
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.servers"]

KEY = "oe_the-key-of-alice"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.mark.requirement("FH-30")
async def test_a_key_of_an_account_opens_it_until_the_account_is_closed(nats_url: str, database_url: str) -> None:
    """FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.

    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    operator = Database(database_url, role="operator")
    await add_account(operator, "alice", None, "reader", "free", None)
    await activate(operator, "alice's laptop", KEY, rights=("audit",), username="alice")
    async with serving(nats_url, database_url, jobs=True, instance_keys_fresh_s=0) as running:
        assert (await running.http.get("/v1/health")).json() == {"status": "ok"}

        async def estimate() -> object:
            response = await running.http.post(
                "/v1/estimate",
                json={"input_url": "https://example.org/article"},
                headers={"authorization": f"Bearer {KEY}"},
            )
            if response.status_code == 200:
                return Estimate.model_validate_json(response.content).would_be_accepted
            return ProblemDocument.model_validate_json(response.content).error.code

        assert await estimate() is True
        await close_account(operator, "alice", erase=False)
        assert await estimate() == "UNAUTHENTICATED"
    await operator.close()


@pytest.mark.requirement("FH-163")
async def test_one_setting_turns_the_catalogue_on(
    nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FH-163: Catalogue pages are off until they are turned on."""
    assert "OPENERRATA_CATALOGUE" in list_known()
    for value, status in (("off", 404), ("on", 200)):
        monkeypatch.setenv("OPENERRATA_CATALOGUE", value)
        async with serving(nats_url, database_url, jobs=True) as running:
            for path in ("/v1/claims", "/claims", "/desk/login"):
                assert (await running.http.get(path)).status_code == status


async def test_a_key_opens_the_desk_until_its_account_is_closed(
    nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENERRATA_CATALOGUE", "on")
    operator = Database(database_url, role="operator")
    await add_account(operator, "alice", None, "moderator", "free", None)
    await activate(operator, "alice's laptop", KEY, rights=("audit",), username="alice")
    async with serving(nats_url, database_url, jobs=True, instance_keys_fresh_s=0) as running:
        http = running.http
        http.headers["origin"] = str(http.base_url).rstrip("/")
        token = TOKEN.search((await http.get("/desk/login")).text)
        assert token is not None
        response = await http.post("/desk/login", data={"token": token[1], "key": KEY})
        assert (response.status_code, response.headers["location"]) == (303, "/desk")
        for path in ("/desk", "/desk/claims", "/desk/flags", "/desk/edits"):
            assert (await http.get(path)).status_code == 200
        assert (await http.get("/desk/appeals")).status_code == 403
        await close_account(operator, "alice", erase=False)
        assert (await http.get("/desk")).headers["location"] == "/desk/login"
    await operator.close()
