"""Cookies of one fetch. Many sites set one and redirect to the same page, over and over if it does not come back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

MAX_BYTES: Final = 8_192
"""Of one origin: servers read no more headers."""


class Cookies:
    """What origins have set, for each of them alone; attributes do not matter to a fetch of seconds."""

    def __init__(self) -> None:
        self._pairs: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)

    def keep(self, origin: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep what a response sets, as far as it fits."""
        for name, value in headers:
            if name.lower() == b"set-cookie":
                pair = value.partition(b";")[0].strip()
                pairs = self._pairs[origin] | {pair.partition(b"=")[0]: pair}
                if len(b"; ".join(pairs.values())) <= MAX_BYTES:
                    self._pairs[origin] = pairs

    def header(self, origin: str) -> dict[str, bytes]:
        """The header of a request, none without cookies."""
        pairs = self._pairs[origin]
        return {"cookie": b"; ".join(pairs.values())} if pairs else {}
