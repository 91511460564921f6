"""The tables that the projector fills from the log and everybody else only reads.

Everything in the schema `readmodel` can be dropped and built again from the facts; every moment in it is one that a
fact states. Hot reads and what serves each of them:

- the state of a version: `investigation_doc` by (post_version_id, analysis); on a miss `post_prior`
- one investigation: `investigation` by id, with `investigation_input`, `claim_candidate` and `investigation_doc`
- many posts at once: ids derive from platform, external id and version hash (`contracts.v1.ids`), so this is the first
  read with an array of version ids
- what to investigate next: `candidate` by its indexes; what a day has cost: `investigation_round` and `expense` by
  their moments
- any of the public record: `search_document` by its index over everything a query may name
- whom to believe: `corroboration_credit` by investigation, `verification_failure` by version
"""

from contracts.readmodel.attempts import (
    TRANSCRIPT_STATE,
    annotation,
    attempt,
    error,
    output_item,
    reasoning_summary,
    requested_tool,
    review,
    text_part,
    tool_call,
    usage,
)
from contracts.readmodel.columns import LEDGER, OPERATOR, READMODEL, SEARCH_PATH
from contracts.readmodel.evidence import SOURCE_STATUS, source_check
from contracts.readmodel.investigations import (
    CANDIDATE_STATE,
    CHECK_STATUS,
    claim,
    claim_candidate,
    corroboration_credit,
    image_blob,
    investigation,
    investigation_doc,
    investigation_image,
    investigation_input,
    investigation_lease,
    investigation_picture,
    prompt,
    source,
)
from contracts.readmodel.ledger import fact, instance_api_key, parked, position, refused_fact, skipped
from contracts.readmodel.posts import (
    author,
    candidate,
    forgotten,
    integrity_anomaly,
    post,
    post_prior,
    post_view_credit,
)
from contracts.readmodel.search import (
    search_bucket,
    search_document,
    tally,
    tally_day,
    tally_moment,
    tally_post,
    version_heading,
)
from contracts.readmodel.spending import STAGE, expense, investigation_round
from contracts.readmodel.versions import (
    content_blob,
    html_blob,
    image_occurrence,
    image_occurrence_set,
    lesswrong_version_meta,
    post_version,
    substack_version_meta,
    verification_failure,
    version_range,
    version_reporter,
    wikipedia_version_meta,
    x_version_meta,
)

__all__ = [
    "CANDIDATE_STATE",
    "CHECK_STATUS",
    "LEDGER",
    "OPERATOR",
    "READMODEL",
    "SEARCH_PATH",
    "SOURCE_STATUS",
    "STAGE",
    "TRANSCRIPT_STATE",
    "annotation",
    "attempt",
    "author",
    "candidate",
    "claim",
    "claim_candidate",
    "content_blob",
    "corroboration_credit",
    "error",
    "expense",
    "fact",
    "forgotten",
    "html_blob",
    "image_blob",
    "image_occurrence",
    "image_occurrence_set",
    "instance_api_key",
    "integrity_anomaly",
    "investigation",
    "investigation_doc",
    "investigation_image",
    "investigation_input",
    "investigation_lease",
    "investigation_picture",
    "investigation_round",
    "lesswrong_version_meta",
    "output_item",
    "parked",
    "position",
    "post",
    "post_prior",
    "post_version",
    "post_view_credit",
    "prompt",
    "reasoning_summary",
    "refused_fact",
    "requested_tool",
    "review",
    "search_bucket",
    "search_document",
    "skipped",
    "source",
    "source_check",
    "substack_version_meta",
    "tally",
    "tally_day",
    "tally_moment",
    "tally_post",
    "text_part",
    "tool_call",
    "usage",
    "verification_failure",
    "version_heading",
    "version_range",
    "version_reporter",
    "wikipedia_version_meta",
    "x_version_meta",
]
