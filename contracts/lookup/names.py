"""Names of the documents of private look-ups in the blob store: the notary writes them, the gateway serves them."""

from __future__ import annotations

from datetime import date
from typing import Final

from contracts.lookup.buckets import format_prefix, layout_name

FOLDER: Final = "lookup"
LAYOUT: Final = f"{FOLDER}/layout.json"


def layout_folder(bits: int) -> str:
    """The folder of all buckets of a layout."""
    return f"{FOLDER}/{layout_name(bits)}"


def bucket_object(bucket: int, bits: int) -> str:
    """The name of the object of a bucket."""
    return f"{layout_folder(bits)}/{format_prefix(bucket, bits)}"


def day_object(day: date) -> str:
    """The name of the document with the retractions of a day."""
    return f"{FOLDER}/retractions/{day.isoformat()}"
