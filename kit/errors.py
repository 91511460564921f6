"""The ways a handler may give up. Anything else it raises is a bug and treated as one by delivery."""

from __future__ import annotations


class Retry(Exception):
    """Try this message again later. Units: `after_s` seconds from now."""

    def __init__(self, after_s: float, reason: str) -> None:
        super().__init__(reason)
        self.after_s = after_s
        self.reason = reason


class Outage(Retry):
    """A server did not answer as it should: the message is tried again, ever later, and nothing is counted."""


class Superseded(Exception):
    """A later delivery of this message is being handled: this one is left alone, neither acknowledged nor refused.

    The broker does not tell deliveries of a message apart: whatever is said about this one would be taken as said about
    the other. If its holder is dead, the message comes back after its deadline.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Reject(Exception):
    """This message can never succeed; `reason` goes to the dead letter and to whoever waits for an answer.

    `letter`: False where nobody has anything to decide; no copy of the message is kept then.
    """

    def __init__(self, reason: str, *, letter: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.letter = letter
