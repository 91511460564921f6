"""What becomes the article of a job: the page's own text and day, and a code for each reason why there is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.jobs.requests import TEXT_CHARACTERS
from contracts.jobs.words import ArticleWords
from kit.documents.article import ReadArticle
from kit.documents.walls import MIN_LETTERS, Wall
from kit.errors import Retry
from kit.sources import INTERRUPTED, Page, PageUnavailable
from kit.web.errors import ErrorKind
from services.auditor.adapters import fetch_article
from services.auditor.domain import (
    MAX_WORDS,
    Article,
    NoArticle,
    Refusal,
    explain,
    parse_day,
    parse_language,
    take_text,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ADDRESS = "https://news.example/bats"
LONG = "They see well. " * 40
PAGE = ReadArticle(LONG, "Bats", "A. B.", "The Daily Bat", "2026-11-14", "en-GB")


class OnePage:
    def __init__(self, page: ReadArticle | PageUnavailable, final_url: str = ADDRESS) -> None:
        self._page = page
        self._final_url = final_url

    async def get(self, address: str) -> Page[ReadArticle] | PageUnavailable:
        assert address == ADDRESS
        return (
            self._page
            if isinstance(self._page, PageUnavailable)
            else Page(self._final_url, None, NOW, self._page, None)
        )


async def fetched(page: ReadArticle | PageUnavailable, final_url: str = ADDRESS) -> Article | Refusal:
    try:
        return await fetch_article(OnePage(page, final_url), ADDRESS, NOW)
    except NoArticle as error:
        return error.code


async def test_an_article_is_what_was_read_and_what_its_page_says() -> None:
    day = date(2026, 11, 14)
    said = {"title": "Bats", "address": ADDRESS, "author": "A. B.", "publisher": "The Daily Bat", "published": day}
    assert await fetched(PAGE) == Article(ArticleWords.model_validate({"text": LONG, **said}), day, "en")


async def test_an_article_whose_reading_was_ended_from_outside_is_read_again() -> None:
    with pytest.raises(Retry):
        await fetched(PageUnavailable(INTERRUPTED))


async def test_a_day_is_not_invented() -> None:
    found = await fetched(replace(PAGE, published="2027-01-01", language=None))
    assert isinstance(found, Article)
    assert (found.words.published, found.reference_day, found.language) == (None, NOW.date(), None)


@pytest.mark.parametrize("letters", [MIN_LETTERS, MIN_LETTERS - 1])
async def test_a_page_with_hardly_a_letter_is_no_article(letters: int) -> None:
    found = await fetched(replace(PAGE, text="日" * letters + " \n.,"))
    assert found == "UNSUPPORTED_CONTENT" if letters < MIN_LETTERS else isinstance(found, Article)


@pytest.mark.parametrize(
    ("page", "final_url", "code"),
    [
        (PageUnavailable("http_403"), ADDRESS, "NOT_PUBLIC"),
        (PageUnavailable("blocked_address"), ADDRESS, "NOT_PUBLIC"),
        (PageUnavailable("http_404"), ADDRESS, "FETCH_FAILED"),
        (PageUnavailable("timeout"), ADDRESS, "FETCH_FAILED"),
        (PageUnavailable("unreadable"), ADDRESS, "UNSUPPORTED_CONTENT"),
        (PageUnavailable("too_large"), ADDRESS, "UNSUPPORTED_CONTENT"),
        (PAGE, "https://news.example/login?next=/bats", "NOT_PUBLIC"),
        (PAGE, "https://news.example/", "FETCH_FAILED"),
        *((replace(PAGE, wall=wall), ADDRESS, "NOT_PUBLIC") for wall in get_args(Wall) if wall != "missing"),
        (replace(PAGE, wall="missing"), ADDRESS, "FETCH_FAILED"),
        (ReadArticle(""), ADDRESS, "UNSUPPORTED_CONTENT"),
        (ReadArticle("word " * (MAX_WORDS + 1)), ADDRESS, "INPUT_TOO_LONG"),
        (ReadArticle("字" * (TEXT_CHARACTERS + 1)), ADDRESS, "INPUT_TOO_LONG"),
    ],
)
async def test_why_there_is_no_article(page: ReadArticle | PageUnavailable, final_url: str, code: Refusal) -> None:
    assert await fetched(page, final_url) == code


@given(reason=st.one_of(st.text(), st.sampled_from(get_args(ErrorKind))))
def test_every_reason_has_a_code(reason: str) -> None:
    assert explain(reason) in get_args(Refusal)


@pytest.mark.parametrize(("words", "refused"), [(0, True), (1, False), (MAX_WORDS, False), (MAX_WORDS + 1, True)])
def test_the_words_of_a_text_that_was_sent_are_counted(words: int, refused: bool) -> None:
    if refused:
        with pytest.raises(NoArticle):
            take_text(" word" * words, NOW)
    else:
        assert take_text(" word" * words, NOW).reference_day == NOW.date()


@given(stated=st.one_of(st.text(), st.datetimes().map(datetime.isoformat), st.dates().map(date.isoformat)))
def test_a_day_is_never_one_that_has_not_come(stated: str) -> None:
    found = parse_day(stated, NOW)
    assert found is None or found <= NOW.date() + timedelta(days=1)


@pytest.mark.parametrize(
    ("stated", "language"),
    [
        *(("en", "en"), ("de_AT", "de"), ("EN-us", "en"), ("", None), ("english", None), ("e", None)),
        *(("und", None), ("eng", None), ("mul-Latn", None)),
    ],
)
def test_the_primary_language_counts(stated: str, language: str | None) -> None:
    assert parse_language(stated) == language
