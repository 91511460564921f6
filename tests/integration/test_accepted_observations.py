"""Whatever the gateway accepts is projected, shown on its pages and in the feeds, found by search, and rebuilt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from contracts.rpc.values import read as parsed
from contracts.v1 import CanonicalUnavailable, Event, ObservationUnverifiable, VersionRegistered
from contracts.v1.pages import Observation
from kit.errors import Reject
from platforms import ObservedVersion, has_public_source
from services.ingest.handlers import Ingest
from services.projector.facts.reading import read
from services.projector.projections.errata import fold
from services.projector.projections.material import Material
from services.projector.rebuild.shadow import shadow
from services.projector.rows.table import Tables
from services.projector.rows.versions import VERSION_TABLES
from services.projector.store.write import as_json
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, prepare, store_at, total
from tests.support.fakes import MemoryLog, MemoryTexts
from tests.support.servers import Prepare
from tests.support.site_client import client_of
from tests.support.site_server import pages_of
from tests.unit.gateway.fakes import (
    Bench,
    post_on_lesswrong,
    post_on_substack,
    post_on_wikipedia,
    post_on_x,
)
from tests.unit.projector.histories import Page, Tape, inline

pytest_plugins = ["tests.support.servers"]

REGISTER: Final = "post.registerObservedVersion"
SIZE: Final = 450_000
VALUES: Final = {
    "svg sup": "<svg><sup>2</sup></svg>",
    "math sup": "<math><sup>2</sup></math>",
    "names": "<p " + " ".join(f"{n:x}" for n in range(45_000)) + ">",
    "attributes": "<p " + " ".join(f"{n:x}" for n in range(6_000)) + ">",
    "nested": "<div>" * 1_100,
    "options": "<select>" + "<option>x" * (SIZE // 9),
    "script": "</script><script>alert(1)</script>]]><!--",
    "long": "a" * SIZE,
    "long words": " ".join(f"{n:x}.aa/{n:x}" for n in range(SIZE // 14)),
    "nul": "a\0b",
    "lone surrogate": "a\ud800b",
    "directions": "\u202eabc\u2066\u2069\u200f",
    "marks": "a" + "\u0301" * 20_000,
    "controls": "\x01\x1b\x7f\u2028\ufffe",
    "blank": " \u200b\n",
    "astral": "\U0001f600" * 400,
    "digits": "9" * 400,
}


def bodies(platform: str, number: int) -> dict[str, Any]:
    """A well-formed observation of another post, with every field that may be there."""
    seen: dict[str, Any]
    match platform:
        case "X":
            seen = post_on_x(url=f"https://x.com/someone/status/{number}1", externalId=f"{number}1")
            seen["metadata"] |= {"authorDisplayName": "Some One"}
        case "LESSWRONG":
            id_ = f"aBcDeFgHiJk{number:06}"
            seen = post_on_lesswrong(url=f"https://www.lesswrong.com/posts/{id_}/a-slug", externalId=id_)
            seen["metadata"] |= {"title": "T", "authorName": "A", "authorSlug": "a", "tags": ["one"]}
        case "SUBSTACK":
            seen = post_on_substack(externalId=f"7{number}")
            seen["metadata"] |= {"substackPostId": f"7{number}", "subtitle": "S", "authorSubstackHandle": "h"}
            seen["metadata"] |= {"htmlContent": "<p>Alpha beta</p>"}
        case _:
            seen = post_on_wikipedia(url=f"https://en.wikipedia.org/w/index.php?curid=7{number}")
            seen["metadata"] |= {"pageId": f"7{number}", "displayTitle": "<i>A</i>", "htmlContent": "<p>Alpha beta</p>"}
    if "observedContentText" in seen:
        seen["observedContentText"] = f"Alpha beta number{number}"
    return seen


def varied(platform: str) -> Iterator[dict[str, Any]]:
    """Each text of an observation with each hostile value; what the URL says follows its ids."""
    number = 0
    names = [("", name) for name in ("url", "externalId", "observedContentText")]
    names += [("metadata", name) for name in bodies(platform, 0)["metadata"]]
    for inside, name in names:
        for value in VALUES.values():
            number += 1
            body = deepcopy(bodies(platform, number))
            holder = body[inside] if inside else body
            if name not in holder:
                continue
            old = holder[name]
            holder[name] = [value] if isinstance(old, list) else f"{old}?q={value}" if name == "url" else value
            yield body


async def registered(observation: Observation) -> list[Event]:
    """What ingest makes of it where the site is silent."""
    ingest = Ingest(MemoryTexts(inline_bytes=10**9), MemoryLog())
    if has_public_source(observation.post.platform):
        away = CanonicalUnavailable(observation=observation, reason="TIMEOUT", detail="")
        return [fact async for fact in ingest.on_canonical_unavailable(away, 1)]
    return [
        fact async for fact in ingest.on_observation_unverifiable(ObservationUnverifiable(observation=observation), 1)
    ]


class Named(Page):
    """The version that ingest made, with a finding."""

    def __init__(self, fact: VersionRegistered) -> None:
        super().__init__(fact.post.external_id, platform=fact.post.platform, provenance="CLIENT_FALLBACK")
        self.version_id, self.post_id = fact.version_id, fact.post_id
        self.investigation_id = uuid4()
        self.url = fact.sighting.url


async def accepted(sent: Sequence[dict[str, Any]]) -> list[Observation]:
    """What the gateway lets in; everything else is refused as the reader's fault."""
    bench = Bench()
    for body in sent:
        content = json.dumps(body).encode()
        response = await bench.mutate(REGISTER, content)
        assert response.status_code in (200, 400, 413), response.text[:500]
    return [event.observation for event in bench.log.asked]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.mark.parametrize("platform", ["X", "LESSWRONG", "SUBSTACK", "WIKIPEDIA"])
async def test_what_is_accepted_is_projected_shown_found_and_rebuilt(database_url: str, platform: str) -> None:
    tape = Tape()
    pages: list[Named] = []
    observations = await accepted(list(varied(platform)))
    assert len(observations) >= 30
    for observation in observations:
        try:
            facts = await registered(observation)
        except Reject:  # the reader gets 400
            continue
        for fact in facts:
            tape.add(fact)
            if isinstance(fact, VersionRegistered) and fact.version_id not in {page.version_id for page in pages}:
                page = Named(fact)
                pages.append(page)
                started = page.started()
                tape.add(
                    page.requested(),
                    started.model_copy(
                        update={
                            "input": started.input.model_copy(update={"content": inline(fact.content.inline or "x")})
                        }
                    ),
                )
                tape.add(page.proposed(0), page.drafted(1), page.approved(0), page.completed((0,)))
    views = Tape("VIEWS")
    views.add(*(page.viewed("member", reporter="key") for page in pages))  # else no list and no search would show them
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records))
    await fill(store, views.records)
    await store.close()
    assert outcomes == {"applied": len(tape.records)}
    found = await everything(database_url)
    assert found["refused_fact"] == []
    assert {row["status"] for row in found["investigation"]} == {"COMPLETE"}
    assert len(found["search_document"]) == len(pages)
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    async with pages_of(database_url, tape.now + timedelta(hours=1)) as router, client_of(router) as http:
        paths = [f"/investigations/{page.investigation_id}" for page in pages[::3]]
        paths += [f"/investigations/{page.investigation_id}/text" for page in pages[::9]]
        paths += [f"/posts/{platform.lower()}/{page.post.external_id}" for page in pages[::9]]
        paths += ["/", "/corrections", "/corrections?q=Wrong+sentence", "/authors", "/sitemap.xml"]
        for path in [*paths, "/feeds/all.atom", "/feeds/all.json"]:
            response = await http.get(path)
            assert response.status_code == 200, (path[:200], response.status_code)
            assert len(response.content) < 1_500_000, path[:200]
            assert "json" in response.headers["content-type"] or "<script>alert" not in response.text


FIELDS: Final = ("title", "subtitle", "displayTitle", "authorName", "authorDisplayName", "slug", "text", "tags")
MARKUP: Final = [*"<>/&;'\"=! \0", "svg", "math", "sup", "select", "option", "b", "--", "]]"]
ANY_TEXT: Final = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=["Mn", "Cf", "Cc", "Lo"]), max_size=60),
    st.lists(
        st.sampled_from([*"<>/&;'\"=! \0", "svg", "math", "sup", "select", "option", "b", "--", "]]"]), max_size=40
    ).map("".join),
)
OBSERVED: TypeAdapter[Any] = TypeAdapter(ObservedVersion)


@settings(max_examples=60, deadline=None)
@given(
    platform=st.sampled_from(["X", "LESSWRONG", "SUBSTACK", "WIKIPEDIA"]),
    changes=st.dictionaries(st.sampled_from(FIELDS), ANY_TEXT, min_size=1),
    text=ANY_TEXT,
)
async def test_any_accepted_text_can_be_planned_and_written_as_rows(
    platform: str, changes: dict[str, str], text: str
) -> None:
    body = bodies(platform, 1)
    if "observedContentText" in body:
        body["observedContentText"] = text
    for name, value in changes.items():
        if name in body["metadata"]:
            body["metadata"][name] = [value] if isinstance(body["metadata"][name], list) else value
    try:
        parsed(OBSERVED, json.dumps(body).encode())
    except ValidationError:
        return
    tape = Tape()
    for observation in await accepted([body]):
        try:
            tape.add(*await registered(observation))
        except Reject:
            return
    if not tape.records:
        return
    batch = read(tape.records)
    assert not batch.refusals
    tables = Tables()
    fold(tables, batch.facts, Material())
    for table in VERSION_TABLES:
        as_json(tables[table].written)
