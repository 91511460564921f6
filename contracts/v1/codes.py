"""Types of strings that cannot contain a sentence: codes, versions, names of models, keys in the claim cache.

The facts of the stream JOBS are permanent and reveal what an account had analysed, so all their strings are of these
types (FH-167), or hashes, or in an `EphemeralRef` to a text that expires.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
"""A code from an open list that our code defines."""
Word = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
"""A word from an open list that a model may choose from, e.g. a claim's type or domain."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$")]
"""The operator's or a provider's name for something: a model, a worker, a version, a kind of error."""
ReviewerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,38}[A-Za-z0-9.])?$")]
"""The public name of a reviewer of findings."""
Seed = Annotated[str, Field(pattern=r"^[!-~]([ -~]{0,198}[!-~])?$")]
"""The seed of a sample: a line of printable ASCII, so that a copy of it has the same bytes and the same hash."""
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
"""BCP 47 primary language."""
Month = Annotated[str, Field(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]
"""A calendar month in UTC."""
Hour = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}$")]
"""An hour in UTC."""
Anchor = Annotated[str, Field(pattern=r"^[0-9]{4}[0-9WQ,-]{0,95}$")]
"""The ISO periods that relative dates refer to, sorted and joined by commas."""
PublishedKey = Annotated[str, Field(pattern=r"^claim:v[0-9]+norm[0-9]+:[a-z]{2,3}:[0-9a-f]{64}$")]
"""Key of a claim in the public form: `claim:<version>:<language>:<SHA-256 of the canonical text>`."""
Domain = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253)]
"""Registrable domain of a cited source, which is public."""
PublisherName = Annotated[
    str, Field(pattern=r"^[A-Z0-9][A-Za-z0-9.&'-]{0,29}( [A-Z0-9&][A-Za-z0-9.&'-]{0,29}){0,5}$", max_length=60)
]
"""Name of a publisher, which is public: each word begins with a capital or a digit, so that it is no sentence."""
Epoch = Annotated[int, Field(ge=200_001, le=999_953)]
"""The number of an ISO week in which publishers' scores are computed: 100 times its year plus its number."""
RecordUri = Annotated[
    str, Field(pattern=r"^at://did:[a-z]+:[A-Za-z0-9._:%-]+/[A-Za-z0-9.-]+/[A-Za-z0-9._~:-]+$", max_length=512)
]
"""Address of a public record in the AT Protocol: DID, collection, record key."""
Cid = Annotated[str, Field(pattern=r"^b[a-z2-7]{58}$")]
"""Hash of such a record, in base32."""
LabelValue = Annotated[str, Field(pattern=r"^[a-z-]{1,128}$")]
"""The value of a label."""
MicroUsd = Annotated[int, Field(ge=0)]
"""Units: millionths of a US dollar."""
Share = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""
