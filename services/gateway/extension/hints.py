"""`post.hint`: a private reader helps to choose what is checked, with one view in eight, sent hours later.

Of the sender only the address range is used: its views and hints of a post have one limit (decision 0108). A hint
about an unknown post has the same answer as any other, so that hints do not reveal what we have.
"""

from __future__ import annotations

from typing import Final

from contracts.rpc.status import PostHint
from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from contracts.v1.post import PostHinted
from kit.addresses import ip_range_prefix
from kit.clock import Clock
from platforms import has_public_source
from services.gateway.domain import derive_ip_range_key
from services.gateway.ports import Call, Facts, Reads, Refused
from services.gateway.rate_limit import TokenBuckets

AT_ONCE: Final = 20
EVERY_S: Final = 60.0
"""Hints of one network: AT_ONCE at once, then one every EVERY_S."""


class Hints:
    """Handles hints."""

    def __init__(self, reads: Reads, facts: Facts, clock: Clock) -> None:
        self._reads = reads
        self._facts = facts
        self._clock = clock
        self._taken = TokenBuckets(clock, burst=AT_ONCE, every_s=EVERY_S)

    async def take(self, hint: PostHint, call: Call) -> None:
        """Publish a hint about a known post, and drop any other. Raises: Refused. Unavailable."""
        if not has_public_source(hint.platform):
            raise Refused("BAD_REQUEST", f"{hint.platform} has no public source, so a post there cannot be checked.")
        network = ip_range_prefix(call.caller.address)
        if not self._taken.take(network):
            raise Refused("TOO_MANY_REQUESTS", "Too many hints from this network; please try again later.")
        post = post_id(PostRef(platform=hint.platform, external_id=hint.external_id))
        if await self._reads.knows_post(post):
            event = PostHinted(hint_id=self._clock.new_id(), post_id=post, ip_range_key=derive_ip_range_key(network))
            await self._facts.publish(event, call.correlation)
