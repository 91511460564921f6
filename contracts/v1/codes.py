"""Strings that cannot hold a sentence: codes, versions, names of models, keys of entries in the claim cache.

The facts of the stream JOBS are stored permanently and say what an account had analysed, so their strings are of these
types only (FH-167); everything else is a hash, or an `EphemeralRef` to a text that expires.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
"""One of an open list that our code chooses from."""
Word = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
"""One of an open list that a model may choose from, e.g. a claim's type or domain."""
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$")]
"""Of something the operator or a provider names: a model, a worker, a version, a kind of error."""
ReviewerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,38}[A-Za-z0-9.])?$")]
"""Of somebody who reviews findings, as they want to be named in public."""
Seed = Annotated[str, Field(pattern=r"^[!-~]([ -~]{0,198}[!-~])?$")]
"""What a sample is drawn by: a line of printable ASCII, so that whoever copies it hashes the same bytes."""
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
"""BCP 47 primary language."""
Month = Annotated[str, Field(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]
"""A calendar month in UTC."""
Hour = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}$")]
"""An hour in UTC."""
Anchor = Annotated[str, Field(pattern=r"^[0-9]{4}[0-9WQ,-]{0,95}$")]
"""ISO periods that relative dates stand for, sorted, joined by commas."""
PublishedKey = Annotated[str, Field(pattern=r"^claim:v[0-9]+norm[0-9]+:[a-z]{2,3}:[0-9a-f]{64}$")]
"""Key of a claim in the public form: `claim:<version>:<language>:<SHA-256 of the canonical text>`."""
Domain = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253)]
"""Registrable domain of a cited source, which is public."""
PublisherName = Annotated[
    str, Field(pattern=r"^[A-Z0-9][A-Za-z0-9.&'-]{0,29}( [A-Z0-9&][A-Za-z0-9.&'-]{0,29}){0,5}$", max_length=60)
]
"""Name of a publisher, which is public: each word begins with a capital or a digit, so that no sentence fits."""
Epoch = Annotated[int, Field(ge=200_001, le=999_953)]
"""An ISO week, whose publishers' scores count together: 100 times its year plus its number."""
RecordUri = Annotated[
    str, Field(pattern=r"^at://did:[a-z]+:[A-Za-z0-9._:%-]+/[A-Za-z0-9.-]+/[A-Za-z0-9._~:-]+$", max_length=512)
]
"""Address of a public record in the AT Protocol: DID, collection, record key."""
Cid = Annotated[str, Field(pattern=r"^b[a-z2-7]{58}$")]
"""Hash of such a record, in base32."""
LabelValue = Annotated[str, Field(pattern=r"^[a-z-]{1,128}$")]
"""What a label says."""
MicroUsd = Annotated[int, Field(ge=0)]
"""Units: millionths of a US dollar."""
Share = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""
