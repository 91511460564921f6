-- Whom a post that its site has confirmed was last filed under; the site's next word still changes the name.
UPDATE author SET confirmed = true WHERE id IN (SELECT author_id FROM post WHERE confirmed);

ALTER TABLE version_heading ADD COLUMN confirmed boolean NOT NULL DEFAULT false;
COMMENT ON TABLE version_heading IS 'What stands above a version: as it was first seen until its site has said it, then as the site said; later sightings do not change it';
DROP TRIGGER immutable ON version_heading;
CREATE TRIGGER immutable BEFORE UPDATE ON version_heading FOR EACH ROW WHEN (OLD.confirmed)
    EXECUTE FUNCTION refuse_change();

-- A document follows its heading, and an author's tally the document; what places it among others stays.
DROP TRIGGER immutable ON search_document;
CREATE TRIGGER immutable BEFORE UPDATE ON search_document FOR EACH ROW
    WHEN ((NEW.investigation_id, NEW.post_id, NEW.platform, NEW.checked_at, NEW.claim_count, NEW.bucket)
        IS DISTINCT FROM (OLD.investigation_id, OLD.post_id, OLD.platform, OLD.checked_at, OLD.claim_count, OLD.bucket))
    EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tally_moves_down AFTER UPDATE ON search_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_down();
CREATE TRIGGER tally_moves_up AFTER UPDATE ON search_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_up();
