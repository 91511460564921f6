ALTER TABLE claim_review ADD COLUMN attempt integer NOT NULL DEFAULT 0, ADD COLUMN prompt_hash text;
ALTER TABLE claim_review ALTER COLUMN attempt DROP DEFAULT;
ALTER TABLE claim_review ADD CONSTRAINT claim_review_prompt_hash_fkey FOREIGN KEY (prompt_hash) REFERENCES prompt (hash);
ALTER TABLE investigation_attempt ADD CONSTRAINT investigation_attempt_prompt_hash_fkey FOREIGN KEY (prompt_hash) REFERENCES prompt (hash);
ALTER TABLE claim_review DROP CONSTRAINT claim_review_claim_id_round_key;
ALTER TABLE claim_review ADD CONSTRAINT claim_review_claim_id_round_attempt_key UNIQUE (claim_id, round, attempt);
ALTER TABLE claim_review DROP CONSTRAINT claim_review_outcome_check;
ALTER TABLE claim_review ADD CONSTRAINT claim_review_outcome_check CHECK (outcome IN ('APPROVED', 'REJECTED', 'FAILED', 'RETRIED'));
COMMENT ON TABLE claim_review IS 'The verdict on a candidate in one round, and the exchange with the model that was asked for it, if one was; before it, RETRIED and numbered by `attempt`, what failed for now. `output_items`: as the parts of an attempt, with text_parts, annotations, reasoning_summaries and tool_call';
