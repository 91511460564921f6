"""What a bucket holds about a post. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from contracts.lookup.buckets import clear_mark, post_key
from contracts.lookup.documents import CLEAR_MOST
from platforms import find_platform
from platforms.stored import Document
from tlog.leaf import Leaf, Opening

_KIND: Final = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedVersion:
    """The newest result on a version that may be shown.

    Shapes: `findings` is the number that stand; `withdrawn` are those that do not; `metadata` is what the site says.
    """

    post_id: UUID
    platform: str
    external_id: str
    content_hash: str
    metadata: Document | None
    investigation_id: UUID
    checked_at: datetime
    findings: int
    withdrawn: tuple[UUID, ...]

    @property
    def key(self) -> bytes:
        """The key of its post."""
        return post_key(self.platform, self.external_id)

    @property
    def revisions(self) -> tuple[str, ...]:
        """The site's own names for the version."""
        platform = find_platform(self.platform)
        return () if platform is None or self.metadata is None else platform.revisions(self.metadata)

    @property
    def is_clear(self) -> bool:
        """Whether nothing was found, and nothing taken back."""
        return self.findings == 0 and not self.withdrawn

    def mark(self) -> str:
        """The mark of the version in a bucket, if it is clear."""
        return clear_mark(self.key, self.content_hash)


@dataclass(frozen=True, slots=True)
class FoundLeaf:
    """The leaf of a result with findings."""

    index: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ListedPost:
    """A post with its versions, and the leaves of those that have findings, as far as the log has them."""

    post_id: UUID
    key: bytes
    versions: tuple[ListedVersion, ...]
    leaves: Mapping[UUID, FoundLeaf]

    @property
    def checked_at(self) -> datetime:
        """The moment of its newest result."""
        return max(each.checked_at for each in self.versions)

    def proven(self, size: int) -> Sequence[tuple[ListedVersion, FoundLeaf]]:
        """The versions with findings whose decision is under a note of this size."""
        found = [(each, self.leaves.get(each.investigation_id)) for each in self.versions if each.findings]
        return [(version, leaf) for version, leaf in found if leaf is not None and leaf.index < size]

    def waits(self, size: int, *, is_behind: bool) -> bool:
        """Whether a decision is not under a note of this size yet; `is_behind`: the log may not hold it yet."""
        for each in self.versions:
            if each.findings:
                leaf = self.leaves.get(each.investigation_id)
                if is_behind if leaf is None else leaf.index >= size:
                    return True
        return False

    def digest(self, size: int) -> bytes:
        """A hash of what the bucket holds about the post."""
        proven = {version.investigation_id: leaf.index for version, leaf in self.proven(size)}
        lines = sorted(
            f"{each.content_hash} {each.revisions} {each.is_clear} {each.investigation_id} "
            f"{proven.get(each.investigation_id)} {sorted(map(str, each.withdrawn))}"
            for each in self.versions
        )
        return sha256("\n".join(lines).encode()).digest()


class _Finding(BaseModel):
    claim: str


def group_posts(versions: Iterable[ListedVersion], leaves: Mapping[UUID, FoundLeaf]) -> dict[UUID, ListedPost]:
    """Group versions into their posts."""
    of_post: dict[UUID, list[ListedVersion]] = {}
    for each in versions:
        of_post.setdefault(each.post_id, []).append(each)
    return {
        post_id: ListedPost(post_id, each[0].key, tuple(sorted(each, key=_order)), leaves)
        for post_id, each in of_post.items()
    }


def choose_leaf(leaves: Iterable[tuple[FoundLeaf, Leaf]]) -> FoundLeaf | None:
    """The first leaf of an investigation that says something was found, or None."""
    found = [stored for stored, leaf in leaves if leaf.k == _KIND]
    return min(found, key=lambda each: each.index, default=None)


def keep_standing(openings: Iterable[Opening], withdrawn: Iterable[UUID]) -> list[Opening]:
    """The openings of a decision without those of withdrawn findings; the first one, of the run, is kept."""
    gone = set(map(str, withdrawn))
    return [each for each in openings if each.j == 0 or _Finding.model_validate_json(each.document).claim not in gone]


def choose_clear(posts: Iterable[ListedPost]) -> tuple[str, ...]:
    """The marks of versions in which nothing was found: the newest ones, in an order that reveals nothing."""
    clear = [version for post in posts for version in post.versions if version.is_clear]
    newest = sorted(clear, key=lambda each: each.checked_at, reverse=True)[:CLEAR_MOST]
    return tuple(sorted({each.mark() for each in newest}))


def _order(version: ListedVersion) -> tuple[datetime, str]:
    return version.checked_at, str(version.investigation_id)
