"""The catalogue's routes with their descriptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from contracts.jobs.catalogue import (
    Edited,
    EditRequest,
    EntryPage,
    EntryView,
    EvidenceRequest,
    FlagQueue,
    FlagRequest,
    FlagView,
    PublishRequest,
    ResolveRequest,
    RevertRequest,
    SourceNames,
)
from services.gateway.jobs.catalogue_routes import CatalogueRoutes
from services.gateway.jobs.openapi import CHANGED_MEANWHILE, EVERYWHERE, SECURED, WITH_BODY, Answer, describe
from services.gateway.openapi import Schema

Handler = Callable[[Request], Awaitable[Response]]


def list_catalogue_routes(routes: CatalogueRoutes) -> Iterator[tuple[str, str, Handler, Schema]]:
    """Yield method, path, handler and description of each route."""
    entries, entry, changed = "/v1/claims", "/v1/claims/{entry_id}", (*WITH_BODY, "NOT_FOUND")
    read = (*EVERYWHERE, "RATE_LIMITED", "UNAUTHENTICATED")
    page = describe(Answer(200, EntryPage), problems=(*read, "VALIDATION_ERROR"), takes=("q", "after"), secured=False)
    yield "GET", entries, routes.search, page
    one = describe(Answer(200, EntryView), problems=(*read, "NOT_FOUND"), takes=("entry_id",), secured=False)
    yield "GET", entry, routes.show, one
    names = describe(Answer(200, SourceNames), problems=(*read, "VALIDATION_ERROR"), takes=("begins",), secured=False)
    yield "GET", "/v1/sources", routes.sources, names
    queue = describe(Answer(200, FlagQueue), problems=(*SECURED, "VALIDATION_ERROR"), takes=("after",))
    yield "GET", "/v1/flags", routes.queue, queue
    for path, handler, body, made, takes in (
        (entries, routes.publish, PublishRequest, Answer(201, Edited), ()),
        (f"{entries}/submissions", routes.submit, PublishRequest, Answer(201, FlagView), ()),
        (f"{entry}/edits", routes.edit, EditRequest, Answer(201, Edited), ("entry_id",)),
        (f"{entry}/revert", routes.revert, RevertRequest, Answer(201, Edited), ("entry_id",)),
        (f"{entry}/evidence", routes.suggest, EvidenceRequest, Answer(201, FlagView), ("entry_id",)),
        (f"{entry}/flags", routes.flag, FlagRequest, Answer(201, FlagView), ("entry_id",)),
        ("/v1/flags/{flag_id}/resolve", routes.resolve, ResolveRequest, Answer(200, FlagView), ("flag_id",)),
    ):
        described = describe(made, problems=changed, body=body, takes=takes)
        described["responses"][409] = CHANGED_MEANWHILE
        yield "POST", path, handler, described
