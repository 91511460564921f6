"""Epochs of publishers' scores: one for each ISO week, numbered 100 * year + week.

All times are UTC and derived from the calendar, so no clock change moves a week. Source: requirement FH-128.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

NO_EPOCH: Final = 0
"""The number while no epoch is closed."""
_WEEK: Final = timedelta(days=7)
_CLOSES: Final = timedelta(days=13, hours=2)
_LAST_RATINGS: Final = timedelta(days=13)


class Epoch(NamedTuple):
    """An ISO week that begins at `begins`.

    It counts the analyses of the week itself, and closes on the Sunday after it at 02:00. It counts the ratings of the
    week from `rated_since` until `rated_until`, two hours before it closes.
    """

    number: int
    begins: datetime

    @property
    def ends(self) -> datetime:
        """The beginning of the next week."""
        return self.begins + _WEEK

    @property
    def rated_until(self) -> datetime:
        """The end of its ratings: later ones belong to the next epoch."""
        return self.begins + _LAST_RATINGS

    @property
    def rated_since(self) -> datetime:
        """The beginning of its ratings: earlier ones belong to earlier epochs."""
        return self.rated_until - _WEEK

    @property
    def closes(self) -> datetime:
        """The time from which it can be computed: everything it counts was stored at least two hours before."""
        return self.begins + _CLOSES

    def next(self) -> Epoch:
        """The epoch after this one."""
        return epoch_at(self.ends)


def epoch_at(moment: datetime) -> Epoch:
    """The epoch that contains a moment."""
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return _of_week(year, week)


def epoch_of(number: int) -> Epoch:
    """The epoch with a number. Raises: ValueError: there is no such week."""
    return _of_week(*divmod(number, 100))


def find_due(now: datetime, closed: int, first_analysed: datetime | None, first_rated: datetime | None) -> Epoch | None:
    """The next epoch to close; None if none is due yet, or if there was never anything to count."""
    if closed:
        due = epoch_of(closed).next()
    else:
        begins = [first_analysed] if first_analysed else []
        begins += [first_rated - _WEEK] if first_rated else []
        if not begins:
            return None
        due = epoch_at(min(begins))
    return due if due.closes <= now else None


def _of_week(year: int, week: int) -> Epoch:
    return Epoch(year * 100 + week, datetime.combine(date.fromisocalendar(year, week, 1), time(), UTC))
