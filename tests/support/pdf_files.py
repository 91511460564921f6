"""Small PDF files, written by hand: a library's own writer would only show that it reads what it writes."""

from __future__ import annotations


def pdf(*pages: str, title: str | None = None) -> bytes:
    """A PDF with these words on its pages; an empty page holds none."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
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
