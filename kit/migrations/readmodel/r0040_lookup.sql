-- A second read model that is built beside the live one changes nothing that readers see; all is marked when it becomes
-- the live one. Without a decision log there are no look-ups.
CREATE FUNCTION has_lookups(schema name) RETURNS boolean LANGUAGE sql STABLE
    RETURN schema = 'readmodel' AND EXISTS (SELECT FROM log.state);

CREATE FUNCTION mark_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) SELECT DISTINCT post_id FROM changed;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_listed AFTER INSERT ON search_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_listed();
CREATE TRIGGER mark_unlisted AFTER DELETE ON search_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_listed();

CREATE FUNCTION mark_finding() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id, day)
        SELECT DISTINCT v.post_id, (c.changed_at AT TIME ZONE 'UTC')::date
        FROM changed c LEFT JOIN investigation i ON i.id = c.investigation_id
            LEFT JOIN post_version v ON v.id = i.post_version_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_finding AFTER INSERT ON finding_state REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_finding();
CREATE TRIGGER mark_finding_again AFTER UPDATE ON finding_state REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_finding();
CREATE TRIGGER mark_earlier_finding AFTER UPDATE ON finding_state REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_finding();
CREATE TRIGGER mark_erased_finding AFTER DELETE ON finding_state REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION mark_finding();

-- The posts of a hidden author are in no bucket.
CREATE FUNCTION mark_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) VALUES (new.id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION mark_author() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF has_lookups(TG_TABLE_SCHEMA) THEN
        INSERT INTO log.lookup_change (post_id) SELECT id FROM post WHERE author_id = new.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_post AFTER UPDATE OF author_id ON post FOR EACH ROW
    WHEN (old.author_id IS DISTINCT FROM new.author_id) EXECUTE FUNCTION mark_post();
CREATE TRIGGER mark_author AFTER UPDATE OF hidden_at ON author FOR EACH ROW
    WHEN (old.hidden_at IS DISTINCT FROM new.hidden_at) EXECUTE FUNCTION mark_author();

-- The notary knows from the ledger what was found; here it reads what of it may be shown.
DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO errata_notary', current_schema());
END $$;
GRANT SELECT (investigation_id, post_id, claim_count) ON search_document TO errata_notary;
GRANT SELECT (investigation_id, post_version_id, analysis, checked_at) ON investigation_doc TO errata_notary;
GRANT SELECT (id, post_id, content_hash) ON post_version TO errata_notary;
GRANT SELECT (post_version_id, platform, document) ON version_metadata TO errata_notary;
GRANT SELECT (id, platform, external_id, author_id) ON post TO errata_notary;
GRANT SELECT (id, hidden_at) ON author TO errata_notary;
GRANT SELECT (claim_id, investigation_id, state, cause, changed_at) ON finding_state TO errata_notary;
GRANT SELECT (scope, state) ON breaker TO errata_notary;
