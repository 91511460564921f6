"""Small PDF files, written by hand: a library's own writer would only show that it reads what it writes."""

from __future__ import annotations


def pdf(*pages: str, title: str | None = None, glyphs: str = "") -> bytes:
    """A PDF with these words on its pages; an empty page holds none.

    Shapes: `glyphs` are names such as `/fi /uniFEED`; the words use them as `\\001`, `\\002` and so on.
    """
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    encoding = f"/Encoding << /Type /Encoding /Differences [1 {glyphs}] >> " if glyphs else ""
    objects.append(f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica {encoding}>>".encode())
    for number, words in enumerate(pages):
        shown = f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET".encode() if words else b""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(f"<< /Length {len(shown)} >>\nstream\n".encode() + shown + b"\nendstream")
    if title is not None:
        objects.append(f"<< /Title ({title}) >>".encode())
    data = bytearray(b"%PDF-1.4\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n".encode() + each + b"\nendobj\n"
    table = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    info = f" /Info {len(objects)} 0 R" if title is not None else ""
    data += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{info} >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(data)


def columns(
    left: tuple[str, ...], right: tuple[str, ...], *, title: str = "", author: str = "", created: str = ""
) -> bytes:
    """A PDF of one page in two columns, the lines of the left one first, with properties."""
    shown = "".join(
        f"BT /F1 10 Tf {x} {720 - 12 * number} Td ({line}) Tj ET\n"
        for x, lines in ((72, left), (320, right))
        for number, line in enumerate(lines)
    )
    return f"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length {len(shown)}>>
stream
{shown}
endstream
endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
6 0 obj<</Title({title})/Author({author})/CreationDate({created})>>endobj
xref
0 1
0000000000 65535 f
trailer<</Root 1 0 R/Info 6 0 R/Size 7>>
startxref
0
%%EOF
""".encode()
