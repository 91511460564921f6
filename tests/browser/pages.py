"""Pages as nobody should write them: every way to open, close, nest and hide that a parser may read in its own way."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# ruff: noqa: SIM905 -- one word after another is easier to read than quoted

BLOCKS = "p li h1 h2 h3 h6 figcaption blockquote tr td th div".split()
INLINE = "a b i em font nobr span small u code s ruby rt rp rb rtc button label mark".split()
TABLE = "table tbody thead tfoot tr td th caption colgroup col".split()
LISTS = "ul ol li dl dt dd menu dir details summary".split()
# A <selectedcontent> is left out: browsers copy the chosen option into it, which is no longer parsing.
FORMS = "form select option optgroup textarea input fieldset legend datalist output keygen".split()
RAW = "script style noscript title xmp iframe noembed noframes textarea plaintext template listing pre".split()
# <foreignObject> is left out: where its tags are misnested, Lexbor (selectolax 1.0) closes what browsers leave open.
FOREIGN = "svg math mi mo mtext annotation-xml semantics desc title g path mglyph malignmark font image circle".split()
WHOLE = "html head body frameset frame base link meta main section article center address hr br wbr img image".split()
MEDIA = "video audio source track object applet marquee param embed canvas dialog slot search hgroup figure".split()
# What ends SVG and MathML, by the standard's list.
BREAKOUT = (
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
).split()
UNKNOWN = "x-card o:p isindex blink spacer a@b TABLE Div p/ b\x0c é".split()
TAGS = BLOCKS + INLINE + BREAKOUT + TABLE + LISTS + FORMS + RAW + FOREIGN + WHOLE + MEDIA + UNKNOWN

ODD_TEXT = (
    " ", "\t", "\n", "\f", "\r", "\r\n", "\0", "\v", "\x1c", "\x85", "\xa0", "\xad", "\u1680", "\u180e", "\u2003",
    "\u2028", "\u200b", "\u200d", "\u2060", "\ufeff", "\ufffd", "\ufffe", "“", "’", "–", "—", "…", "e\u0301", "é",
    "\u0301", "\u0338", "\u093c", "\u1100\u1161\u11a8", "가", "ﬁ", "Å", "ſ", "İ", "😀", "\U0001f468\u200d\U0001f469",
    "\U0010ffff", "&", "&amp", "&amp;", "&lt;", "&nbsp", "&notit;", "&not;in", "&#0;", "&#x80;", "&#150;", "&#xD800;",
    "&#x1F600;", "&#1114112;", "&#x3c;b>", "&hellip;", "&zwj;", "&NotEqualTilde;", "&fjlig;", "&#", "&#x", "&;",
    "<", ">", "</", "</>", "< b>", "<3", "]]>", "<![CDATA[x<b>]]>", "<!--", "-->", "--!>", "<!-->", "<!--->",
    "<!-- a --b- -->", "<!-", "<!doctype html>", "<?php x ?>", "<!x>", "<%", "=", "'", '"', "/", "word", "a word",
)  # fmt: skip
ATTRIBUTES = (
    "", "", "", " ", "/", " /", " id=a", " class='x y'", " hidden", ' title="a>b"', " a=b c='d' e", " =x", ' "', "\n",
    " type=hidden", " encoding=text/html", ' encoding="application/xhtml+xml"', " shadowrootmode=open", " color=red",
    " definitionURL=x", " xlink:href=#", " a&b=&lt;", " a=b>c", " <", " multiple", " src=x", " href=x",
)  # fmt: skip

# Not the unassigned: either side may be a Unicode version ahead, and orders marks that the other does not know yet.
unicode = st.text(st.characters(exclude_categories=["Cs", "Cn"]), min_size=1, max_size=8)
text = st.one_of(st.sampled_from(ODD_TEXT), unicode, st.sampled_from(("one ", "two", " three")))
tag = st.sampled_from(TAGS)
start = st.builds("<{}{}>".format, tag, st.sampled_from(ATTRIBUTES))
end = st.builds("</{}{}>".format, tag, st.sampled_from(("", "", "", " ", " a=b", "/")))
cut = st.builds("<{}{}".format, st.sampled_from(("p", "/p", "b", "/b", "a href='", "!--", "img src=")), text)


def soup() -> SearchStrategy[str]:
    """Tags and texts in any order: nothing closes what was opened."""
    return st.lists(st.one_of(start, start, end, text, text, cut), max_size=24).map("".join)


def nested() -> SearchStrategy[str]:
    """Elements that close in order, but may hold what they must not."""
    return st.recursive(
        text,
        lambda inner: st.builds(
            "<{0}{1}>{2}</{0}>".format, tag, st.sampled_from(ATTRIBUTES), st.lists(inner, max_size=3).map("".join)
        ),
        max_leaves=12,
    )


def within(*names: str) -> SearchStrategy[str]:
    """Soup of few elements, which meet more often than among all."""
    few = st.sampled_from(names)
    piece = st.one_of(few.map("<{}>".format), few.map("</{}>".format), st.sampled_from(("x", "y ", " ", "<p>", "</p>")))
    return st.lists(piece, max_size=24).map("".join)


def documents() -> SearchStrategy[str]:
    """Any of these."""
    return st.one_of(
        soup(),
        nested(),
        within(*TABLE, "a", "form", "input", "select"),
        within(*INLINE[:6], "div", "a", "b", "button"),
        within(*FORMS, "hr", "div", "button"),
        within(*FOREIGN, "p", "table", "td", "script"),
        within("svg", "math", "g", "mi", "mrow", "![CDATA[", "title", "style", *BREAKOUT),
        within(*LISTS, "div", "button", "h2"),
        within(*RAW, "div", "svg", "!--", "--"),
        within("template", "table", "tr", "td", "col", "caption", "select", "option"),
    )


SOURCES = (
    "a.png", "/b.png?q=1", "//c.example/x", "https://d.example/é ü.png", "", " ", "data:image/png,x", " data:,x",
    "DATA:,x", "http://", "\ta\n.png ", "javascript:0", "?x#y", "%zz", "http://[::1", "HTTP://E.EXAMPLE",
    "\\f.png", "../../g", "https://xn--/", "https://h.example:99999/", "blob:x", "&amp;x", "a.png",
)  # fmt: skip


@st.composite
def illustrated(draw: st.DrawFn) -> dict[str, str]:
    """A page with pictures, captions and text, and the address it was seen at."""
    quoted = st.sampled_from(("", "a caption", " ", "“x”", "e\u0301", "<b>", "\u200b"))
    image = st.builds(
        lambda source, alt, title: f'<img src="{source}"' + "".join(
            f' {name}="{value}"' for name, value in (("alt", alt), ("title", title)) if value is not None
        ) + ">",
        st.sampled_from(SOURCES),
        st.none() | quoted,
        st.none() | quoted,
    )  # fmt: skip
    few = st.sampled_from(("p", "figure", "figcaption", "div", "a", "table", "td", "template", "svg", "picture", "b"))
    piece = st.one_of(image, few.map("<{}>".format), few.map("</{}>".format), text, st.just("<img>"), start)
    html = "".join(draw(st.lists(piece, max_size=20)))
    base = st.sampled_from(("https://site.example/a/b?c#d", "http://site.example", "https://en.wikipedia.org/wiki/A"))
    return {"html": html, "base": draw(base)}


TITLES = (
    "References", "NOTES ", "Further\xa0reading", "External links", "See also", "History", "Re\u200bferences",
    "<span class=mw-headline>Sources</span>[edit]", "Sources<span class='mw-editsection'>[edit]</span>", "<i>Notes</i>",
    "Notes and references", "Bibliography<sup class=reference>1</sup>", "Citations", "<b class=noprint>x</b>Notes",
)  # fmt: skip
CLASSES = (
    "reference", "References", "mw-references-wrap", "reflist x", "noprint", "NAVBOX", "catlinks", "printfooter",
    "mw-editsection", "vertical-navbox", "mw-tmh-player", "mw-collapsible-toggle", "infobox", "a\u00a0noprint", "x",
    "\tnoprint\n", "mw-parser-output", "mw-heading", "mw-heading mw-heading2",
)  # fmt: skip


def article() -> SearchStrategy[str]:
    """An article with sections, wrapped and bare headings and every class that is left out."""
    heading = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(("h1", "h2", "h3", "h4")), st.sampled_from(TITLES))
    wrapped = st.builds(
        "<div class='{}'>{}{}</div>".format,
        st.sampled_from(("mw-heading", "mw-heading mw-heading2", "MW-Heading", "x")),
        heading,
        st.sampled_from(("", "<span class=mw-editsection>[edit]</span>", "x", "<h2>History</h2>")),
    )
    classed = st.builds(
        "<{0} class='{1}'>{2}</{0}>".format,
        st.sampled_from(("div", "sup", "ol", "span", "table", "p", "style")),
        st.sampled_from(CLASSES),
        st.sampled_from(("text", "<p>more</p>", "<h2>Notes</h2>", "<h3>Sources</h3>x", "")),
    )
    loose = st.sampled_from(("<section>", "</section>", "<div>", "</div>", "<p>", "<ul><li>", "</ul>", "<!-- x -->"))
    piece = st.one_of(heading, wrapped, classed, loose, text, st.just("words. "))
    body = st.lists(piece, max_size=20).map("".join)
    root = st.sampled_from(
        ("{}", "<div class='mw-parser-output' lang='en'>{}</div>", "x<div class=mw-parser-output>{}")
    )
    return st.builds(lambda frame, inside: frame.replace("{}", inside), root, body)
