"""Every role at every route of the job API that asks for a verb, and of the desk: the table of verbs decides."""

from __future__ import annotations

from itertools import product
from typing import Any, Final, get_args

import httpx
import pytest
from starlette.routing import Route

from contracts.accounts import ROLES, VERBS, Role, Verb
from contracts.v1 import FlagRaised
from services.gateway.desk.routes import Desk
from tests.support.job_api import problem, send
from tests.unit.gateway.fakes import Bench
from tests.unit.gateway.test_catalogue_routes import ROUTES as CATALOGUE
from tests.unit.gateway.test_catalogue_routes import prepare_nothing, published
from tests.unit.gateway.test_desk import ROUTES as DESK
from tests.unit.gateway.test_desk import ask, at_desk
from tests.unit.gateway.test_job_accounts import CHANGE

ADMIN: Final = (
    ("credit", "GET", "/v1/user/credit", None, "read", prepare_nothing),
    ("models", "GET", "/admin/v1/llm/config", None, "configure", prepare_nothing),
    ("configure", "POST", "/admin/v1/llm/configure", CHANGE, "configure", prepare_nothing),
)
ROUTES: Final = [
    *(("api", route) for route in (*CATALOGUE, *ADMIN)),
    *(("desk", route) for route in DESK),
]
BY_COMMANDS: Final = {"score"}
"""Verbs that nobody uses over HTTP."""


async def call(interface: str, bench: Bench, route: Any, role: Role) -> httpx.Response:
    if interface == "desk":
        return await ask(await at_desk(bench, role), bench, route)
    _, method, path, body, _, _ = route
    flags = bench.jobs.of(FlagRaised)
    path = path.format(flag=flags[0].flag_id if flags else "")
    return await send(bench, method, path, body, key=f"oe_{role}")


@pytest.mark.requirement("FH-115", "FH-116")
@pytest.mark.parametrize(
    ("interface", "route", "role"),
    [(*each, role) for each, role in product(ROUTES, ROLES)],
    ids=[f"{route[0]} by {interface} as {role}" for (interface, route), role in product(ROUTES, ROLES)],
)
async def test_every_role_may_what_its_verbs_say(interface: str, route: Any, role: Role) -> None:
    """FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.

    FH-115: Roles are given by people, never by a score
    FH-116: Readers flag, contributors edit, moderators decide and hide
    """
    name, method, _, _, verb, prepare = route
    bench = published(is_published=name not in ("publish", "submit"))
    await prepare(bench)
    before = len(bench.jobs.facts)
    response = await call(interface, bench, route, role)
    assert response.headers["cache-control"] == "no-store"
    if verb in VERBS[role]:
        assert response.status_code in (200, 201, 303), response.text
        assert response.headers.get("location") != "/desk/login"
        assert (len(bench.jobs.facts) > before) == (method == "POST")
        return
    is_invisible = name == "show again" and "edit" in VERBS[role]
    if interface == "api":
        problem(response, "NOT_FOUND" if is_invisible else "FORBIDDEN")
    else:
        assert response.status_code == (404 if is_invisible else 403)
    assert len(bench.jobs.facts) == before


def test_every_verb_is_asked_for_and_every_route_is_tried() -> None:
    assert {route[4] for _, route in ROUTES} | BY_COMMANDS == set(get_args(Verb))
    desk = published().app.desk
    assert isinstance(desk, Desk)
    own = {(*(route.methods or set()) - {"HEAD"}, route.path) for route in desk.routes if isinstance(route, Route)}
    tried = {(route[1], match.path) for route in DESK for match in desk.routes if matches(match, route)}
    without_role = {("GET", "/desk/login"), ("POST", "/desk/login"), ("POST", "/desk/logout")}
    assert own - tried - without_role == {("GET", "/desk/jobs/{job_id}")}, "whose is told from the account"


def matches(route: Any, tried: Any) -> bool:
    scope = {"type": "http", "method": tried[1], "path": tried[2].partition("?")[0].format(flag="x")}
    return bool(route.matches(scope)[0].value == 2)
