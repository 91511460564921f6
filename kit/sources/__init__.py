"""Pages that are cited, for analyses of every kind."""

from kit.sources.pages import FetchTimings, Page, Pages, PageUnavailable

__all__ = ["FetchTimings", "Page", "PageUnavailable", "Pages"]
