"""A text is counted to a language by its commonest words."""

from __future__ import annotations

import pytest

from analyses.language_groups import OTHER, find_group, is_in_any


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("The tower is as tall as it was when the city had it built, and that is not in doubt.", "en"),
        ("Der Turm ist so hoch wie an dem Tag, an dem die Stadt ihn bauen ließ, und das ist nicht strittig.", "de"),
        ("La tour est dans une ville qui n'est pas sur la mer, et les gens sont au courant.", "fr"),
        ("La torre está en una ciudad que los viajeros no conocen, y por eso se visita con calma.", "es"),
        ("Башня стоит на берегу реки уже сто лет.", OTHER),
        ("Eiffel 1889.", OTHER),
    ],
)
def test_a_text_is_in_the_group_of_its_language_or_in_none(text: str, group: str) -> None:
    assert find_group(text) == group


@pytest.mark.parametrize(
    "text",
    [
        "Water boils at 100 °C at sea level.",
        "We went to Paris to see the famous tower. Built for the world fair, it has been a symbol ever since.",
        "Wir fuhren nach Paris, um den berühmten Turm zu sehen, der 330 Meter hoch ist.",
        "Nous sommes allés à Paris pour voir la célèbre tour, haute de 330 mètres.",
        "Fuimos a París para ver la famosa torre, que mide 330 metros.",
        "Siamo andati a Parigi per vedere la famosa torre, che è alta 330 metri.",
        "Fomos a Paris para ver a famosa torre, que tem 330 metros de altura.",
        "We gingen naar Parijs om de beroemde toren te zien, die 330 meter hoog is.",
        "2 + 2 = 5",
    ],
)
def test_a_text_is_in_one_of_the_languages(text: str) -> None:
    assert is_in_any(text)


@pytest.mark.parametrize(
    "text",
    [
        "Vi tog til Paris for at se det berømte tårn, som er 330 meter højt. Det blev bygget i 1889.",
        "Vi åkte till Paris för att se det berömda tornet, som är 330 meter högt. Det byggdes 1889.",
        "Vi dro til Paris for å se det berømte tårnet, som er 330 meter høyt. Det ble bygget i 1889.",
        "Pojechaliśmy do Paryża, aby zobaczyć słynną wieżę, która ma 330 metrów wysokości.",
        "Jeli jsme do Paříže, abychom viděli slavnou věž, která je vysoká 330 metrů.",
        "Am mers la Paris pentru a vedea celebrul turn, care are o înălțime impresionantă, spun localnicii.",
        "Menimme Pariisiin katsomaan kuuluisaa tornia, joka on 330 metriä korkea.",
        "Párizsba mentünk, hogy megnézzük a híres tornyot, amely 330 méter magas.",
        "Ünlü kuleyi görmek için Paris'e gittik; kule 330 metre yüksekliğinde.",
        "Kami pergi ke Paris untuk melihat menara terkenal yang tingginya 330 meter.",
        "Мы поехали в Париж, чтобы увидеть знаменитую башню высотой 330 метров.",
        "私たちはパリに行って、高さ330メートルの有名な塔を見ました。",
    ],
)
def test_a_text_is_in_another_language(text: str) -> None:
    assert not is_in_any(text)
