"""Titles of the sections that hold notes, references and further reading, by language.

The English titles are the extension's and apply in every article; each other language adds the titles that its own
Wikipedia uses for the same seven kinds of section. "See also" is content in every language.
Source: the layout guide of each Wikipedia, on the page named beside it; titles are in normalised, lower-case form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ENGLISH: Final = frozenset(
    ("references", "notes", "further reading", "external links", "bibliography", "sources", "citations")
)
"""Source: requirements 3.12; https://en.wikipedia.org/wiki/Wikipedia:Manual_of_Style/Layout."""

OTHER_LANGUAGES: Final[Mapping[str, frozenset[str]]] = {
    # https://de.wikipedia.org/wiki/Wikipedia:Formatierung
    "de": frozenset(
        (
            "einzelnachweise", "anmerkungen", "anmerkungen und einzelnachweise", "einzelnachweise und anmerkungen",
            "belege", "fußnoten", "quellen", "literatur", "weblinks",
            "nachweise", "quellenangaben",
        )
    ),
    # https://es.wikipedia.org/wiki/Wikipedia:Estructura_de_un_artículo
    "es": frozenset(
        (
            "referencias", "notas", "notas y referencias", "referencias y notas", "bibliografía", "fuentes",
            "lecturas adicionales", "enlaces externos",
        )
    ),
    # https://fr.wikipedia.org/wiki/Wikipédia:Plan
    "fr": frozenset(
        (
            "notes et références", "références", "bibliographie", "lectures complémentaires", "lien externe",
            "liens externes",
            "notes et sources", "références et notes",
        )
    ),
    # https://it.wikipedia.org/wiki/Aiuto:Sezioni_predefinite
    "it": frozenset(("note", "riferimenti", "bibliografia", "fonti", "collegamenti esterni", "note e riferimenti")),
    # https://ja.wikipedia.org/wiki/Wikipedia:スタイルマニュアル_(レイアウト)
    "ja": frozenset(("脚注", "注釈", "出典", "参考文献", "関連文献", "外部リンク", "注釈・出典", "注釈と出典")),
    # https://nl.wikipedia.org/wiki/Wikipedia:Conventies
    "nl": frozenset(
        (
            "bronnen, noten en/of referenties", "bronnen", "noten", "voetnoten", "referenties", "literatuur",
            "bibliografie", "externe link", "externe links",
            "bronvermelding", "verder lezen",
        )
    ),
    # https://pl.wikipedia.org/wiki/Wikipedia:Układ_artykułu
    "pl": frozenset(("przypisy", "uwagi", "bibliografia", "źródła", "literatura", "linki zewnętrzne")),
    # https://pt.wikipedia.org/wiki/Wikipédia:Livro_de_estilo
    "pt": frozenset(
        (
            "referências", "notas", "notas e referências", "referências e notas", "bibliografia", "fontes",
            "leitura adicional", "leituras adicionais", "ligações externas",
            "leitura complementar",
        )
    ),
    # https://ru.wikipedia.org/wiki/Википедия:Оформление_статей
    "ru": frozenset(("примечания", "сноски", "источники", "литература", "библиография", "ссылки")),
    # https://zh.wikipedia.org/wiki/Wikipedia:格式手冊/版面佈局
    "zh": frozenset(
        (
            "参考文献", "參考文獻", "参考资料", "參考資料", "注释", "注釋", "註釋", "脚注", "腳註", "来源", "來源",
            "延伸阅读", "延伸閱讀", "外部链接", "外部連結",
            "参考来源", "參考來源", "注脚", "註腳",
        )
    ),
}  # fmt: skip


def excluded_sections(language: str) -> frozenset[str]:
    """Titles of the sections left out in articles of a language, a tag as in HTML's `lang`."""
    return ENGLISH | OTHER_LANGUAGES.get(language.partition("-")[0].lower(), frozenset())
