CREATE TABLE tally (
    scope text NOT NULL,
    posts integer NOT NULL,
    flagged_posts integer NOT NULL,
    claims integer NOT NULL,
    CONSTRAINT tally_pkey PRIMARY KEY (scope)
);
COMMENT ON TABLE tally IS 'Distinct posts with a finished investigation: `all`, `platform:<name>` or `author:<id>`; kept by triggers of search_document';
CREATE TABLE tally_post (
    scope text NOT NULL,
    post_id uuid NOT NULL,
    investigations integer NOT NULL,
    flagged integer NOT NULL,
    CONSTRAINT tally_post_pkey PRIMARY KEY (scope, post_id)
);
CREATE INDEX tally_post_post_id_idx ON tally_post (post_id);
COMMENT ON TABLE tally_post IS 'Finished investigations of each post in a scope, so that each post counts once in `tally`';

-- A post counts with its first investigation, as flagged with its first that found something, and no more when those
-- that are there have gone.
CREATE FUNCTION tally_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH seen AS (
        SELECT s.scope, d.post_id, count(*) AS n, count(*) FILTER (WHERE d.claim_count > 0) AS f,
            sum(d.claim_count) AS c
        FROM changed d CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || d.platform), ('author:' || d.author_id)) s(scope)
        WHERE s.scope IS NOT NULL GROUP BY s.scope, d.post_id
    ), put AS (
        INSERT INTO tally_post AS t SELECT scope, post_id, n, f FROM seen
        ON CONFLICT (scope, post_id) DO UPDATE SET investigations = t.investigations + excluded.investigations,
            flagged = t.flagged + excluded.flagged
        RETURNING scope, post_id, investigations, flagged
    )
    INSERT INTO tally AS t SELECT s.scope, count(*) FILTER (WHERE p.investigations = s.n),
        count(*) FILTER (WHERE s.f > 0 AND p.flagged = s.f), sum(s.c)
    FROM seen s JOIN put p USING (scope, post_id) GROUP BY s.scope
    ON CONFLICT (scope) DO UPDATE SET posts = t.posts + excluded.posts,
        flagged_posts = t.flagged_posts + excluded.flagged_posts, claims = t.claims + excluded.claims;
    RETURN NULL;
END $$;
CREATE FUNCTION tally_down() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH seen AS (
        SELECT s.scope, d.post_id, count(*) AS n, count(*) FILTER (WHERE d.claim_count > 0) AS f,
            sum(d.claim_count) AS c
        FROM changed d CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || d.platform), ('author:' || d.author_id)) s(scope)
        WHERE s.scope IS NOT NULL GROUP BY s.scope, d.post_id
    ), put AS (
        UPDATE tally_post t SET investigations = t.investigations - s.n, flagged = t.flagged - s.f
        FROM seen s WHERE t.scope = s.scope AND t.post_id = s.post_id
        RETURNING t.scope, t.investigations, t.flagged, s.f, s.c
    )
    UPDATE tally t SET posts = t.posts - g.posts, flagged_posts = t.flagged_posts - g.flagged, claims = t.claims - g.claims
    FROM (SELECT scope, count(*) FILTER (WHERE investigations = 0) AS posts,
        count(*) FILTER (WHERE f > 0 AND flagged = 0) AS flagged, sum(c) AS claims FROM put GROUP BY scope) g
    WHERE t.scope = g.scope;
    DELETE FROM tally_post WHERE investigations = 0 AND post_id IN (SELECT post_id FROM changed);
    DELETE FROM tally WHERE posts = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_up AFTER INSERT ON search_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_up();
CREATE TRIGGER tally_down AFTER DELETE ON search_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_down();

INSERT INTO tally_post SELECT scope, post_id, n, f FROM (
        SELECT s.scope, d.post_id, count(*) AS n, count(*) FILTER (WHERE d.claim_count > 0) AS f,
            sum(d.claim_count) AS c
        FROM search_document d CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || d.platform), ('author:' || d.author_id)) s(scope)
        WHERE s.scope IS NOT NULL GROUP BY s.scope, d.post_id) seen;
INSERT INTO tally SELECT t.scope, count(*), count(*) FILTER (WHERE t.flagged > 0), 0 FROM tally_post t GROUP BY t.scope;
UPDATE tally t SET claims = g.claims FROM (
    SELECT s.scope, sum(d.claim_count) AS claims FROM search_document d
    CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || d.platform), ('author:' || d.author_id)) s(scope) GROUP BY s.scope) g
WHERE t.scope = g.scope;

GRANT SELECT ON tally, tally_post TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON tally, tally_post TO errata_projector;
