-- The curator finds what makes entries stale; of the catalogue it sees no words.
GRANT SELECT (id, assertion_id, status, reworded, stale, created_at, staled_sequence, analysis_id, cache_updated_at)
    ON entry TO errata_curator;
GRANT SELECT (id, published_key, requested_at, sequence) ON assertion TO errata_curator;
GRANT SELECT (analysis_id, score) ON citation TO errata_curator;
GRANT SELECT (run_id, prompt_hash, rules, outcome) ON run_attempt TO errata_curator;
GRANT SELECT (id, entity_id, status, account_id, created_at) ON flag TO errata_curator;
