-- What stood for the words until now were hashes of parts of them; a rebuild fills in the words.
ALTER TABLE investigation_attempt RENAME COLUMN request_instructions TO prompt_hash;
ALTER TABLE investigation_attempt RENAME COLUMN request_input TO content_hash;
ALTER TABLE investigation_attempt ADD COLUMN request_instructions text;
ALTER TABLE investigation_attempt ADD COLUMN request_input text;
ALTER TABLE investigation_attempt ADD COLUMN transcript_state text;
UPDATE investigation_attempt SET transcript_hash = NULL WHERE transcript_hash IS NOT NULL;
ALTER TABLE investigation_attempt ADD CONSTRAINT investigation_attempt_transcript_state_check CHECK (transcript_state IN ('read', 'missing', 'unreadable', 'too_large'));
ALTER TABLE investigation_attempt ADD CONSTRAINT investigation_attempt_transcript_check CHECK ((transcript_state IS NULL) = (transcript_hash IS NULL));
ALTER TABLE investigation_attempt ADD CONSTRAINT investigation_attempt_request_check CHECK (num_nonnulls(request_instructions, request_input) = CASE transcript_state WHEN 'read' THEN 2 ELSE 0 END);
COMMENT ON TABLE investigation_attempt IS 'What was sent and what came back; the exact texts are there once the transcript was read, which lies in the blob store under sha256/<transcript_hash>. A transcript that is not `read` left no further rows';
COMMENT ON TABLE investigation_attempt_tool_call IS 'A call of the provider''s tools or of ours; of ours it is known when they were carried out';

CREATE TABLE claim_review (
    id uuid NOT NULL,
    claim_id uuid NOT NULL,
    round integer NOT NULL,
    outcome text NOT NULL,
    gate text,
    reason text,
    status_code integer,
    request_model text,
    request_instructions text,
    request_input text,
    request_reasoning_effort text,
    request_reasoning_summary text,
    requested_tools jsonb,
    output_items jsonb,
    response_id text,
    response_status text,
    response_model_version text,
    response_output_text text,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    total_tokens integer NOT NULL,
    cached_input_tokens integer,
    reasoning_output_tokens integer,
    cost_micro_usd bigint,
    transcript_hash text,
    transcript_state text,
    started_at timestamptz,
    completed_at timestamptz,
    decided_at timestamptz NOT NULL,
    CONSTRAINT claim_review_pkey PRIMARY KEY (id),
    CONSTRAINT claim_review_claim_id_round_key UNIQUE (claim_id, round),
    CONSTRAINT claim_review_outcome_check CHECK (outcome IN ('APPROVED', 'REJECTED', 'FAILED')),
    CONSTRAINT claim_review_transcript_state_check CHECK (transcript_state IN ('read', 'missing', 'unreadable', 'too_large')),
    CONSTRAINT claim_review_transcript_check CHECK ((transcript_state IS NULL) = (transcript_hash IS NULL)),
    CONSTRAINT claim_review_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim_candidate (claim_id) ON DELETE CASCADE
);
COMMENT ON TABLE claim_review IS 'The verdict on a candidate in one round, and the exchange with the model that was asked for it, if one was. `output_items`: as the parts of an attempt, with text_parts, annotations, reasoning_summaries and tool_call';

CREATE TRIGGER immutable BEFORE UPDATE ON claim_review FOR EACH ROW EXECUTE FUNCTION refuse_change();

GRANT SELECT ON claim_review TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON claim_review TO errata_projector;
