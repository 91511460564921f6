"""Bytes by their hash on a real S3 server."""

from __future__ import annotations

import pytest

from kit.blobs import BlobMissing, Blobs, BlobSettings
from tests.support.servers import S3

pytest_plugins = ["tests.support.servers"]


async def test_what_somebody_else_had_erased_is_stored_again(s3: S3) -> None:
    settings = BlobSettings(s3.endpoint.partition("//")[2] or s3.endpoint, s3.access_key, s3.secret_key, s3.bucket)
    writer, eraser, reader = (Blobs(settings) for _ in range(3))
    try:
        stored = await writer.put(b"the same words in two posts")
        assert await writer.put(b"the same words in two posts") == stored
        await eraser.remove(stored.sha256)
        with pytest.raises(BlobMissing):
            await reader.get(stored.sha256)
        assert await writer.put(b"the same words in two posts") == stored
        assert await reader.get(stored.sha256) == b"the same words in two posts"
    finally:
        for each in (writer, eraser, reader):
            each.close()
