"""The tables that the projector writes from the log and all others only read.

The schema `readmodel` can be dropped and rebuilt from the events; every timestamp in it is stated by an event. Hot
reads and what serves each of them:

- the state of a version: `investigation_doc` by (post_version_id, analysis); on a miss `post_prior`
- one investigation: `investigation` by id, with `investigation_input`, `claim_candidate` and `investigation_doc`
- many posts at once: ids derive from platform, external id and version hash (`contracts.v1.ids`), so this is the first
  read with an array of version ids
- what to investigate next: `candidate` by its indexes; what a day has cost: `investigation_round` and `expense` by
  their moments
- the public record: `search_document` by its index over everything a query may contain
- trust: `corroboration_credit` by investigation, `verification_failure` by version
- an account's jobs and credit: `job` by (account_id, created_at), `credit_period` by (account_id, month)
- a claim and its analyses: `assertion` by id or published key, `analysis` by (assertion_id, analysed_at)
- the catalogue: `entry` by id, by its search index or by (updated_at, id); `edit` by (entry_id, version); open flags
- what was taken back: `finding_state` by investigation, or by time
- appeals: `appeal` by investigation, those of a network by (range_key, opened_at), open ones by time
- labels on posts: `label` by its sequence, or by the beginning of `uri`
- a publisher: `publisher` by id or domain, its log by publisher and epoch or sequence; a week of citations by
  `analysis` (analysed_at)
- outside reviews: `review` by claim, all of them for the public rate
- what stops findings: `breaker` and `variant`, which have a row each, and `investigation_doc` by (variant, checked_at)
  where something stands
"""

from contracts.readmodel.accounts import account, instance_api_key
from contracts.readmodel.accuracy import breaker, control_batch, control_run, variant
from contracts.readmodel.appeals import APPEAL_KIND, APPEAL_OUTCOME, PROOF_OUTCOME, appeal
from contracts.readmodel.assertions import (
    analysis,
    assertion,
    assertion_sample,
    citation,
    evidence,
    scenario,
    verdict,
)
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
from contracts.readmodel.catalogue import EDIT_TYPE, ENTRY_STATUS, FLAG_STATUS, edit, entry, flag
from contracts.readmodel.columns import LEDGER, OPERATOR, READMODEL, SEARCH_PATH
from contracts.readmodel.evidence import SOURCE_STATUS, source_check
from contracts.readmodel.investigations import (
    CANDIDATE_STATE,
    CHECK_STATUS,
    FINDING_CAUSE,
    FINDING_STATE,
    claim,
    claim_candidate,
    corroboration_credit,
    finding_state,
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
from contracts.readmodel.jobs import (
    JOB_STATUS,
    credit_entry,
    credit_period,
    erased_entity,
    job,
    job_claim,
    purge,
    run_attempt,
    stage_config,
)
from contracts.readmodel.labels import LABEL_REASON, label
from contracts.readmodel.ledger import fact, parked, position, refused_fact, skipped
from contracts.readmodel.posts import (
    author,
    candidate,
    forgotten,
    integrity_anomaly,
    post,
    post_prior,
    post_view_credit,
)
from contracts.readmodel.publishers import (
    RATING_REASON,
    SCORE_REASON,
    publisher,
    publisher_rating,
    publisher_score,
    score_epoch,
)
from contracts.readmodel.quality import PATTERN_STATUS, error_pattern, quality_day, quality_metric
from contracts.readmodel.reviews import REVIEW_VERDICT, outside_review, review_sample, review_sample_claim
from contracts.readmodel.search import (
    search_document,
    version_heading,
)
from contracts.readmodel.spending import STAGE, expense, investigation_round
from contracts.readmodel.versions import (
    content_blob,
    html_blob,
    image_occurrence,
    image_occurrence_set,
    post_version,
    verification_failure,
    version_metadata,
    version_range,
    version_reporter,
)

__all__ = [
    "APPEAL_KIND",
    "APPEAL_OUTCOME",
    "CANDIDATE_STATE",
    "CHECK_STATUS",
    "EDIT_TYPE",
    "ENTRY_STATUS",
    "FINDING_CAUSE",
    "FINDING_STATE",
    "FLAG_STATUS",
    "JOB_STATUS",
    "LABEL_REASON",
    "LEDGER",
    "OPERATOR",
    "PATTERN_STATUS",
    "PROOF_OUTCOME",
    "RATING_REASON",
    "READMODEL",
    "REVIEW_VERDICT",
    "SCORE_REASON",
    "SEARCH_PATH",
    "SOURCE_STATUS",
    "STAGE",
    "TRANSCRIPT_STATE",
    "account",
    "analysis",
    "annotation",
    "appeal",
    "assertion",
    "assertion_sample",
    "attempt",
    "author",
    "breaker",
    "candidate",
    "citation",
    "claim",
    "claim_candidate",
    "content_blob",
    "control_batch",
    "control_run",
    "corroboration_credit",
    "credit_entry",
    "credit_period",
    "edit",
    "entry",
    "erased_entity",
    "error",
    "error_pattern",
    "evidence",
    "expense",
    "fact",
    "finding_state",
    "flag",
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
    "job",
    "job_claim",
    "label",
    "output_item",
    "outside_review",
    "parked",
    "position",
    "post",
    "post_prior",
    "post_version",
    "post_view_credit",
    "prompt",
    "publisher",
    "publisher_rating",
    "publisher_score",
    "purge",
    "quality_day",
    "quality_metric",
    "reasoning_summary",
    "refused_fact",
    "requested_tool",
    "review",
    "review_sample",
    "review_sample_claim",
    "run_attempt",
    "scenario",
    "score_epoch",
    "search_document",
    "skipped",
    "source",
    "source_check",
    "stage_config",
    "text_part",
    "tool_call",
    "usage",
    "variant",
    "verdict",
    "verification_failure",
    "version_heading",
    "version_metadata",
    "version_range",
    "version_reporter",
]
