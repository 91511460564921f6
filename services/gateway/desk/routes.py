"""The desk as an ASGI application: log-in, permissions and responses.

Only our own pages can send its forms: the browser must say so, and a form must carry its session's token. No answer is
stored by a cache, and none has headers that let another origin read it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from math import ceil
from time import perf_counter
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router

from contracts.accounts import VERBS, Verb
from contracts.jobs.problems import PROBLEMS
from kit.addresses import ip_range_prefix
from kit.clock import Clock
from kit.errors import locate
from kit.vault import MasterKey
from services.gateway.desk.actions import Actions
from services.gateway.desk.forms import is_sent_by_own_page, read_form
from services.gateway.desk.pages import Pages
from services.gateway.desk.sessions import Session, Sessions
from services.gateway.desk.visits import Visit
from services.gateway.domain import Principal, key_hash
from services.gateway.http import (
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    Message,
    Receive,
    Scope,
    Send,
    without_body,
)
from services.gateway.jobs.access import require_right, require_verb
from services.gateway.jobs.exchange import RETRY_S
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.keys import InstanceKeys
from services.gateway.metrics import Metrics
from services.gateway.ports import Unavailable
from services.gateway.public.site.answers import GUARDS
from services.gateway.public.site.rendering import Templates, Values
from services.gateway.rate_limit import TokenBuckets
from services.gateway.record.question import BadQuestion

PATH: Final = "/desk"
LOGIN: Final = f"{PATH}/login"
LOGINS: Final = 20
"""Log-ins that one network may try at once; then one a minute."""
KEY_CHARACTERS: Final = 512
HEADERS: Final = {**GUARDS, "cache-control": "no-store", "referrer-policy": "same-origin"}
"""With `no-referrer`, browsers would not say which page a form comes from."""
_HEADERS: Final = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_TYPED: Final = ("wording", "domain", "summary", "reason", "note", "description", "source_url", "text")
"""Fields that the page about a refused form shows again, so that nothing has to be typed twice."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("desk")

Show = Callable[[Visit], Awaitable[Values]]
Act = Callable[[Visit], Awaitable[str]]
Handler = Callable[[Request], Awaitable[Response]]


class Desk:
    """Serves the desk. `reads` and `changes` are the job API's own limits; `address` returns the client address."""

    def __init__(
        self,
        keys: InstanceKeys,
        masters: tuple[MasterKey, ...],
        pages: Pages,
        actions: Actions,
        reads: RateLimit,
        changes: RateLimit,
        address: Callable[[Scope], str],
        clock: Clock,
        metrics: Metrics,
        *,
        body_timeouts: BodyTimeouts,
        public_url: str,
    ) -> None:
        self._keys = keys
        self._sessions = Sessions("desk", masters, clock, public_url)
        # A link from another site arrives without the session's cookie; its log-in page must not replace that cookie.
        self._visitors = Sessions("desk-login", masters, clock, public_url)
        self._reads = reads
        self._changes = changes
        self._address = address
        self._clock = clock
        self._metrics = metrics
        self._body_timeouts = body_timeouts
        self._public_url = public_url
        self._logins = TokenBuckets(clock, burst=LOGINS, every_s=60.0)
        self._templates = Templates(catalogue=True, desk=True)
        entry = f"{PATH}/claims/{{entry_id}}"
        shown: tuple[tuple[str, str, Show, Verb], ...] = (
            (PATH, "account", pages.account, "read"),
            (f"{PATH}/jobs/{{job_id}}", "job", pages.job, "read"),
            (f"{PATH}/claims", "claims", pages.claims, "read"),
            (entry, "claim", pages.claim, "read"),
            (f"{PATH}/flags", "flags", pages.flags, "decide"),
            (f"{PATH}/edits", "edits", pages.edits, "decide"),
            (f"{PATH}/appeals", "appeals", pages.appeals, "hear"),
        )
        done: tuple[tuple[str, Act, Verb], ...] = (
            (f"{entry}/edit", actions.edit, "edit"),
            (f"{entry}/hide", actions.hide, "hide"),
            (f"{entry}/revert", actions.revert, "edit"),
            (f"{entry}/flag", actions.flag, "flag"),
            (f"{entry}/evidence", actions.suggest, "submit"),
            (f"{PATH}/flags/{{flag_id}}", actions.resolve, "decide"),
        )
        self.routes = [
            self._route("GET", LOGIN, self._ask_for_key),
            self._route("POST", LOGIN, self._log_in),
            self._route("POST", f"{PATH}/logout", self._log_out),
            *(self._route("GET", path, self._page(name, show, verb)) for path, name, show, verb in shown),
            *(self._route("POST", path, self._action(act, verb)) for path, act, verb in done),
        ]
        self._router = Router(self.routes, redirect_slashes=False, default=self._answer_missing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "HEAD":
            scope, send = {**scope, "method": "GET"}, without_body(send)
        await self._router(scope, receive, _guarded(send))

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        async def answer(request: Request) -> Response:
            began = perf_counter()
            try:
                response = await handler(request)
            except Exception as error:
                response = self._fail(request, _problem_of(error))
            self._metrics.request(path, response.status_code, perf_counter() - began)
            return response

        return Route(path, answer, methods=[method])

    def _page(self, name: str, show: Show, verb: Verb) -> Handler:
        async def answer(request: Request) -> Response:
            found = await self._find(request)
            if found is None:
                return _go(LOGIN)
            session, principal = found
            require_verb(principal, verb)
            self._reads.take(str(principal.account.account_id))
            visit = Visit(request, session, principal, self._clock.new_id(), {})
            return self._render(request, f"desk/{name}.html", await show(visit), session, principal)

        return answer

    def _action(self, act: Act, verb: Verb) -> Handler:
        async def answer(request: Request) -> Response:
            form = await self._read(request)
            found = await self._find(request)
            if found is None:
                raise Problem("UNAUTHENTICATED", "Your session is over. Please log in again.")
            session, principal = found
            _require_token(session, form.get("token", ""))
            require_verb(principal, verb)
            self._changes.take(str(principal.account.account_id))
            return _go(await act(Visit(request, session, principal, self._clock.new_id(), form)))

        return answer

    async def _ask_for_key(self, request: Request) -> Response:
        return self._show_login(request)

    async def _log_in(self, request: Request) -> Response:
        form = await self._read(request)
        network = ip_range_prefix(self._address(request.scope))
        if not self._logins.take(network):
            raise Problem("RATE_LIMITED", retry_after_s=self._logins.allowance(network).next_in_s)
        before = self._visitors.read(request)
        if before is None:
            return self._show_login(request, "The page was too old. Please try again.")
        _require_token(before, form.get("token", ""))
        hashed = key_hash(form.get("key", "")[:KEY_CHARACTERS])
        principal = await self._keys.principal(hashed)
        if principal is None or "audit" not in principal.rights:
            return self._show_login(request, "This key opens no account of the job API.")
        response = _go(PATH)
        self._sessions.keep(response, self._sessions.start(hashed))
        return response

    async def _log_out(self, request: Request) -> Response:
        form = await self._read(request)
        session = self._sessions.read(request)
        response = _go(LOGIN)
        if session is not None:
            _require_token(session, form.get("token", ""))
            self._sessions.end(response, session)
        return response

    def _show_login(self, request: Request, refusal: str = "") -> Response:
        """The form for a key, in a session without an account."""
        session = self._visitors.start()
        response = self._render(request, "desk/login.html", {"refusal": refusal}, session, None)
        response.status_code = 401 if refusal else 200
        self._visitors.keep(response, session)
        return response

    async def _read(self, request: Request) -> Mapping[str, str]:
        """Read a form that one of our pages sent. Raises: Problem; the body is read in any case."""
        request.state.form = form = await read_form(request, self._body_timeouts)
        if not is_sent_by_own_page(request, self._public_url):
            raise Problem("FORBIDDEN", "Forms are taken from this site’s own pages only.")
        return form

    async def _find(self, request: Request) -> tuple[Session, Principal] | None:
        """The session and account of a request, or None. Raises: Unavailable. Problem: the key lost its right."""
        session = self._sessions.read(request)
        if session is None or not session.key_hash:
            return None
        principal = await self._keys.principal(session.key_hash)
        if principal is None:
            return None
        require_right(principal, "audit")
        return session, principal

    def _render(
        self, request: Request, template: str, values: Values, session: Session | None, principal: Principal | None
    ) -> Response:
        common: Values = {
            "section": None,
            "canonical": None,
            "path": request.url.path,
            "done": request.query_params.get("done", ""),
            "token": session.token if session else "",
            "role": principal.account.role if principal else None,
            "may": VERBS[principal.account.role] if principal else frozenset(),
        }
        return Response(self._templates.render(template, **(common | values)), media_type="text/html")

    def _fail(self, request: Request, problem: Problem) -> Response:
        status = problem.status or PROBLEMS[problem.code].statuses[0]
        form: Mapping[str, str] = getattr(request.state, "form", {})
        values: Values = {
            "heading": "Changed meanwhile" if status == 409 else PROBLEMS[problem.code].title,
            "message": problem.message,
            "typed": [(name, form[name]) for name in _TYPED if form.get(name)],
        }
        response = self._render(request, "desk/problem.html", values, None, None)
        response.status_code = status
        if problem.retry_after_s is not None:
            response.headers["retry-after"] = str(max(1, ceil(problem.retry_after_s)))
        return response

    async def _answer_missing(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._fail(Request(scope), Problem("NOT_FOUND"))(scope, receive, send)


def _go(path: str) -> Response:
    return RedirectResponse(path, 303)


def _guarded(send: Send) -> Send:
    """Wrap `send` to add the desk's headers to every response."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_HEADERS]}
        await send(message)

    return sending


def _require_token(session: Session, token: str) -> None:
    if not session.sent(token):
        raise Problem("FORBIDDEN", "The form does not belong to this session. Please load the page again.")


def _problem_of(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case Unavailable():
            log.warning("unavailable", path=PATH, reason=str(error))
            return Problem("SERVICE_UNAVAILABLE", retry_after_s=RETRY_S)
        case BadQuestion():
            return Problem("VALIDATION_ERROR", str(error))
        case BodyTooLarge():
            return Problem("PAYLOAD_TOO_LARGE")
        case TimeoutError():
            return Problem("REQUEST_TIMEOUT")
        case ClientDisconnected():
            return Problem("VALIDATION_ERROR", "The form is incomplete.")
    log.error("internal error", at=locate(error))
    return Problem("INTERNAL")
