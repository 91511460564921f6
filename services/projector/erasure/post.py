"""Finds the ledger's facts of a post: those that name it, and those of the aggregates that these name."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import orjson

from contracts.topology import ERRATA
from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event
from contracts.v1.claim import ClaimEvent
from contracts.v1.ids import post_id
from contracts.v1.observation import ObservationEvent
from contracts.v1.version import VersionEvent
from services.projector.erasure.facts import StoredFact, read_facts, read_facts_of_keys
from services.projector.store.load import Connection

_OBSERVATIONS: Final = (ObservationEvent, CanonicalFetched, CanonicalUnavailable)


async def find_open_investigation(db: Connection, post: UUID) -> str | None:
    """An investigation of the post that has not ended."""
    found = await db.execute(
        """SELECT 'investigation ' || i.id
        FROM readmodel.investigation i JOIN readmodel.post_version v ON v.id = i.post_version_id
        WHERE v.post_id = %s AND i.status IN ('PENDING', 'PROCESSING')""",
        (post,),
    )
    row = await found.fetchone()
    return row[0] if row else None


async def read_post(db: Connection, post: UUID, names: set[str]) -> list[StoredFact]:
    """All facts of a post that still have bodies: those that name it, and those of the aggregates that these name.

    Adds the site's ids of the post to `names`.
    """
    own = await read_facts(
        db,
        ERRATA.name,
        "position(%(needle)s::bytea IN envelope) > 0",
        {"needle": str(post).encode()},
        lambda event: getattr(event, "post_id", None) == post,
    )
    keys = {fact.event.key() for fact in own} - {str(post)}
    for fact in own:
        if isinstance(fact.event, VersionEvent):
            keys.add(str(fact.event.sighting.observation_id))
            names.add(fact.event.post.external_id)
        if (investigation := getattr(fact.event, "investigation_id", None)) is not None:
            keys.add(str(investigation))
    observed = await read_facts(
        db,
        ERRATA.name,
        """subject ~ '^errata[.]v1[.](observation|canonical)[.]' AND (%(names)s::bytea[] = '{}'
            OR EXISTS (SELECT FROM unnest(%(names)s::bytea[]) name WHERE position(name IN envelope) > 0))""",
        {"names": [orjson.dumps(name) for name in names]},
        lambda event: _is_observation_of(event, post),
    )
    keys |= {fact.event.key() for fact in observed}
    rest = await read_facts_of_keys(db, ERRATA.name, keys)
    reviews = await read_facts_of_keys(
        db, ERRATA.name, {str(fact.event.claim_id) for fact in rest if isinstance(fact.event, ClaimEvent)}
    )
    mine = {fact.sequence: fact for fact in (*own, *observed, *rest, *reviews)}
    return sorted(mine.values(), key=lambda fact: fact.sequence)


def _is_observation_of(event: Event, post: UUID) -> bool:
    """Whether the event is an observation of the post, by the reader's id of it or by the site's."""
    if not isinstance(event, _OBSERVATIONS):
        return False
    pages = [event.page.post] if isinstance(event, CanonicalFetched) else []
    return post in map(post_id, (event.observation.post, *pages))
