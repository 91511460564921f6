"""An S3 client that corrects its clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self

from minio import Minio
from minio.error import S3Error
from minio.time import to_amz_date, utcnow
from urllib3 import PoolManager
from urllib3.exceptions import MaxRetryError

from kit.blob_settings import BlobSettings

MAX_CLOCK_SKEW = timedelta(minutes=5)


class S3Client(Minio):
    """A client that dates its signatures by the server's clock, as the vendor's libraries do.

    S3 refuses a request that is dated more than 15 minutes off its own time.
    """

    ahead = timedelta()

    @classmethod
    def open(cls, settings: BlobSettings, connections: PoolManager) -> Self:
        """A client over a pool of connections."""
        return cls(
            settings.endpoint,
            access_key=settings.access_key,
            secret_key=settings.secret_key,
            secure=settings.secure,
            region=settings.region,
            http_client=connections,
        )

    # A private method of the library, so untyped here, but the only place that dates a request.
    def _build_headers(self, *args: Any, **kwargs: Any) -> tuple[Any, datetime]:
        headers, date = super()._build_headers(*args, **kwargs)
        date += self.ahead
        headers["x-amz-date"] = to_amz_date(date)
        return headers, date

    def correct_clock(self, server_date: str | None, dated_by: timedelta) -> bool:
        """Set the clock by the `Date` of a response; return whether its request, `dated_by` ahead, was dated wrongly.

        Requests that are sent together are all dated wrongly, though the first response corrects the clock.
        """
        try:
            ahead = parsedate_to_datetime(server_date or "") - utcnow()
        except ValueError:
            return False
        self.ahead = ahead if abs(ahead - self.ahead) > MAX_CLOCK_SKEW else self.ahead
        return abs(ahead - dated_by) > MAX_CLOCK_SKEW


def explain(error: BaseException) -> str:
    """The reason of a failed request, in one word."""
    if isinstance(error, S3Error):
        return str(error.code)
    cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
    return type(cause).__name__
