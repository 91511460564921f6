"""Which part of the gateway answers for the catalogue."""

from __future__ import annotations

import pytest

from tests.unit.gateway.fakes import Bench


@pytest.mark.parametrize(("catalogue", "kind"), [(True, "application/json"), (False, "application/problem+json")])
async def test_publishers_are_the_catalogues_while_it_is_on_and_else_the_job_apis(catalogue: bool, kind: str) -> None:
    bench = Bench(jobs=True, catalogue=catalogue)
    response = await bench.http.get("/v1/publishers/nobody")
    assert (response.status_code, response.headers["content-type"]) == (404, kind)


async def test_pages_of_publishers_are_not_there_by_default() -> None:
    bench = Bench()
    for path in ("/publishers/for.example", "/v1/publishers/nobody"):
        assert (await bench.http.get(path)).status_code == 404


async def test_sources_are_described_while_the_catalogue_is_on_and_appeals_always() -> None:
    on, off = [(await Bench(catalogue=each).http.get("/openapi.json")).json() for each in (True, False)]
    assert "/v1/publishers/{publisher_id}" in on["paths"]
    assert "/v1/publishers/{publisher_id}" not in off["paths"]
    asked = off["paths"]["/v1/appeals"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert asked == {"$ref": "#/components/schemas/AppealRequest"}
    assert off["components"]["schemas"]["AppealRequest"]["required"] == ["investigation_id", "kind", "text"]
