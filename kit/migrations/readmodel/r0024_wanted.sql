ALTER TABLE candidate ADD COLUMN platform text, ADD COLUMN confirmed boolean;
UPDATE candidate c SET platform = p.platform, confirmed = v.server_verified_at IS NOT NULL,
    eligible_at = CASE WHEN v.server_verified_at IS NOT NULL OR v.corroborated_at IS NOT NULL THEN c.eligible_at END
FROM post p, post_version v WHERE p.id = c.post_id AND v.id = c.post_version_id;
ALTER TABLE candidate ALTER COLUMN platform SET NOT NULL, ALTER COLUMN confirmed SET NOT NULL;
DROP INDEX candidate_next_idx;
CREATE INDEX candidate_next_idx ON candidate (analysis, platform, confirmed DESC, score DESC, post_id)
    INCLUDE (post_version_id)
    WHERE word_ok AND eligible_at IS NOT NULL AND (status IS NULL OR status = 'FAILED');
COMMENT ON TABLE candidate IS 'One version of each post: the one last seen, of those that its site confirmed if there are any. `status` NULL: not investigated; `eligible_at`: since when the selector may take it, NULL: under way, over, or vouched for by too few. FAILED may be taken only if nothing failed but runs that readers paid for';
