"""The tables that the projector writes from the log and that all other services only read.

The schema `readmodel` can be dropped and rebuilt from the events; every timestamp in it comes from an event. Frequent
reads, and the table or index that serves each:

- the state of a version: `investigation_doc` by (post_version_id, analysis); on a miss `post_prior`
- one investigation: `investigation` by id, with `investigation_input`, `claim_candidate` and `investigation_doc`
- many posts at once: ids derive from platform, external id and version hash (`contracts.v1.ids`), so this is the first
  read with an array of version ids
- what to investigate next: `candidate` by its indexes; the cost of a day: `investigation_round` and `expense` by
time
- the public record: `search_document` by its index over everything a query may contain
- trust: `corroboration_credit` by investigation, `verification_failure` by version
- an account's jobs and credit: `job` by (account_id, created_at), `credit_period` by (account_id, month)
- a claim and its analyses: `assertion` by id or published key, `analysis` by (assertion_id, analysed_at)
- the catalogue: `entry` by id, by its search index or by (updated_at, id); `edit` by (entry_id, version); open flags
- suspensions and retractions: `finding_state` by investigation, or by time
- appeals: `appeal` by investigation, those of a network by (range_key, opened_at), open ones by time
- labels on posts: `label` by its sequence, or by the beginning of `uri`
- a publisher: `publisher` by id or domain, its log by publisher and epoch or sequence; a week of citations by
  `analysis` (analysed_at)
- outside reviews: `review` by claim, all of them for the public rate
- what stops findings: `breaker` and `variant`, a row for each, and `investigation_doc` with findings by
(variant, checked_at)
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):  # so that the metadata has all tables, whichever of them is imported
    import_module(f"{__name__}.{_module.name}")
