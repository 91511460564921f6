"""One more site is one file and its entry in the list: its posts go the whole way, and nothing else is told of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kit.database import open_session
from platforms.text import html_to_text
from tests.e2e.posts import BRAIN, prose
from tests.support.extension_client import Extension, Json
from tests.support.sites import Answer, Sites
from tests.support.system import ROOT, system

pytestmark = pytest.mark.xdist_group("e2e")

PACKAGES = ("analyses", "contracts", "kit", "lifecycle", "platforms", "services")
KEY = "oe_the-key-of-this-instance"
HTML = f"<p>{prose(BRAIN)}</p>"
SEARCH = (
    """{ searchInvestigations(query: "harbour", platform: GAZETTE) { investigations { platform externalId url } } }"""
)


def add_the_gazette(root: Path) -> None:
    """Copy the sources, and enter the site as CONTRIBUTING says."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "support" / "gazette.py", root / "platforms" / "gazette.py")
    entries = root / "platforms" / "__init__.py"
    text = entries.read_text()
    text = text.replace(
        "\nfrom platforms.lesswrong", "\nfrom platforms.gazette import Gazette\nfrom platforms.lesswrong"
    )
    entries.write_text(text.replace("    LessWrong(),\n", "    LessWrong(),\n    Gazette(),\n"))


def observation() -> Json:
    return {
        "platform": "GAZETTE",
        "externalId": "harbour",
        "url": "https://gazette.example/harbour",
        "observedContentText": html_to_text(HTML),
        "metadata": {"headline": "A reader's headline", "htmlContent": HTML},
    }


async def test_a_new_site_is_one_file_and_its_entry_in_the_list(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    add_the_gazette(root)
    served = {"id": "harbour", "html": HTML, "headline": "On the harbour"}
    async with (
        Sites(pages={"/articles/harbour": Answer(body=json.dumps(served).encode())}) as sites,
        system(
            tmp_path / "system",
            False,
            root,
            OPENERRATA_VERIFIER_GAZETTE_URL=f"{sites.url}/articles",
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running,
    ):
        await running.up()
        assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
        async with Extension(running.url, api_key=KEY) as reader:
            version, run, result = await reader.investigated(observation())
            assert (version["platform"], version["externalId"]) == ("GAZETTE", "harbour")
            assert version["provenance"] == "SERVER_VERIFIED"
            assert [claim["text"] for claim in result["claims"]] == [BRAIN]
            (status,) = await reader.batch(
                [{name: version[name] for name in ("platform", "externalId", "versionHash")}]
            )
            assert status["incorrectClaimCount"] == 1

            found = (await reader.http.post("/graphql", json={"query": SEARCH})).json()
            assert found["data"]["searchInvestigations"]["investigations"] == [
                {"platform": "GAZETTE", "externalId": "harbour", "url": "https://gazette.example/harbour"}
            ]
            page = (await reader.http.get(f"/investigations/{run}")).text
            assert "On the harbour" in page
            assert "text confirmed by The Gazette" in page
            for path in ("/posts/gazette/harbour", "/corrections?platform=gazette", "/feeds/gazette.atom"):
                shown = await reader.http.get(path)
                assert shown.status_code == 200, path
                assert "On the harbour" in shown.text, path
        async with await open_session(running.database_url) as db:
            rows = await (await db.execute("SELECT document FROM readmodel.version_metadata")).fetchall()
        assert rows == [({"headline": "On the harbour"},)]
