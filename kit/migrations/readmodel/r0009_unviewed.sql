-- Whoever is wanted least comes last; nobody is left out.
DROP INDEX candidate_next_idx;
CREATE INDEX candidate_next_idx ON candidate (analysis, score DESC, post_id) INCLUDE (post_version_id) WHERE word_ok AND eligible_at IS NOT NULL AND (status IS NULL OR status = 'FAILED');
COMMENT ON TABLE candidate IS 'The newest version of each post. `status` NULL: not investigated; `eligible_at`: since when the selector may take it or, while it is under way, from when on it may be lost; NULL: over. FAILED may be taken only if nothing failed but runs that readers paid for';
