"""Labels on posts of other sites that point at published findings."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import AwareDatetime

from contracts.v1.codes import Cid, LabelValue, RecordUri
from contracts.v1.event import OnceEvent
from contracts.v1.ids import label_id

LabelReason = Literal["PUBLISHED", "RENEWED", "WITHDRAWN", "REPLACED", "FORGOTTEN", "NOT_PUBLIC"]


class LabelIssued(OnceEvent, subject="label.issued", identity=("follows",)):
    """A label on a pinned record begins, is renewed, or ends (`neg`); its newest event is valid until `exp`.

    It has no words of the post. `cts` is the time that subscribers see, later than that of the event before. The
    signature is not stored: it follows from the fields and the labeler's key.
    """

    uri: RecordUri
    cid: Cid
    val: LabelValue
    neg: bool = False
    cts: AwareDatetime
    exp: AwareDatetime
    post_id: UUID
    investigation_id: UUID
    why: LabelReason

    def key(self) -> str:
        return str(label_id(self.uri, self.cid, self.val))
