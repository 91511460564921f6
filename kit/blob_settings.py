"""The settings of a blob store, and the error for a missing object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BlobSettings:
    """Address and credentials of the store. `endpoint` is `host:port`."""

    endpoint: str
    access_key: str
    secret_key: str
    bucket: str
    secure: bool = False
    region: str = "us-east-1"


class BlobMissing(LookupError):
    """No object has this hash, or the stored bytes do not have the hash they are stored under."""
