"""Classes of the elements that are not an article's text: edit links, lists of notes, navigation.

The common ones are the extension's and apply in every language. A language's own are those of its navigation templates,
documented on the page beside them. All are in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMMON: Final = frozenset(
    (
        "mw-editsection", "catlinks", "printfooter", "references", "mw-references-wrap", "reflist", "noprint",
        "navbox", "vertical-navbox", "mw-collapsible-toggle", "mw-tmh-player",
    )
)  # fmt: skip
"""Source: docs/protocol.md 3.5."""

OF_LANGUAGES: Final[Mapping[str, frozenset[str]]] = {
    # https://de.wikipedia.org/wiki/Hilfe:Navigationsleisten
    "de": frozenset(("navframe",)),
    # https://fr.wikipedia.org/wiki/Modèle:Méta_palette_de_navigation https://fr.wikipedia.org/wiki/Modèle:Portail
    "fr": frozenset(("navbox-container", "bandeau-portail")),
}


def excluded_classes(language: str) -> frozenset[str]:
    """Classes left out in articles of a language, given as HTML's `lang` gives it."""
    return COMMON | OF_LANGUAGES.get(language.partition("-")[0].lower(), frozenset())
