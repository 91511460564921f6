ALTER TABLE investigation ADD COLUMN origin text NOT NULL DEFAULT 'ORIGINAL', ADD COLUMN origin_id uuid;
ALTER TABLE investigation ALTER COLUMN origin DROP DEFAULT,
    DROP CONSTRAINT investigation_post_version_id_analysis_key,
    ADD CONSTRAINT investigation_post_version_id_analysis_origin_origin_id_key
        UNIQUE NULLS NOT DISTINCT (post_version_id, analysis, origin, origin_id),
    ADD CONSTRAINT investigation_origin_check CHECK (origin IN ('ORIGINAL', 'APPEAL', 'RETRACTION')),
    ADD CONSTRAINT investigation_origin_id_check CHECK ((origin = 'ORIGINAL') = (origin_id IS NULL));
DROP TRIGGER version_is_fixed ON investigation;
CREATE TRIGGER version_is_fixed BEFORE UPDATE ON investigation FOR EACH ROW
    WHEN ((old.id, old.post_version_id, old.analysis, old.origin, old.origin_id)
        IS DISTINCT FROM (new.id, new.post_version_id, new.analysis, new.origin, new.origin_id))
    EXECUTE FUNCTION refuse_change();
DROP INDEX investigation_doc_version_idx;
CREATE INDEX investigation_doc_version_idx ON investigation_doc (post_version_id, analysis, checked_at DESC, investigation_id DESC) INCLUDE (claim_count);
