CREATE TABLE investigation_round (
    investigation_id uuid NOT NULL,
    round integer NOT NULL,
    requested_by text,
    key_source text,
    requested_at timestamptz,
    fault text,
    CONSTRAINT investigation_round_pkey PRIMARY KEY (investigation_id, round),
    CONSTRAINT investigation_round_requested_check CHECK (num_nonnulls(requested_by, key_source, requested_at) IN (0, 3)),
    CONSTRAINT investigation_round_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
);
CREATE INDEX investigation_round_requested_at_idx ON investigation_round (requested_at);
COMMENT ON TABLE investigation_round IS 'One request for a run. `fault`: why it failed, if it did; USER_KEY says nothing about the post. Nothing but a fault: the end was told before the request';

CREATE TABLE expense (
    id uuid NOT NULL,
    investigation_id uuid NOT NULL,
    round integer NOT NULL,
    stage text NOT NULL,
    total_tokens integer NOT NULL,
    cost_micro_usd bigint,
    spent_at timestamptz NOT NULL,
    CONSTRAINT expense_pkey PRIMARY KEY (id),
    CONSTRAINT expense_stage_check CHECK (stage IN ('INVESTIGATION', 'VALIDATION')),
    CONSTRAINT expense_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id) ON DELETE CASCADE
);
CREATE INDEX expense_investigation_id_idx ON expense (investigation_id);
CREATE INDEX expense_spent_at_idx ON expense (spent_at);
COMMENT ON TABLE expense IS 'What an attempt or a review used; `id` is the attempt''s, or derives from claim and round. `cost_micro_usd` NULL: nobody knows the model''s price';

CREATE TRIGGER immutable BEFORE UPDATE ON expense FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Attempts of before belong to the first round; a rebuild tells them apart.
ALTER TABLE investigation_attempt ADD COLUMN round integer NOT NULL DEFAULT 1;
ALTER TABLE investigation_attempt ALTER COLUMN round DROP DEFAULT;
ALTER TABLE investigation_attempt_usage ADD COLUMN cost_micro_usd bigint;

-- Whoever is next, and whoever is under way, in a list each: a backlog of the one does not stand in the way of the other.
DROP INDEX candidate_next_idx;
CREATE INDEX candidate_next_idx ON candidate (analysis, score DESC, post_id) INCLUDE (post_version_id) WHERE word_ok AND score > 0 AND eligible_at IS NOT NULL AND (status IS NULL OR status = 'FAILED');
CREATE INDEX candidate_open_idx ON candidate (analysis, eligible_at) INCLUDE (post_version_id) WHERE status IN ('PENDING', 'PROCESSING');
COMMENT ON TABLE candidate IS 'The newest version of each post. `status` NULL: not investigated; `eligible_at`: since when the selector may take it or, while it is under way, from when on it may be lost; NULL: over. FAILED may be taken only if nothing but readers'' keys ever failed';

DROP INDEX investigation_selected_idx;

GRANT SELECT ON investigation_round, expense TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON investigation_round, expense TO errata_projector;
