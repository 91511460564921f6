"""Epochs of publishers' scores: one for each ISO week, whose number is 100 times the year plus the week.

All in UTC and from the calendar alone, so no clock change moves a week. Source: requirement FH-128.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

NO_EPOCH: Final = 0
"""Before the first epoch is closed."""
_WEEK: Final = timedelta(days=7)
_CLOSES: Final = timedelta(days=13, hours=2)
_LAST_RATINGS: Final = timedelta(days=13)


class Epoch(NamedTuple):
    """An ISO week, begun at `begins`.

    Its analyses are those until `ends`. It closes on the Sunday after it at 02:00; ratings count that were made until
    two hours before, and no later than those of the epoch before.
    """

    number: int
    begins: datetime

    @property
    def ends(self) -> datetime:
        """The moment that the next week begins."""
        return self.begins + _WEEK

    @property
    def rated_until(self) -> datetime:
        """Ratings from then on belong to the next epoch."""
        return self.begins + _LAST_RATINGS

    @property
    def rated_since(self) -> datetime:
        """Ratings before belong to earlier epochs."""
        return self.rated_until - _WEEK

    @property
    def closes(self) -> datetime:
        """From then on it can be computed: all that it counts is stored since days or hours."""
        return self.begins + _CLOSES

    def next(self) -> Epoch:
        """The week after it."""
        return epoch_at(self.ends)


def epoch_at(moment: datetime) -> Epoch:
    """The week that a moment lies in."""
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return _of_week(year, week)


def epoch_of(number: int) -> Epoch:
    """The week of a number. Raises: ValueError: there is no such week."""
    return _of_week(*divmod(number, 100))


def find_due(now: datetime, closed: int, first_analysed: datetime | None, first_rated: datetime | None) -> Epoch | None:
    """The next epoch to close; None: none is due yet, or there is nothing that could be counted."""
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
