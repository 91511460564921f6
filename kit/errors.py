"""The exceptions by which a handler may fail. Delivery treats any other one as a bug."""

from __future__ import annotations

from pathlib import PurePath
from traceback import extract_tb


class Retry(Exception):
    """Redeliver this message later. Units: `after_s` seconds from now."""

    def __init__(self, after_s: float, reason: str) -> None:
        super().__init__(reason)
        self.after_s = after_s
        self.reason = reason


class Outage(Retry):
    """A server did not answer as it should: the message is redelivered with backoff, and no failure is counted."""


class Superseded(Exception):
    """Another delivery of this message is being handled: this one is neither acknowledged nor refused.

    The broker does not distinguish the deliveries of a message and would apply an acknowledgement to the later one. If
    the other worker is dead, the message is redelivered after its deadline.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reject(Exception):
    """This message can never succeed; `reason` goes to the dead letter and to the requester.

    Without `dead_letter` no copy of the message is stored: for rejections that leave an operator nothing to decide.
    """

    def __init__(self, reason: str, *, dead_letter: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.dead_letter = dead_letter


def locate(error: BaseException) -> str:
    """An error's type and the calls it came through, innermost first, without its message.

    The message is left out because it may quote confidential text.
    """
    frames = reversed(extract_tb(error.__traceback__))
    calls = (f"{each.name} ({'/'.join(PurePath(each.filename).parts[-2:])}:{each.lineno})" for each in frames)
    return " < ".join((type(error).__name__, *calls))
