CREATE TABLE variant (
    variant TEXT NOT NULL,
    parts JSONB NOT NULL,
    state TEXT NOT NULL,
    quota INTEGER,
    step INTEGER NOT NULL,
    clean INTEGER NOT NULL,
    after_wrong BOOLEAN NOT NULL,
    gate_tier TEXT NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    through BIGINT NOT NULL,
    why TEXT NOT NULL,
    by TEXT NOT NULL,
    announced_at TIMESTAMP WITH TIME ZONE NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT variant_pkey PRIMARY KEY (variant),
    CONSTRAINT variant_state_check CHECK (state IN ('SHADOW', 'LIMITED', 'FULL')),
    CONSTRAINT variant_gate_tier_check CHECK (gate_tier IN ('PENDING', 'CLEAN', 'FAILED'))
);
COMMENT ON TABLE variant IS 'How much of what a variant finds is displayed, as its newest event says; it holds for what was published at `since` or later. `parts`: {prompt, prompt_version, provider, model, rules, gates}';

CREATE TABLE breaker (
    scope TEXT NOT NULL,
    state TEXT NOT NULL,
    triggers JSONB NOT NULL,
    cause TEXT,
    by TEXT NOT NULL,
    quota INTEGER,
    opened_at TIMESTAMP WITH TIME ZONE,
    since TIMESTAMP WITH TIME ZONE,
    since_sequence BIGINT NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT breaker_pkey PRIMARY KEY (scope),
    CONSTRAINT breaker_state_check CHECK (state IN ('OPEN', 'HALF_OPEN', 'CLOSED'))
);
COMMENT ON TABLE breaker IS '`triggers`: [{trigger, numbers, at}] since it opened last. What happened before `since`, when it was last half opened or closed, opens it no more';

CREATE TABLE control_batch (
    id UUID NOT NULL,
    commitment TEXT NOT NULL,
    size INTEGER NOT NULL,
    closes_at TIMESTAMP WITH TIME ZONE NOT NULL,
    committed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT control_batch_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE control_batch IS 'A list of posts in which nothing is wrong, by the hash that was published before any of them ran';

CREATE TABLE control_run (
    investigation_id UUID NOT NULL,
    batch_id UUID NOT NULL,
    post_version_id UUID NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    salt TEXT,
    outcome TEXT,
    CONSTRAINT control_run_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT control_run_outcome_check CHECK (outcome IN ('CLEAN', 'FLAGGED', 'FAILED', 'NOT_RUN')),
    CONSTRAINT control_run_investigation_id_fkey FOREIGN KEY(investigation_id)
        REFERENCES investigation (id) ON DELETE CASCADE,
    CONSTRAINT control_run_batch_id_fkey FOREIGN KEY(batch_id) REFERENCES control_batch (id),
    CONSTRAINT control_run_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id)
);
CREATE INDEX control_run_post_version_id_idx ON control_run (post_version_id);
CREATE INDEX control_run_batch_idx ON control_run (batch_id, requested_at);
COMMENT ON TABLE control_run IS 'A run whose answer is known; nothing of it is published. `salt` and `outcome` are there once its list is open';

GRANT SELECT ON variant, breaker, control_batch, control_run TO errata_reader, errata_operator, errata_curator;
GRANT SELECT, INSERT, UPDATE, DELETE ON variant, breaker, control_batch, control_run TO errata_projector;

-- Runs without a variant are older than it.
ALTER TABLE investigation ADD COLUMN rules text, ADD COLUMN gates jsonb, ADD COLUMN variant text,
    DROP CONSTRAINT investigation_origin_check,
    ADD CONSTRAINT investigation_origin_check CHECK (origin IN ('ORIGINAL', 'APPEAL', 'RETRACTION', 'CONTROL'));
CREATE INDEX investigation_variant_idx ON investigation (variant, checked_at);
ALTER TABLE investigation_doc ADD COLUMN variant text;
CREATE INDEX investigation_doc_standing_idx ON investigation_doc (variant, checked_at) WHERE claim_count > 0;

-- The curator decides what is displayed by counts and states; it sees no words.
CREATE INDEX review_sequence_idx ON review (sequence);
CREATE INDEX review_wrong_idx ON review (claim_id) WHERE verdict = 'WRONG';
GRANT SELECT (claim_id, reviewer, verdict, sequence) ON review TO errata_curator;
GRANT SELECT (claim_id, investigation_id, state, cause, changed_at, sequence) ON finding_state TO errata_curator;
GRANT SELECT (id, investigation_id, ordinal) ON claim TO errata_curator;
GRANT SELECT (claim_id, investigation_id, attempt, state) ON claim_candidate TO errata_curator;
GRANT SELECT (id, post_version_id, analysis, origin, origin_id, status, prompt_hash, provider, model, rules, gates,
    variant, checked_at, created_at, requested_sequence) ON investigation TO errata_curator;
GRANT SELECT (variant) ON investigation_doc TO errata_curator;
GRANT SELECT (hash, version) ON prompt TO errata_curator;
GRANT SELECT (unique_view_score) ON post TO errata_curator;
GRANT SELECT (post_id, bucket_day) ON post_view_credit TO errata_curator;
