ALTER TABLE post_version ADD COLUMN corroborated_at timestamptz;
CREATE TRIGGER corroborated_once BEFORE UPDATE ON post_version FOR EACH ROW
    WHEN (old.corroborated_at IS NOT NULL AND new.corroborated_at IS DISTINCT FROM old.corroborated_at)
    EXECUTE FUNCTION refuse_change();
CREATE TABLE version_range (
    post_version_id uuid NOT NULL,
    ip_range_key text NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT version_range_pkey PRIMARY KEY (post_version_id, ip_range_key),
    CONSTRAINT version_range_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE
);
COMMENT ON TABLE version_range IS 'The first address ranges, hashed, from which a version was seen, until they are enough to corroborate it';
GRANT SELECT ON version_range TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON version_range TO errata_projector;

-- Which address ranges saw which version in the past, only the ledger knows: a rebuild counts them.
UPDATE post_version v SET corroborated_at = r.seen_at
FROM (SELECT post_version_id, min(seen_at) AS seen_at FROM version_reporter GROUP BY post_version_id) r
WHERE v.id = r.post_version_id;
DELETE FROM search_document d USING investigation i, post_version v
WHERE i.id = d.investigation_id AND v.id = i.post_version_id
    AND v.server_verified_at IS NULL AND v.corroborated_at IS NULL;
UPDATE search_document d SET author_id = NULL FROM investigation i
WHERE i.id = d.investigation_id AND d.author_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM version_heading h WHERE h.post_version_id = i.post_version_id AND h.confirmed);
COMMENT ON TABLE search_document IS 'The public record: one row for each COMPLETE investigation of a version that its site has verified or readers have corroborated. `author_id`: as the site says; NULL where only readers name one. `body`: lower case, one line each for title, author, address, findings and text; `words`: all of that but the text';

-- Authors are listed and found only where a site has named them; strangers may make up any number of others.
DROP INDEX author_display_name_id_idx;
CREATE INDEX author_display_name_id_idx ON author (display_name, id) WHERE confirmed;
DROP INDEX author_find_idx;
DO $$
BEGIN
    EXECUTE format('CREATE INDEX author_find_idx ON author USING gin
        (display_name %s.gin_trgm_ops, search_grams(lower(display_name))) WHERE confirmed',
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
END $$;
SELECT without_statistics('author_find_idx');
