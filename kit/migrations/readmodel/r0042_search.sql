-- Search over one text index and the order of time (decision 0098); counts are queries whose answers are kept a while.
DROP TRIGGER place_in_bucket ON search_document;
DROP TRIGGER tally_up ON search_document;
DROP TRIGGER tally_down ON search_document;
DROP TRIGGER tally_moves_down ON search_document;
DROP TRIGGER tally_moves_up ON search_document;
DROP TRIGGER tally_days_up ON search_document;
DROP TRIGGER tally_days_down ON search_document;
DROP TRIGGER tally_days_move ON search_document;
DROP TABLE tally, tally_post, tally_moment, tally_day, search_bucket;
DROP INDEX search_document_find_idx, search_document_newest_idx, search_document_post_id_idx, author_find_idx;
DROP FUNCTION place_in_bucket, tally_up, tally_down, tally_days, tally_days_moved, count_days, search_grams,
    search_pairs_of, search_pairs, search_common(), search_common(integer), search_facets;
DROP TRIGGER immutable ON search_document;
ALTER TABLE search_document DROP COLUMN bucket;
CREATE TRIGGER immutable BEFORE UPDATE ON search_document FOR EACH ROW
    WHEN ((NEW.investigation_id, NEW.post_id, NEW.platform, NEW.checked_at)
        IS DISTINCT FROM (OLD.investigation_id, OLD.post_id, OLD.platform, OLD.checked_at))
    EXECUTE FUNCTION refuse_change();

-- Characters of which trigrams know nothing: everything but the letters and digits of English, and spaces.
CREATE FUNCTION search_signs(body text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN string_to_array(regexp_replace(body, '[a-z0-9 ]+', '', 'g'), NULL);
CREATE INDEX search_document_newest_idx ON search_document (checked_at DESC, investigation_id DESC)
    INCLUDE (platform, claim_count, post_id);
CREATE INDEX search_document_post_id_idx ON search_document (post_id) INCLUDE (platform, claim_count);
DO $$
DECLARE
    trigrams regnamespace := (SELECT extnamespace FROM pg_extension WHERE extname = 'pg_trgm');
BEGIN
    EXECUTE format('CREATE INDEX search_document_find_idx ON search_document USING gin
        (body %s.gin_trgm_ops, search_signs(body), words) WITH (gin_pending_list_limit = 1024)', trigrams);
    EXECUTE format('CREATE INDEX author_find_idx ON author USING gin (display_name %s.gin_trgm_ops) WHERE confirmed', trigrams);
END $$;
SELECT without_statistics('search_document_find_idx');
