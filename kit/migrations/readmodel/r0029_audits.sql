-- Audits of articles: jobs, credit, claims as such and their analyses. Written from the stream JOBS alone.

CREATE TABLE job (
    id UUID NOT NULL,
    account_id UUID NOT NULL,
    period_id UUID,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    options JSONB NOT NULL,
    options_hash TEXT NOT NULL,
    input_type TEXT NOT NULL,
    content_sha256 TEXT,
    reserved_micro_usd BIGINT NOT NULL,
    prices JSONB NOT NULL,
    has_webhook BOOLEAN NOT NULL,
    deadline_at TIMESTAMP WITH TIME ZONE NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    fetched_at TIMESTAMP WITH TIME ZONE,
    characters INTEGER,
    language TEXT,
    reference_day DATE,
    stages JSONB,
    score_epoch INTEGER,
    extracted_at TIMESTAMP WITH TIME ZONE,
    memo_id UUID,
    memo_of UUID,
    extraction JSONB,
    planned_at TIMESTAMP WITH TIME ZONE,
    resolved_at TIMESTAMP WITH TIME ZONE,
    complete BOOLEAN,
    ended_at TIMESTAMP WITH TIME ZONE,
    code TEXT,
    result JSONB,
    overall_verdict TEXT,
    credibility_score DOUBLE PRECISION,
    risk_tier TEXT,
    publication_mode TEXT,
    requires_review BOOLEAN,
    charged_micro_usd BIGINT,
    from_cache INTEGER,
    newly_analysed INTEGER,
    stages_cached TEXT[],
    CONSTRAINT job_pkey PRIMARY KEY (id),
    CONSTRAINT job_mode_check CHECK (mode IN ('CREDIT', 'CACHE_ONLY')),
    CONSTRAINT job_status_check CHECK (status IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED')),
    CONSTRAINT job_ended_check CHECK ((status IN ('QUEUED', 'RUNNING')) = (ended_at IS NULL)),
    CONSTRAINT job_result_check CHECK ((status = 'SUCCEEDED') = (result IS NOT NULL)),
    CONSTRAINT job_code_check CHECK ((status = 'FAILED') = (code IS NOT NULL))
)
 WITH (fillfactor = 70);
CREATE INDEX job_account_id_id_idx ON job (account_id, created_at DESC, id);
CREATE INDEX job_memo_id_idx ON job (memo_id) WHERE status = 'SUCCEEDED';
CREATE INDEX job_open_idx ON job (deadline_at) WHERE ended_at IS NULL;
COMMENT ON TABLE job IS 'One audit of an article. `extraction` and `result` name texts that lie under until/ in the blob store and expire at their hour; the row does not change then';

CREATE TABLE job_claim (
    job_id UUID NOT NULL,
    number INTEGER NOT NULL,
    assertion_id UUID NOT NULL,
    claim_hash TEXT NOT NULL,
    central BOOLEAN NOT NULL,
    claim_type TEXT NOT NULL,
    evaluability TEXT NOT NULL,
    risk_tier TEXT NOT NULL,
    domain TEXT NOT NULL,
    volatility TEXT NOT NULL,
    anchor TEXT,
    outcome TEXT,
    run_id UUID,
    analysis_id UUID,
    stale BOOLEAN NOT NULL,
    failure TEXT,
    CONSTRAINT job_claim_pkey PRIMARY KEY (job_id, number),
    CONSTRAINT job_claim_outcome_check CHECK (outcome IN ('HIT', 'OWN', 'JOINED', 'MISS', 'UNUSABLE')),
    CONSTRAINT job_claim_job_id_fkey FOREIGN KEY(job_id) REFERENCES job (id) ON DELETE CASCADE
);
CREATE INDEX job_claim_assertion_id_idx ON job_claim (assertion_id);
COMMENT ON TABLE job_claim IS 'A claim of an article: what the claim cache answered (`outcome`), and the analysis that serves it or why there is none; neither: it was a miss';

CREATE TABLE run_attempt (
    run_id UUID NOT NULL,
    attempt INTEGER NOT NULL,
    step TEXT NOT NULL,
    subject_id UUID NOT NULL,
    worker TEXT NOT NULL,
    delivery_count INTEGER NOT NULL,
    prompt_version TEXT NOT NULL,
    prompt_hash TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    rules TEXT NOT NULL,
    cost_limit_micro_usd BIGINT,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER,
    reasoning_output_tokens INTEGER,
    cost_micro_usd BIGINT,
    outcome TEXT,
    answered_by TEXT,
    failure TEXT,
    reason TEXT,
    status_code INTEGER,
    error_name TEXT,
    retry_at TIMESTAMP WITH TIME ZONE,
    completed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT run_attempt_pkey PRIMARY KEY (run_id, attempt),
    CONSTRAINT run_attempt_outcome_check CHECK (outcome IN ('SUCCEEDED', 'FAILED')),
    CONSTRAINT run_attempt_completed_check CHECK ((outcome IS NULL) = (completed_at IS NULL)),
    CONSTRAINT run_attempt_failure_check CHECK ((outcome IS NOT DISTINCT FROM 'FAILED') = (failure IS NOT NULL))
)
 WITH (fillfactor = 70);
CREATE INDEX run_attempt_started_at_idx ON run_attempt (started_at);
CREATE INDEX run_attempt_subject_id_idx ON run_attempt (subject_id);
COMMENT ON TABLE run_attempt IS 'A paid try of a step; `subject_id` is the job or the assertion, the texts are nowhere here. `cost_micro_usd` NULL: the model''s price is not known, or nothing was answered yet';

CREATE TABLE credit_period (
    period_id UUID NOT NULL,
    account_id UUID NOT NULL,
    month TEXT NOT NULL,
    limit_micro_usd BIGINT,
    hard BOOLEAN NOT NULL,
    used_micro_usd BIGINT NOT NULL,
    reserved_micro_usd BIGINT NOT NULL,
    open_jobs INTEGER NOT NULL,
    extraction_day DATE,
    extractions INTEGER NOT NULL,
    sequence BIGINT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT credit_period_pkey PRIMARY KEY (period_id)
)
 WITH (fillfactor = 70);
CREATE UNIQUE INDEX credit_period_account_id_month_idx ON credit_period (account_id, month);
COMMENT ON TABLE credit_period IS 'An account''s credit of one month, as its newest entry, of this `sequence`, left it';

CREATE TABLE credit_entry (
    period_id UUID NOT NULL,
    cause_id UUID NOT NULL,
    entry TEXT NOT NULL,
    micro_usd BIGINT NOT NULL,
    used_micro_usd BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    posted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT credit_entry_pkey PRIMARY KEY (period_id, cause_id, entry),
    CONSTRAINT credit_entry_entry_check CHECK (entry IN ('RESERVED', 'SETTLED', 'RELEASED', 'EXTRACTION', 'ADJUSTED')),
    CONSTRAINT credit_entry_period_id_fkey FOREIGN KEY(period_id) REFERENCES credit_period (period_id) ON DELETE CASCADE
);
CREATE INDEX credit_entry_cause_id_idx ON credit_entry (cause_id);
COMMENT ON TABLE credit_entry IS 'One entry of a period. `cause_id` is the job, of ADJUSTED the correction itself; `used_micro_usd` is what was used of the period after it';

CREATE TABLE stage_config (
    stage TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    max_tokens INTEGER NOT NULL,
    temperature DOUBLE PRECISION NOT NULL,
    configured_by UUID NOT NULL,
    configured_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT stage_config_pkey PRIMARY KEY (stage)
);
COMMENT ON TABLE stage_config IS 'The model of a step of audits that an operator chose; without a row the environment decides';

CREATE TABLE purge (
    what TEXT NOT NULL,
    slot TEXT NOT NULL,
    before TIMESTAMP WITH TIME ZONE NOT NULL,
    purged_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT purge_pkey PRIMARY KEY (what)
);
COMMENT ON TABLE purge IS 'Up to when words of one sort are deleted: all that were kept until `before` at the latest';

CREATE TABLE erased_entity (
    entity_id UUID NOT NULL,
    erasure_id UUID NOT NULL,
    reason TEXT NOT NULL,
    erased_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT erased_entity_pkey PRIMARY KEY (entity_id)
);
COMMENT ON TABLE erased_entity IS 'Jobs, assertions and accounts that were erased; later facts about them are not applied';

CREATE TABLE assertion (
    id UUID NOT NULL,
    published_key TEXT NOT NULL,
    norm_version TEXT NOT NULL,
    language TEXT NOT NULL,
    canonical_sha256 TEXT NOT NULL,
    guard_sha256 TEXT NOT NULL,
    volatility TEXT NOT NULL,
    requests INTEGER NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    canonical TEXT,
    kept_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT assertion_pkey PRIMARY KEY (id),
    CONSTRAINT assertion_volatility_check CHECK (volatility IN ('TIMELESS', 'DATED', 'SLOW', 'FAST')),
    CONSTRAINT assertion_words_check CHECK ((canonical IS NULL) = (kept_until IS NULL))
)
 WITH (fillfactor = 70);
CREATE INDEX assertion_kept_until_idx ON assertion (kept_until);
CREATE INDEX assertion_published_key_idx ON assertion (published_key);
COMMENT ON TABLE assertion IS 'A claim as such. `canonical` are its normalised words while they are kept; `requests` counts the analyses that were requested, `requested_at` and `sequence` are of the newest request';

CREATE TABLE assertion_sample (
    assertion_id UUID NOT NULL,
    place SMALLINT NOT NULL,
    text TEXT NOT NULL,
    said_at TIMESTAMP WITH TIME ZONE NOT NULL,
    kept_until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT assertion_sample_pkey PRIMARY KEY (assertion_id, place),
    CONSTRAINT assertion_sample_place_check CHECK (place BETWEEN 1 AND 5),
    CONSTRAINT assertion_sample_assertion_id_fkey FOREIGN KEY(assertion_id) REFERENCES assertion (id) ON DELETE CASCADE
);
CREATE INDEX assertion_sample_kept_until_idx ON assertion_sample (kept_until);
COMMENT ON TABLE assertion_sample IS 'A claim as an article words it, of the newest requests; places are used in turn';

CREATE TABLE analysis (
    id UUID NOT NULL,
    assertion_id UUID NOT NULL,
    scenarios INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    depth TEXT NOT NULL,
    volatility TEXT NOT NULL,
    rollup TEXT NOT NULL,
    recommended INTEGER NOT NULL,
    missing INTEGER NOT NULL,
    unavailable INTEGER NOT NULL,
    not_looked_up INTEGER NOT NULL,
    score_epoch INTEGER NOT NULL,
    model TEXT NOT NULL,
    analysed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    invalidated_at TIMESTAMP WITH TIME ZONE,
    invalidated_why TEXT,
    kept_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT analysis_pkey PRIMARY KEY (id),
    CONSTRAINT analysis_volatility_check CHECK (volatility IN ('TIMELESS', 'DATED', 'SLOW', 'FAST')),
    CONSTRAINT analysis_invalidated_why_check CHECK (invalidated_why IN ('RIGHTS', 'MODERATION', 'EDIT')),
    CONSTRAINT analysis_invalidated_check CHECK ((invalidated_at IS NULL) = (invalidated_why IS NULL)),
    CONSTRAINT analysis_assertion_id_fkey FOREIGN KEY(assertion_id) REFERENCES assertion (id) ON DELETE CASCADE
)
 WITH (fillfactor = 70);
CREATE INDEX analysis_assertion_id_idx ON analysis (assertion_id, analysed_at DESC);
CREATE INDEX analysis_kept_until_idx ON analysis (kept_until);
COMMENT ON TABLE analysis IS 'An analysis of a claim; `id` is its run. `scenarios`, `evidence` and `depth` are its shape; `missing` and the two after it count evidence that was dropped, by why. `kept_until` NULL: its words are gone';

CREATE TABLE scenario (
    id UUID NOT NULL,
    analysis_id UUID NOT NULL,
    ordinal INTEGER NOT NULL,
    description TEXT,
    assumptions TEXT[],
    CONSTRAINT scenario_pkey PRIMARY KEY (id),
    CONSTRAINT scenario_words_check CHECK ((description IS NULL) = (assumptions IS NULL)),
    CONSTRAINT scenario_analysis_id_fkey FOREIGN KEY(analysis_id) REFERENCES analysis (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX scenario_analysis_id_ordinal_idx ON scenario (analysis_id, ordinal);
COMMENT ON TABLE scenario IS 'One reading of a claim; its words while they are kept';

CREATE TABLE verdict (
    scenario_id UUID NOT NULL,
    label TEXT NOT NULL,
    probability DOUBLE PRECISION,
    confidence DOUBLE PRECISION NOT NULL,
    supporting INTEGER NOT NULL,
    opposing INTEGER NOT NULL,
    families INTEGER NOT NULL,
    explanation TEXT,
    uncertainty_factors TEXT[],
    CONSTRAINT verdict_pkey PRIMARY KEY (scenario_id),
    CONSTRAINT verdict_shares_check CHECK (confidence BETWEEN 0 AND 1 AND probability BETWEEN 0 AND 1),
    CONSTRAINT verdict_words_check CHECK ((explanation IS NULL) = (uncertainty_factors IS NULL)),
    CONSTRAINT verdict_scenario_id_fkey FOREIGN KEY(scenario_id) REFERENCES scenario (id) ON DELETE CASCADE
);
COMMENT ON TABLE verdict IS 'The estimate for a scenario, of which there is one; never a correction';

CREATE TABLE evidence (
    id UUID NOT NULL,
    analysis_id UUID NOT NULL,
    scenario_id UUID NOT NULL,
    place INTEGER NOT NULL,
    supports BOOLEAN NOT NULL,
    text TEXT NOT NULL,
    source_url TEXT NOT NULL,
    source_title TEXT NOT NULL,
    quotes TEXT[] NOT NULL,
    summary TEXT,
    relevance DOUBLE PRECISION NOT NULL,
    credibility_score DOUBLE PRECISION NOT NULL,
    published_at TEXT,
    family INTEGER NOT NULL,
    kept_until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT evidence_pkey PRIMARY KEY (id),
    CONSTRAINT evidence_quotes_check CHECK (cardinality(quotes) <= 3),
    CONSTRAINT evidence_quote_words_check CHECK (array_to_string(quotes, chr(30)) !~ '([^ \t\n\r\x1e]+[ \t\n\r]+){25}[^ \t\n\r\x1e]'),
    CONSTRAINT evidence_analysis_id_fkey FOREIGN KEY(analysis_id) REFERENCES analysis (id) ON DELETE CASCADE,
    CONSTRAINT evidence_scenario_id_fkey FOREIGN KEY(scenario_id) REFERENCES scenario (id) ON DELETE CASCADE
);
CREATE INDEX evidence_analysis_id_scenario_id_idx ON evidence (analysis_id, scenario_id);
CREATE INDEX evidence_scenario_id_idx ON evidence (scenario_id);
COMMENT ON TABLE evidence IS 'A source of a scenario with its quotes, each of at most 25 words; the row goes when its words go, what was cited stays in `citation`';

CREATE TABLE citation (
    analysis_id UUID NOT NULL,
    place INTEGER NOT NULL,
    publisher_id UUID NOT NULL,
    domain TEXT NOT NULL,
    url_sha256 TEXT NOT NULL,
    scenario INTEGER NOT NULL,
    supports BOOLEAN NOT NULL,
    relevance DOUBLE PRECISION NOT NULL,
    outcome TEXT NOT NULL,
    score DOUBLE PRECISION,
    family INTEGER NOT NULL,
    cited_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT citation_pkey PRIMARY KEY (analysis_id, place),
    CONSTRAINT citation_analysis_id_fkey FOREIGN KEY(analysis_id) REFERENCES analysis (id) ON DELETE CASCADE
);
CREATE INDEX citation_publisher_id_cited_at_idx ON citation (publisher_id, cited_at);
CREATE INDEX citation_url_sha256_idx ON citation (url_sha256);
COMMENT ON TABLE citation IS 'That an analysis cites a source, without its words; `score` is the publisher''s when it was made';

GRANT SELECT ON job, job_claim, run_attempt, credit_period, credit_entry, stage_config, purge,
    erased_entity,
    assertion, assertion_sample, analysis, scenario, verdict, evidence, citation TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON job, job_claim, run_attempt, credit_period, credit_entry, stage_config, purge,
    erased_entity,
    assertion, assertion_sample, analysis, scenario, verdict, evidence, citation TO errata_projector;
