"""What machines read: feeds, maps of the site, and the files that browsers and crawlers ask for by themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.public.site import feeds
from services.gateway.public.site.answers import answer
from services.gateway.public.site.rendering import Templates
from services.gateway.public.site.subscriptions import Feed, Subscriptions

Handler = Callable[[Request], Awaitable[Response]]


class Machines:
    """Their routes. `base` is the address under which a request reaches this server."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        templates: Templates,
        base: Callable[[Request], str],
        find_nothing: Callable[[Request], Response],
    ) -> None:
        self._subscriptions = subscriptions
        self._templates = templates
        self._base = base
        self._find_nothing = find_nothing

    def table(self) -> Iterator[tuple[str, Handler]]:
        """Paths and their handlers."""
        yield "/feeds/{name}.{kind}", self._feed
        yield "/feeds/authors/{name}.{kind}", self._author_feed
        yield "/sitemap.xml", self._maps
        yield "/sitemaps/{name}.xml", self._map
        yield "/robots.txt", self._robots
        yield "/static/icon.svg", self._icon
        yield self._templates.css_path, self._css

    async def _feed(self, request: Request) -> Response:
        feed = await self._subscriptions.feed(self._base(request), request.path_params["name"])
        return self._feed_response(request, feed)

    async def _author_feed(self, request: Request) -> Response:
        feed = await self._subscriptions.author_feed(self._base(request), request.path_params["name"])
        return self._feed_response(request, feed)

    def _feed_response(self, request: Request, feed: Feed | None) -> Response:
        kind = request.path_params["kind"]
        if feed is None or kind not in ("atom", "json"):
            return self._find_nothing(request)
        base = self._base(request)
        address = f"{base}{request.url.path}"
        if kind == "json":
            body, media = feeds.render_json_feed(feed.title, feed.home, address, feed.entries), "application/feed+json"
        else:
            values = {"title": feed.title, "home": feed.home, "entries": feed.entries, "updated": feed.updated}
            body = self._templates.render("feed.xml", base=base, address=address, **values)
            media = "application/atom+xml; charset=utf-8"
        return answer(request, body, media)

    async def _maps(self, request: Request) -> Response:
        body = self._templates.render("sitemaps.xml", base=self._base(request), maps=await self._subscriptions.maps())
        return answer(request, body, "application/xml", max_age_s=3600)

    async def _map(self, request: Request) -> Response:
        pages = await self._subscriptions.map(request.path_params["name"])
        if pages is None:
            return self._find_nothing(request)
        body = self._templates.render("sitemap.xml", base=self._base(request), pages=pages)
        return answer(request, body, "application/xml", max_age_s=3600)

    async def _robots(self, request: Request) -> Response:
        lines = (
            "User-agent: *",
            "Disallow: /trpc/",
            "Disallow: /graphql",
            "Disallow: /sources/",
            f"Sitemap: {self._base(request)}/sitemap.xml",
        )
        return answer(request, "\n".join((*lines, "")).encode(), "text/plain; charset=utf-8", max_age_s=86_400)

    async def _icon(self, request: Request) -> Response:
        return answer(request, self._templates.icon, "image/svg+xml", max_age_s=86_400)

    async def _css(self, request: Request) -> Response:
        return answer(request, self._templates.css, "text/css; charset=utf-8", immutable=True)
