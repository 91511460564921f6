"""The S3 client, with the one thing that its library leaves to the machine: the time of day."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from minio import Minio
from minio.time import to_amz_date, utcnow

CLOCKS_APART = timedelta(minutes=5)


class S3Client(Minio):
    """A client whose signatures are dated by the server's clock, as those of the vendor's own libraries are.

    S3 refuses a request that is dated a quarter of an hour apart from its own time.
    """

    ahead = timedelta()

    def _build_headers(self, *args: Any, **kwargs: Any) -> tuple[Any, datetime]:  # the one place that dates a request
        headers, date = super()._build_headers(*args, **kwargs)
        date += self.ahead
        headers["x-amz-date"] = to_amz_date(date)
        return headers, date

    def follow(self, said: str | None) -> bool:
        """Set the clock by an answer's `Date`; whether it had been wrong."""
        try:
            ahead = parsedate_to_datetime(said or "") - utcnow()
        except ValueError:
            return False
        wrong = abs(ahead - self.ahead) > CLOCKS_APART
        self.ahead = ahead if wrong else self.ahead
        return wrong
