DROP INDEX candidate_open_idx;
CREATE INDEX investigation_open_idx ON investigation (analysis, queued_at) WHERE status IN ('PENDING', 'PROCESSING');
UPDATE candidate SET eligible_at = NULL WHERE status IN ('PENDING', 'PROCESSING');
COMMENT ON TABLE candidate IS 'The newest version of each post. `status` NULL: not investigated; `eligible_at`: since when the selector may take it, NULL: under way or over. FAILED may be taken only if nothing failed but runs that readers paid for';
