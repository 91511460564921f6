"""Rejects HTML that would cost its parser time or memory far beyond its size.

Tree building is quadratic in four ways: many tags under many open elements; unclosed formatting elements, which are
reopened in each block; new names, each compared with all others; and options, for each of which the whole list is
traversed. A tree is also large: a short tag takes a hundred times its length. All are bounded here from the source
alone, erring towards rejection. Otherwise a few hundred kilobytes could block a process for minutes.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

MAX_TREE_BYTES: Final = 170_000_000
BYTES_PER_BYTE: Final = 33
"""Tree bytes per byte of UTF-8 source: the densest attributes take two bytes there and about 65 in the tree."""
BYTES_PER_TAG: Final = 560
"""Tree bytes per tag: an element and its text, with their index entries."""
MAX_NAMES: Final = 40_000
"""The most distinct names of elements and attributes."""
MAX_ATTRIBUTES: Final = 5_000
"""The most distinct attributes of one element; each is compared with all before it."""
MAX_DEPTH: Final = 1_000
MAX_STEPS: Final = 200_000_000
"""The most open elements, summed over all tags; each takes a few nanoseconds."""
MAX_REOPENED: Final = 3_000_000
"""The most copies of unclosed formatting elements that blocks could make."""
MAX_OPTIONS_PASSED: Final = 20_000_000
"""The most elements traversed for options, summed over all options; each takes about ten nanoseconds."""


class UnparseableHtml(ValueError):
    """The HTML is rejected without parsing; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooLarge(UnparseableHtml):
    """The HTML exceeds the size limit."""


def _either_case(name: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in name)


_FORMATTING: Final = frozenset(
    (
        "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
    )
)  # fmt: skip
_SPACE = r"\t\n\f\r "
_FORMATTING_TAG = re.compile(
    rf"<(?=[bcefinstuBCEFINSTU])(?:{'|'.join(map(_either_case, sorted(_FORMATTING)))})(?=[{_SPACE}/>])"
    rf"((?:[^<>\"'=]|=[{_SPACE}]*+(?:\"[^<>\"]*+\"|'[^<>']*+'|[^{_SPACE}<>\"'=]))*+>)?"
)
"""A formatting start tag; the group is unset if the tag's end is ambiguous."""
_ATTRIBUTE = rf"(?:[{_SPACE}]*+=[{_SPACE}]*+(?:\"[^\"]*+\"|'[^']*+'|[^{_SPACE}>\"'][^{_SPACE}>]*+|(?=>)))?+"
_TAG = re.compile(
    rf"<(/?[a-zA-Z][^{_SPACE}/>]*+)(?:>|(?:[{_SPACE}/]++|[^{_SPACE}/>][^{_SPACE}/>=]*+{_ATTRIBUTE})*+(?:>|\Z))"
    rf"|<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?/][^>]*+(?:>|\Z)",
    re.DOTALL,
)
"""A tag, comment or declaration; an unclosed one extends to the end, so that the search stays linear."""
_VOID: Final = frozenset(
    (
        "area", "base", "br", "col", "embed", "hr", "img", "input", "keygen", "link", "meta", "param", "source",
        "track", "wbr",
    )
)  # fmt: skip
_CLOSED_BY_OTHERS: Final = frozenset(
    (
        "p", "li", "dd", "dt", "tr", "td", "th", "tbody", "thead", "tfoot", "caption", "colgroup", "option",
        "optgroup", "html", "head", "body", "form",
    )
)  # fmt: skip
"""Elements that nest only with counted elements between them, or that the parser ignores."""
_NOT_COUNTED: Final = _VOID | _CLOSED_BY_OTHERS | {""}
_COUNTED_IN_FOREIGN_CONTENT: Final = _NOT_COUNTED - {"", "br", "embed", "hr", "img", "meta"}
_BARRIERS: Final = frozenset(
    (
        "address", "applet", "article", "aside", "blockquote", "body", "button", "caption", "center", "colgroup",
        "dd", "details", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "frameset", "h1",
        "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "html", "iframe", "li", "listing", "main", "marquee",
        "menu", "nav", "noembed", "noframes", "noscript", "object", "ol", "optgroup", "option", "plaintext", "pre",
        "script", "search", "section", "select", "style", "summary", "table", "tbody", "td", "template", "textarea",
        "tfoot", "th", "thead", "title", "tr", "ul", "xmp", "svg", "math", "mi", "mo", "mn", "ms", "mtext",
        "annotation-xml", "foreignobject", "desc",
    )
)  # fmt: skip
"""Elements at which the parser's search for the element that an end tag closes stops."""
_REACH: Final = 16
"""The most open elements searched for the one that an end tag closes, so that stray end tags are cheap."""
_RAW_TEXT = re.compile(
    r"<(script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)(?=[\t\n\f\r />])"
    r"[^<]*+(?:<img[\t\n\f\r /][^<]*+)*+<(?!/\1)|<plaintext|<!\[CDATA\[",
    re.IGNORECASE,
)


_OPTION = re.compile(r"<option", re.IGNORECASE)
_CUT_TAG = re.compile(r"</?[a-zA-Z][^>]*+>?")
"""A tag up to the first `>`, which may be inside a value."""
_BEFORE_VALUE = re.compile(rf"[^=]*?(?:\A|[{_SPACE}/])[^{_SPACE}/=<>]++=")
"""The text between two quoted values: it must end with a name and `=`."""
_NAME_ENDS: Final = bytes.maketrans(b"/>=\x0b", b"   _")
"""Maps characters that end a name to a space; the vertical tab, white space to Python, does not end one."""
_MAYBE_LONG = re.compile(rf"<[a-zA-Z][^>]{{{2 * MAX_ATTRIBUTES}}}|=[{_SPACE}]*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""A long tag, or a value that may contain `>`."""
_VALUE = re.compile(r"=[\t\n\f\r ]*+(?:\"[^\"]*+\"|'[^']*+')")


def refuse_costly(html: str) -> None:
    """Refuse HTML that costs far more to parse than an ordinary page of its length.

    Raises: TooLarge, UnparseableHtml.
    """
    tags = html.count("<")
    size = len(html.encode(errors="surrogatepass"))
    if size * BYTES_PER_BYTE + tags * BYTES_PER_TAG > MAX_TREE_BYTES:
        raise TooLarge(f"{size} bytes with {tags} tags, which is more than any page we read")
    if len(html) > 2 * MAX_ATTRIBUTES and not _has_few_names(html):
        _refuse_many_names(html)
    options = len(_OPTION.findall(html))
    if options * tags > MAX_OPTIONS_PASSED:
        raise UnparseableHtml(f"{options} options in lists that are traversed for each")
    starts = tags - html.count("</")
    # The upper bound: all start tags first, then every other tag under all of them.
    steps = starts * (tags - starts / 2)
    # Most pages are below it.
    if steps > MAX_STEPS or _formatting_waiting(html) * tags > MAX_REOPENED:
        _count_exactly(html)


def plain_names(html: str) -> set[bytes] | None:
    """A superset of all names, found cheaply; None if the quotation marks are ambiguous.

    They are unambiguous, as on nearly all pages, if each opens or closes a value: then no value contains the end of its
    tag, and no tag contains another one.
    """
    tags = dict.fromkeys(_CUT_TAG.findall(html))  # in order, so that the same page always means the same
    joined = "".join(tags)
    pieces = joined.split('"')
    outside = pieces[::2]
    # Each tag has one `<`, outside of values: so each tag closes the values that it opens.
    if not len(tags) == joined.count("<") == "".join(outside).count("<") or len(pieces) % 2 == 0:
        return None
    last = outside.pop()
    before_values = set(outside)
    if "=" in last or not all(map(_BEFORE_VALUE.fullmatch, before_values)):
        return None
    return _words(" ".join((*before_values, last)))


def _has_few_names(html: str) -> bool:
    names = plain_names(html)
    return names is not None and len(names) <= MAX_ATTRIBUTES


def _refuse_many_names(html: str) -> None:
    if _MAYBE_LONG.search(html) and _most_attributes(html) > MAX_ATTRIBUTES:
        raise UnparseableHtml(f"more than {MAX_ATTRIBUTES} attributes on one element")
    if len(html) > 4 * MAX_NAMES and len(_words(html)) > MAX_NAMES and len(_names(html)) > MAX_NAMES:
        raise UnparseableHtml(f"more than {MAX_NAMES} names of elements and attributes")


def _words(html: str) -> set[bytes]:
    """The words of the HTML, a superset of its distinct names: a word contains at most one name."""
    return set(html.encode(errors="surrogatepass").translate(_NAME_ENDS).split())


def _names(html: str) -> set[bytes]:
    return _words(_VALUE.sub("= ", " ".join(tag[0] for tag in _TAG.finditer(html))))


def _most_attributes(html: str) -> int:
    long_tags = (tag[0] for tag in _TAG.finditer(html) if tag.end() - tag.start() > 2 * MAX_ATTRIBUTES)
    return max((len(_words(_VALUE.sub("= ", tag))) for tag in long_tags), default=0)


def _formatting_waiting(html: str) -> int:
    """An upper bound of the formatting elements to be reopened: of equal ones the parser keeps three."""
    plain: Counter[str] = Counter()
    unclear = 0
    for match in _FORMATTING_TAG.finditer(html):
        if match[1] is None:
            unclear += 1
        else:
            plain[match[0]] += 1
    return unclear + sum(min(3, count) for count in plain.values())


def _count_exactly(html: str) -> None:
    """Simulate the parser's stack of open elements, ignoring every ambiguous end tag."""
    if _RAW_TEXT.search(html):
        raise UnparseableHtml("many tags beside raw text that may hide some")
    open_names: list[str] = []
    foreign = steps = waiting = reopened = 0
    for tag in _TAG.findall(html):
        steps += len(open_names)
        reopened += waiting
        name = tag.lower()
        if name[:1] == "/":
            closed = _close(open_names, name[1:])
            if "svg" in closed or "math" in closed:
                foreign -= closed.count("svg") + closed.count("math")
            if closed and name[1:] in _FORMATTING:
                waiting -= 1
        elif name in _NOT_COUNTED and not (foreign and name in _COUNTED_IN_FOREIGN_CONTENT):
            continue
        else:
            open_names.append(name)
            if name in _FORMATTING:
                waiting += 1
            elif name in ("svg", "math"):
                foreign += 1
            if len(open_names) > MAX_DEPTH:
                raise UnparseableHtml(f"more than {MAX_DEPTH} elements inside one another")
    if steps > MAX_STEPS:
        raise UnparseableHtml("too many tags inside too many elements")
    if reopened > MAX_REOPENED:
        raise UnparseableHtml("formatting elements would be reopened too often")


def _close(open_names: list[str], name: str) -> list[str]:
    """Close the innermost element of that name if the parser certainly would; returns all closed elements."""
    if open_names and open_names[-1] == name:
        return [open_names.pop()]
    for distance, open_name in zip(range(1, _REACH + 1), reversed(open_names), strict=False):
        if open_name == name:
            closed = open_names[-distance:]
            del open_names[-distance:]
            return closed
        if open_name in _BARRIERS:
            break
    return []
