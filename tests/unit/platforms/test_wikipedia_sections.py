"""Section titles in other languages never touch English articles."""

from __future__ import annotations

import pytest

from platforms import get_platform
from platforms.text import normalize
from platforms.wikipedia_sections import ENGLISH, OTHER_LANGUAGES, excluded_sections
from platforms.wikipedia_text import COMMON, OF_LANGUAGES, article_text, excluded_classes


def test_english_stands_alone() -> None:
    for language in ("en", "en-GB", "EN", "", "simple", "tlh"):
        assert excluded_sections(language) == ENGLISH


@pytest.mark.requirement("3.9-13")
@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_other_languages_add_titles_in_the_form_they_are_compared_in(language: str) -> None:
    """3.9-13: Sections are left out in other languages too."""
    titles = OTHER_LANGUAGES[language]
    assert excluded_sections(language) == ENGLISH | titles
    assert excluded_sections(f"{language.upper()}-x") == ENGLISH | titles
    assert all(title == normalize(title).lower() for title in titles)


@pytest.mark.requirement("3.9-13")
@pytest.mark.parametrize(
    ("language", "title"),
    [("de", "Nachweise"), ("de-AT", "Quellenangaben"), ("fr", "Notes et sources"), ("it", "Note e riferimenti"),
     ("ja", "注釈・出典"), ("nl", "Verder lezen"), ("pt", "Leitura complementar"), ("zh-Hant", "註腳")],
)  # fmt: skip
def test_a_section_of_sources_is_left_out_in_its_own_language_alone(language: str, title: str) -> None:
    """3.9-13: Sections are left out in other languages too."""
    html = f"<div class=mw-parser-output lang='{{}}'>a<h2>{title}</h2><p>b</div>"
    assert article_text(html.format(language)) == "a"
    assert article_text(html.format("en")) == f"a {title} b"


@pytest.mark.requirement("3.9-13")
def test_where_the_article_states_no_language_its_posts_counts() -> None:
    """3.9-13: Sections are left out in other languages too."""
    html = "<div class=mw-parser-output{}>a<h2>Nachweise</h2><p>b</div>"
    site = get_platform("WIKIPEDIA")
    assert site.extract_text(html.format(""), "de:1") == "a"
    assert site.extract_text("a<h2>Nachweise</h2><p>b", "de:1") == "a"
    assert site.extract_text(html.format(" lang=fr"), "de:1") == "a Nachweise b"
    assert site.extract_text(html.format(""), "en:1") == "a Nachweise b"
    assert site.article(html.format(""), "de:1").text() == "a"


@pytest.mark.requirement("3.9-13")
@pytest.mark.parametrize(
    ("language", "own"), [("de", "NavFrame"), ("fr", "x bandeau-portail"), ("fr-CA", "navbox-container")]
)
def test_navigation_is_left_out_by_its_name_in_its_own_language_alone(language: str, own: str) -> None:
    """3.9-13: Sections are left out in other languages too."""
    html = f"<div class=mw-parser-output lang='{{}}'>a<div class='{own}'>b</div><div class=navbox>c</div></div>"
    assert article_text(html.format(language)) == "a"
    for other in ("en", "", "nl"):
        assert article_text(html.format(other)) == "a b"


def test_classes_are_in_the_form_they_are_compared_in() -> None:
    for classes in (COMMON, *OF_LANGUAGES.values()):
        assert all(name == name.lower() for name in classes)
    assert excluded_classes("en-GB") == excluded_classes("simple") == COMMON
