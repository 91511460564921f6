"""Routes for machines: feeds, sitemaps, and the files that browsers and crawlers request by themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.public.site import feeds
from services.gateway.public.site.answers import answer
from services.gateway.public.site.rendering import Templates
from services.gateway.public.site.subscriptions import Feed, Subscriptions

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, eq=False)
class Machines:
    """Serves the routes for machines. `base` returns the origin under which a request reaches this server."""

    subscriptions: Subscriptions
    templates: Templates
    base: Callable[[Request], str]
    answer_not_found: Callable[[Request], Response]

    def table(self) -> Iterator[tuple[str, Handler]]:
        """Paths and their handlers."""
        yield "/feeds/{name}.{kind}", self._feed
        yield "/feeds/authors/{name}.{kind}", self._author_feed
        yield "/sitemap.xml", self._maps
        yield "/sitemaps/{name}.xml", self._map
        yield "/robots.txt", self._robots
        yield "/static/icon.svg", self._icon
        yield self.templates.css_path, self._css

    async def _feed(self, request: Request) -> Response:
        feed = await self.subscriptions.feed(self.base(request), request.path_params["name"])
        return self._feed_response(request, feed)

    async def _author_feed(self, request: Request) -> Response:
        feed = await self.subscriptions.author_feed(self.base(request), request.path_params["name"])
        return self._feed_response(request, feed)

    def _feed_response(self, request: Request, feed: Feed | None) -> Response:
        kind = request.path_params["kind"]
        if feed is None or kind not in ("atom", "json"):
            return self.answer_not_found(request)
        base = self.base(request)
        address = f"{base}{request.url.path}"
        if kind == "json":
            body, media = feeds.render_json_feed(feed.title, feed.home, address, feed.entries), "application/feed+json"
        else:
            values = {"title": feed.title, "home": feed.home, "entries": feed.entries, "updated": feed.updated}
            body = self.templates.render("feed.xml", base=base, address=address, **values)
            media = "application/atom+xml; charset=utf-8"
        return answer(request, body, media)

    async def _maps(self, request: Request) -> Response:
        body = self.templates.render("sitemaps.xml", base=self.base(request), maps=await self.subscriptions.maps())
        return answer(request, body, "application/xml", max_age_s=3600)

    async def _map(self, request: Request) -> Response:
        pages = await self.subscriptions.map(request.path_params["name"])
        if pages is None:
            return self.answer_not_found(request)
        body = self.templates.render("sitemap.xml", base=self.base(request), pages=pages)
        return answer(request, body, "application/xml", max_age_s=3600)

    async def _robots(self, request: Request) -> Response:
        lines = (
            "User-agent: *",
            "Disallow: /trpc/",
            "Disallow: /graphql",
            "Disallow: /sources/",
            f"Sitemap: {self.base(request)}/sitemap.xml",
        )
        return answer(request, "\n".join((*lines, "")).encode(), "text/plain; charset=utf-8", max_age_s=86_400)

    async def _icon(self, request: Request) -> Response:
        return answer(request, self.templates.icon, "image/svg+xml", max_age_s=86_400)

    async def _css(self, request: Request) -> Response:
        return answer(request, self.templates.css, "text/css; charset=utf-8", immutable=True)
