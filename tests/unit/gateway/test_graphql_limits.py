"""What one document may ask for, whether it says so itself or in a variable."""

from __future__ import annotations

import gc
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from graphql import DocumentNode, get_introspection_query

from kit.database import Database
from services.gateway.public.graphql.execute import CACHED_CHARS, Answer, GraphQL
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.graphql.http import MAX_FIELDS
from services.gateway.public.graphql.limits import MAX_ALIASES, MAX_CHARACTERS, MAX_DEPTH, MAX_TOKENS
from services.gateway.record.repository import PublicRecord
from tests.support.graphql_client import endpoint

FIELDS = "edges { cursor title authorName node { id url platform externalId claimCount checkedAt contentHash } }"


def graph() -> RecordGraph:
    """Nothing of these documents reaches the database, which is not there."""
    return RecordGraph(PublicRecord(Database("postgresql+psycopg://reader@127.0.0.1:9/none", role="reader")))


async def answer(query: str, **variables: Any) -> Answer:
    return await GraphQL(graph()).answer(query, variables, None)


async def body(query: str, **variables: Any) -> dict[str, Any]:
    """What a client reads."""
    return dict((await answer(query, **variables)).body)


async def refusal(query: str, **variables: Any) -> str:
    answered = await answer(query, **variables)
    (error,) = (await body(query, **variables))["errors"]
    assert (answered.outcome, error["extensions"], set(answered.body)) == (
        "refused",
        {"code": "QUERY_TOO_COMPLEX"},
        {"errors"},
    )
    message: str = error["message"]
    return message


def count_documents() -> int:
    """Parsed documents that something keeps; those that nothing does may refer to themselves."""
    gc.collect()
    return sum(isinstance(each, DocumentNode) for each in gc.get_objects())


async def test_documents_that_are_kept_take_little_memory() -> None:
    graphql, again = GraphQL(graph()), "__typename @include(if: true) " * 99
    asked = [f"{{ {again} a{n}: __typename }}" for n in range(2 * CACHED_CHARS // len(again))]
    before = count_documents()
    for query in asked:
        assert (await graphql.answer(query, {}, None)).outcome == "done"
    kept = count_documents() - before
    assert 0 < kept <= CACHED_CHARS // len(again)


async def test_as_many_aliases_as_allowed() -> None:
    names = [f"a{n}: __typename" for n in range(MAX_ALIASES)]
    assert (await body("{ " + " ".join(names) + " }"))["data"]["a0"] == "Query"
    assert "aliases" in await refusal("{ " + " ".join([*names, "b: __typename"]) + " }")
    fragment = "fragment F on Query { " + " ".join(names) + " }"
    assert "aliases" in await refusal("{ ...F b: __typename } " + fragment)


async def test_pages_multiply_whoever_says_their_size() -> None:
    large = f"search(first: 100) {{ {FIELDS} }}"
    assert "smaller pages" in await refusal("{ " + " ".join(f"a{n}: {large}" for n in range(5)) + " }")
    by_variable = large.replace("100", "$n")
    several = "query ($n: Int) { " + " ".join(f"a{n}: {by_variable}" for n in range(5)) + " }"
    assert "smaller pages" in await refusal(several, n=100)
    defaulted = several.replace("($n: Int)", "($n: Int = 100)")
    assert "smaller pages" in await refusal(defaulted)
    assert "smaller pages" in await refusal(
        "{ authors(first: 100) { edges { node { investigations(first: 100) { edges { cursor } } } } } }"
    )


async def test_what_has_to_be_counted_costs_more_than_what_is_known() -> None:
    window = "publicMetrics(windowStart: $at) { totalInvestigatedPosts }"
    several = "query ($at: DateTime) { " + " ".join(f"a{n}: {window}" for n in range(5)) + " }"
    assert "asks for more" in await refusal(several)
    kept = " ".join(f"a{n}: publicMetrics {{ totalInvestigatedPosts }}" for n in range(MAX_ALIASES))
    assert (await answer("{ " + kept + " }")).outcome != "refused"


async def test_words_are_looked_for_a_few_times_and_not_once_for_each_alias() -> None:
    """Twenty phrases of common words took a kilobyte to ask and a minute of the database to answer."""

    def several(number: int) -> str:
        found = "searchInvestigations(query: $words, limit: 1) { hasMore }"
        return "query ($words: String) { " + " ".join(f"a{n}: {found}" for n in range(number)) + " }"

    assert (await answer(several(4), words="of the")).outcome != "refused"
    assert "asks for more" in await refusal(several(5), words="of the")


async def test_depth_is_counted_through_fragments() -> None:
    def nested(levels: int, innermost: str = "name") -> str:
        return "ofType { " * levels + innermost + " }" * levels

    # __schema, queryType and the name itself are levels too.
    assert (await answer(f"{{ __schema {{ queryType {{ {nested(MAX_DEPTH - 3)} }} }} }}")).outcome == "done"
    assert f"{MAX_DEPTH} levels" in await refusal(f"{{ __schema {{ queryType {{ {nested(MAX_DEPTH - 2)} }} }} }}")
    spread = f"{{ __schema {{ queryType {{ {nested(6, '...T')} }} }} }} fragment T on __Type {{ {nested(8)} }}"
    assert f"{MAX_DEPTH} levels" in await refusal(spread)


async def test_fragments_that_grow_without_end() -> None:
    fragments = " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(20))
    assert "more than" in await refusal("{ ...F0 } " + fragments + " fragment F20 on Query { __typename }")


async def test_fields_that_are_asked_for_again_and_again_are_not_compared() -> None:
    """To validate a document is to compare each of its fields with each other one of that name.

    So it is refused before it is validated, which would find that there is no such field.
    """
    assert "again and again" in await refusal("{ " + "search { nothing } " * 100 + "}")
    assert "again and again" in await refusal("{ " + "... { search { __typename } } " * 100 + "}")
    spread = "".join(f"fragment F{n} on Query {{ search {{ __typename }} }} " for n in range(100))
    assert "again and again" in await refusal("{ ...F0 } " + spread)
    several = " ".join(f"a{n}: search(first: 1) {{ {FIELDS} }}" for n in range(MAX_ALIASES))
    assert (await answer("{ " + several + " }")).outcome == "unavailable"
    assert (await answer(get_introspection_query())).outcome == "done"


async def test_too_many_words() -> None:
    answered = await body("{ " + "a " * (MAX_TOKENS + 1) + "}")
    assert answered["errors"][0]["extensions"] == {"code": "GRAPHQL_PARSE_FAILED"}


async def test_a_document_of_few_tokens_and_many_characters_is_not_parsed() -> None:
    """Half a megabyte of white space before ten errors took three seconds."""
    few = "{ __typename }"
    assert (await answer(few.ljust(MAX_CHARACTERS))).outcome == "done"
    for long in (few.ljust(MAX_CHARACTERS + 1), "\n" * MAX_CHARACTERS + "{ nothing }", "#" * MAX_CHARACTERS + "\n{"):
        assert f"{MAX_CHARACTERS} characters" in await refusal(long)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_form_of_too_many_fields_is_not_read(method: str) -> None:
    async def send(fields: int) -> int:
        form = urlencode([("query", "{ __typename }"), *[("a", "b")] * (fields - 1)])
        address, body = (f"/graphql?{form}", None) if method == "GET" else ("/graphql", form)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(endpoint(graph())), base_url="http://test") as http:
            return (await http.request(method, address, headers=kind, content=body)).status_code

    assert [await send(MAX_FIELDS), await send(MAX_FIELDS + 1)] == [200, 400]


@pytest.mark.parametrize("size", [-1, 0, 10**9])
async def test_a_size_that_cannot_be_is_left_to_the_list(size: int) -> None:
    """Clients that exist expect a masked error from the field, not a refusal of the document."""
    query = "query ($n: Int) { searchInvestigations(limit: $n) { investigations { id url platform } hasMore } }"
    (error,) = (await body(query, n=size))["errors"]
    assert (error["message"], error["path"]) == ("Unexpected error.", ["searchInvestigations"])
