"""The routes of the pages.

URLs must not change: feeds, other sites and search engines refer to them.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from contracts.jobs.problems import BY_SLUG, PROBLEMS
from services.gateway.domain import parse_id, parse_number
from services.gateway.http import page_origin
from services.gateway.ports import Unavailable
from services.gateway.public.site.answers import GUARDS, answer
from services.gateway.public.site.appeals import show_appeal
from services.gateway.public.site.authors import list_authors, show_author
from services.gateway.public.site.claims import list_claims, show_claim
from services.gateway.public.site.copies import SourceArchive
from services.gateway.public.site.decisions import list_decisions
from services.gateway.public.site.listing import ListQuery, list_corrections
from services.gateway.public.site.machines import Handler, Machines
from services.gateway.public.site.pages import Pages
from services.gateway.public.site.publishers import describe_publisher, show_publisher
from services.gateway.public.site.rendering import Templates, Values
from services.gateway.public.site.retractions import list_retractions
from services.gateway.public.site.subscriptions import Subscriptions
from services.gateway.record.question import BadQuestion

PUBLISHERS: Final = "/v1/publishers/"
_WELCOME: Final = "OpenErrata finds errors of fact in what people read and publishes them. See /docs and /health."
_MISSING: Final = ("There is no such page", "Nothing is at this address. It may have been cut short.")

log: structlog.stdlib.BoundLogger = structlog.get_logger("site")


class _NoSuchPage(Exception):
    """There is no page at this address."""


def _id(request: Request) -> UUID:
    """The id in the path. Raises: _NoSuchPage: the value is not a UUID."""
    known = parse_id(request.path_params["id"])
    if known is None:
        raise _NoSuchPage
    return known


def _number(request: Request, name: str) -> int:
    """A page's number from the query: 1 if there is none, 0 if it is invalid."""
    return parse_number(request.query_params.get(name, "1"), 5) or 0


class Site:
    """The public pages as one router. `public_url`: where readers reach it; if empty, the request's host.

    `jobs`: with the pages that explain the job API's errors. `catalogue`: with the pages of claims and publishers.
    """

    def __init__(
        self,
        pages: Pages,
        archived: SourceArchive,
        *,
        public_url: str = "",
        jobs: bool = False,
        catalogue: bool = False,
    ) -> None:
        self._pages = pages
        self._archived = archived
        self._templates = Templates(catalogue=catalogue, desk=catalogue and jobs)
        self._catalogue = catalogue
        self._public_url = public_url.rstrip("/")
        self._jobs = jobs
        self._record = pages.record
        self._machines = Machines(Subscriptions(pages.record), self._templates, self._base, self._answer_not_found)

    def router(self) -> Router:
        """The router with every route."""
        table: tuple[tuple[str, Handler], ...] = (
            ("/", self._home),
            ("/corrections", self._corrections),
            ("/corrections/{id}", self._moved),
            ("/retractions", self._retractions),
            ("/appeals/{id}", self._appeal),
            ("/log", self._log),
            ("/investigations/{id}", self._investigation),
            ("/investigations/{id}/text", self._text),
            ("/investigations/{id}/audit", self._audit),
            ("/investigations/{id}/prompt.txt", self._prompt),
            ("/investigations/{id}/proof.cbor", self._proof),
            ("/investigations/{id}/card.png", self._card),
            ("/posts/{platform}/{external_id:path}", self._post),
            ("/sources/{sha256}", self._copy),
            ("/authors", self._authors),
            ("/authors/{id}", self._author),
            ("/figures", self._figures),
            ("/accuracy", self._accuracy),
            ("/accuracy.json", self._accuracy_json),
            ("/how-it-works", self._how),
            ("/api", self._api),
            ("/docs", self._docs),
            ("/problems/{slug}", self._problem),
            ("/publishers/{domain}", self._publisher),
            (f"{PUBLISHERS}{{id}}", self._publisher_json),
            *self._machines.table(),
        )
        if self._catalogue:
            table += (("/claims", self._claims), ("/claims/{id}", self._claim))
        routes = [Route(path, self._with_error_pages(handler), methods=["GET"]) for path, handler in table]
        return Router(routes, redirect_slashes=False, default=self._missing)

    def _with_error_pages(self, handler: Handler) -> Handler:
        async def respond(request: Request) -> Response:
            response = await handle(request)
            if not self._public_url:  # links name the host of the request
                response.headers.add_vary_header("host")
            return response

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except _NoSuchPage:
                return self._answer_not_found(request)
            except BadQuestion as refusal:
                return self._fail(request, 400, "This request cannot be answered", str(refusal))
            except Unavailable as outage:
                log.warning("unavailable", path=request.url.path, reason=str(outage))
                return self._fail(request, 503, "Not now", "The record cannot be read at the moment. Please try again.")
            except Exception:
                log.exception("page failed", path=request.url.path)
                return self._fail(request, 500, "Something broke", "That is our mistake, and it has been logged.")

        return respond

    async def _missing(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer_not_found(Request(scope))(scope, receive, send)

    def _fail(self, request: Request, status: int, heading: str, message: str) -> Response:
        return self._page(request, "missing.html", {"heading": heading, "message": message}, status=status)

    def _answer_not_found(self, request: Request) -> Response:
        return self._fail(request, 404, *_MISSING)

    def _page(
        self, request: Request, template: str, values: Values | None, *, status: int = 200, max_age_s: int = 60
    ) -> Response:
        if values is None:
            return self._answer_not_found(request)
        values = {"section": None, "canonical": None} | values
        return answer(request, self._templates.render(template, **values), status=status, max_age_s=max_age_s)

    def _base(self, request: Request) -> str:
        return page_origin(self._public_url, request.headers.get("host", ""))

    async def _home(self, request: Request) -> Response:
        """A page for browsers; a JSON object for other clients, which existed first."""
        if "text/html" not in request.headers.get("accept", ""):
            response = answer(request, orjson.dumps({"message": _WELCOME}), "application/json")
        else:
            values = await self._pages.home() | {"canonical": f"{self._base(request)}/"}
            response = self._page(request, "home.html", values)
        response.headers["vary"] = "accept, accept-encoding"
        return response

    async def _corrections(self, request: Request) -> Response:
        params = request.query_params
        query = ListQuery(
            params.get("q", "").strip(),
            params.get("platform", ""),
            newest=params.get("order") == "newest",
            page=max(1, _number(request, "page")),
            after=params.get("after", ""),
        )
        values = await list_corrections(self._record, query)
        return self._page(request, "corrections.html", values, status=400 if values["refusal"] else 200)

    async def _log(self, request: Request) -> Response:
        before = parse_number(request.query_params.get("before", ""), 15)
        return self._page(request, "log.html", await list_decisions(self._record, before))

    async def _claims(self, request: Request) -> Response:
        params = request.query_params
        values = await list_claims(self._record, params.get("q", "").strip(), params.get("after", ""))
        return self._page(request, "claims.html", values, status=400 if values["refusal"] else 200, max_age_s=0)

    async def _claim(self, request: Request) -> Response:
        values = await show_claim(self._record, _id(request), self._pages.clock.now())
        return self._page(request, "claim.html", values, max_age_s=0)

    async def _retractions(self, request: Request) -> Response:
        values = await list_retractions(self._record, request.query_params.get("after", ""))
        return self._page(request, "retractions.html", values)

    async def _appeal(self, request: Request) -> Response:
        return self._page(request, "appeal.html", await show_appeal(self._record, _id(request)))

    async def _moved(self, request: Request) -> Response:
        return RedirectResponse(f"/investigations/{request.path_params['id']}", 308, GUARDS)

    async def _investigation(self, request: Request) -> Response:
        finding = parse_number(request.query_params.get("finding", ""), 5)
        values = await self._pages.investigation(self._base(request), _id(request), _number(request, "part"), finding)
        return self._page(request, "investigation.html", values)

    async def _text(self, request: Request) -> Response:
        return self._page(request, "text.html", await self._pages.text(_id(request), _number(request, "page")))

    async def _audit(self, request: Request) -> Response:
        return self._page(request, "audit.html", await self._pages.audit(_id(request)))

    async def _prompt(self, request: Request) -> Response:
        prompt = await self._pages.prompt(_id(request))
        if prompt is None:
            return self._answer_not_found(request)
        return answer(request, prompt, "text/plain; charset=utf-8", max_age_s=86_400)

    async def _proof(self, request: Request) -> Response:
        response = await self._archived.proof(request, await self._pages.report(_id(request)))
        return response or self._answer_not_found(request)

    async def _card(self, request: Request) -> Response:
        picture = await self._pages.card(_id(request))
        if picture is None:
            return self._answer_not_found(request)
        return answer(request, picture, "image/png")

    async def _copy(self, request: Request) -> Response:
        response = await self._archived.copy(request, request.path_params["sha256"])
        return response or self._answer_not_found(request)

    async def _post(self, request: Request) -> Response:
        values = await self._pages.posts.post(request.path_params["platform"], request.path_params["external_id"])
        return self._page(request, "post.html", values)

    async def _authors(self, request: Request) -> Response:
        params = request.query_params
        values = await list_authors(self._record, params.get("q", ""), params.get("after", ""))
        return self._page(request, "authors.html", values, status=400 if values["refusal"] else 200)

    async def _author(self, request: Request) -> Response:
        values = await show_author(self._record, _id(request), request.query_params.get("after", ""))
        return self._page(request, "author.html", values)

    async def _figures(self, request: Request) -> Response:
        return self._page(request, "figures.html", await self._pages.figures())

    async def _accuracy(self, request: Request) -> Response:
        return self._page(request, "accuracy.html", await self._pages.accuracy())

    async def _accuracy_json(self, request: Request) -> Response:
        return answer(request, orjson.dumps(await self._pages.accuracy_for_machines()), "application/json")

    async def _how(self, request: Request) -> Response:
        return self._page(request, "how.html", self._pages.how())

    async def _api(self, request: Request) -> Response:
        return self._page(request, "api.html", self._pages.api(self._base(request)))

    async def _problem(self, request: Request) -> Response:
        """What an error of the job API means; the `type` of its body leads here."""
        code = BY_SLUG.get(request.path_params["slug"]) if self._jobs else None
        return self._page(request, "problem.html", None if code is None else {"code": code, "kind": PROBLEMS[code]})

    async def _publisher(self, request: Request) -> Response:
        known = await show_publisher(self._record, request.path_params["domain"]) if self._catalogue else None
        return self._page(request, "publisher.html", known)

    async def _publisher_json(self, request: Request) -> Response:
        found = await describe_publisher(self._record, request.path_params["id"]) if self._catalogue else None
        body = orjson.dumps(found or {"message": "There is no such publisher."})
        return answer(request, body, "application/json", status=200 if found else 404)

    async def _docs(self, request: Request) -> Response:
        return self._page(request, "docs.html", self._pages.docs())
