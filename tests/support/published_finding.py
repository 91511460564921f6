"""An instance that has published a finding, and ways to read it everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from contracts.topology import ERRATA
from contracts.v1 import Event, FindingChanged
from contracts.v1.finding import FindingState
from kit.database import Database
from kit.pages import read_last_sequence
from services.commands.export.run import export
from services.gateway.extension.status import ANSWER_TTL_S
from tests.integration.readmodel_tables import everything
from tests.support.gateway import BATCH, LOOK, VIEW, Running
from tests.support.public_record import Article, Finding
from tests.support.system import until
from tests.unit.gateway.fakes import data

QUOTE, SUMMARY = "Glass flows slowly, like honey.", "Glass is a solid; old panes were made uneven."
ARTICLE: Final = Article(
    "en:777",
    f"Old windows are thicker at the bottom. {QUOTE} So they say.",
    Finding(QUOTE, SUMMARY),
    title="Old windows",
    author="Wanda Writer",
    url="https://en.wikipedia.org/w/index.php?title=Old_windows&oldid=3",
)
NEXT: Final = Article(
    "en:777",
    f"Old windows are thicker at the bottom. {QUOTE} So some say.",
    title="Old windows",
    author="Wanda Writer",
    url=ARTICLE.url,
)
CLAIM: Final = ARTICLE.claim(0)[0]
NOTE: Final = "The source speaks of pitch."
GRAPHQL: Final = """query ($id: ID!, $post: String!) {
    publicInvestigation(investigationId: $id) {
        claims { id } withdrawnClaims { id text summary state cause note changedAt } }
    postInvestigations(platform: WIKIPEDIA, externalId: $post) { investigations { claimCount claimSummaries { id } } }
    searchInvestigations(minClaimCount: 1, query: "glass") { investigations { id } }
    search(query: "honey", minClaimCount: 1) { edges { node { id } } }
    publicMetrics { totalInvestigatedPosts investigatedPostsWithFlags }
    authors(query: "Wanda") { edges { node { metrics { investigatedPosts flaggedPosts claimCount } } } } }"""
WINDOW: Final = """{ publicMetrics(windowStart: "2020-01-01T00:00:00Z", windowEnd: "2100-01-01T00:00:00Z")
    { totalInvestigatedPosts investigatedPostsWithFlags } }"""


class Published:
    """An instance that has published a finding, and ways to read it everywhere."""

    def __init__(self, running: Running, database_url: str) -> None:
        self.running = running
        self.url = database_url
        self.sequence = 0

    async def tell(self, *events: Event) -> None:
        """Store facts, and wait until the tables hold them."""
        await self.running.tell(*events)
        newest = await read_last_sequence(self.running.host.bus, ERRATA.name)

        async def reached() -> bool:
            async with self.running.host.database("reader").connect() as connection:
                found = await connection.exec_driver_sql(
                    f"SELECT 1 FROM position WHERE stream = 'ERRATA' AND sequence >= {newest}"
                )
                return found.scalar() is not None

        await until(reached, "the tables hold it")

    async def change(self, state: FindingState, note: str = NOTE) -> None:
        """Bring the finding into a state."""
        await self.tell(changed(state, self.sequence, note))
        self.sequence = await read_last_sequence(self.running.host.bus, ERRATA.name)
        found = 1 if state == "RELEASED" else 0

        async def followed() -> bool:
            return await seen_by_readers(self) == (found, found, found)

        # Much later, answers follow because they are forgotten, whether a gateway hears of the change or not.
        await until(followed, "answers that were cached follow", within_s=ANSWER_TTL_S / 3)

    async def page(self, path: str, **headers: str) -> str:
        """The text of a page or document."""
        response = await self.running.http.get(path, headers={"accept": "text/html", **headers})
        assert response.status_code == 200, (path, response.text)
        assert response.headers["cache-control"] in ("public, max-age=60", "no-store"), path
        return response.text

    async def ask(self, query: str = GRAPHQL) -> Any:
        """The answer of GraphQL."""
        asked = {"id": str(ARTICLE.investigation_id), "post": ARTICLE.post.external_id}
        response = await self.running.http.post("/graphql", json={"query": query, "variables": asked})
        assert "errors" not in response.json(), response.text
        return response.json()["data"]

    async def exported(self, folder: Path) -> dict[str, list[dict[str, Any]]]:
        """The rows of the exported tables."""
        database = Database(self.url, role="reader")
        try:
            await export(database, folder, "jsonl", full=True)
        finally:
            await database.close()
        return {
            file.stem: [json.loads(line) for line in file.read_text().splitlines()]
            for file in folder.rglob("*.jsonl")  # noqa: ASYNC240 (a few small files)
        }


def changed(state: FindingState, follows: int, note: str = NOTE) -> FindingChanged:
    return FindingChanged(
        follows=follows,
        claim_id=CLAIM,
        investigation_id=ARTICLE.investigation_id,
        state=state,
        cause="OPERATOR",
        note=note,
    )


def run_of(article: Article) -> tuple[Event, ...]:
    """A version and its result, without texts that only a blob store has."""
    found = range(len(article.findings))
    return (
        article.registered(),
        article.requested(),
        article.started(),
        *(article.proposed(n) for n in found),
        *(article.approved(n) for n in found),
        article.completed(tuple(found)),
    )


async def seen_by_readers(published: Published) -> tuple[int, int, int]:
    """How many findings the extension's procedures show: of a view, of a look, of a list of versions."""
    running = published.running
    version = {"postVersionId": str(ARTICLE.version_id)}
    view = data(VIEW, await running.mutate(VIEW, version))
    looked = await running.query(LOOK, {"investigationId": str(ARTICLE.investigation_id)})
    assert looked.headers["cache-control"] == "private, max-age=60"
    look = data(LOOK, looked)
    key = {
        "platform": "WIKIPEDIA",
        "externalId": ARTICLE.post.external_id,
        "versionHash": ARTICLE.registered().version_hash,
    }
    (listed,) = data(BATCH, await running.query(BATCH, {"posts": [key]}))["statuses"]
    assert view["investigationState"] == look["investigationState"] == listed["investigationState"] == "INVESTIGATED"
    return len(view["claims"]), len(look["claims"]), listed["incorrectClaimCount"]


async def author_of(published: Published) -> str:
    rows = (await everything(published.url))["author"]
    return str(next(row["id"] for row in rows if row["display_name"] == "Wanda Writer"))
