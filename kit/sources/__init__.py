"""Pages that are cited, for analyses of every kind."""

from kit.sources.pages import INTERRUPTED, FetchTimings, Page, Pages, PageUnavailable

__all__ = ["INTERRUPTED", "FetchTimings", "Page", "PageUnavailable", "Pages"]
