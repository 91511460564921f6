-- Where two words meet: the longest common word that the first ends with, and the longest that the second begins with.
-- A blank outside says that there is no more of that word, `~` that there is. So the index knows of a phrase of words
-- that are in every text where it stands, also if it begins or ends inside a word.
DROP INDEX search_document_find_idx;
DROP FUNCTION search_pairs;
CREATE FUNCTION search_pairs(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC
    SELECT coalesce(array_agg(DISTINCT CASE WHEN a = l THEN ' ' ELSE '~' END || l || ' ' || f
        || CASE WHEN b = f THEN ' ' ELSE '~' END), '{}')
    FROM unnest(words, words[2:]) two(a, b)
    CROSS JOIN LATERAL (SELECT right(a, n) FROM (VALUES (7), (6), (5), (4), (3), (2), (1)) longest(n)
        WHERE right(a, n) = ANY (search_common()) LIMIT 1) ending(l)
    CROSS JOIN LATERAL (SELECT left(b, n) FROM (VALUES (7), (6), (5), (4), (3), (2), (1)) longest(n)
        WHERE left(b, n) = ANY (search_common()) LIMIT 1) beginning(f);
END;
-- What a text has in which a phrase stands: of each row, one. The phrase's first word may be the end of a longer one,
-- and its last the beginning.
CREATE FUNCTION search_pairs_of(words text[]) RETURNS SETOF text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC
    SELECT DISTINCT array(SELECT l || ' ' || f FROM unnest(ending.forms) l, unnest(beginning.forms) f ORDER BY 1)
    FROM unnest(words, words[2:]) WITH ORDINALITY two(a, b, n)
    CROSS JOIN LATERAL (SELECT (search_pairs(ARRAY[a, 'a']))[1], (search_pairs(ARRAY['a', b]))[1]) known(l, f)
    CROSS JOIN LATERAL (SELECT CASE WHEN n > 1 THEN ARRAY[left(l, -3)]
        ELSE ARRAY['~' || substr(left(l, -3), 2)] || array(SELECT more || c FROM unnest(search_common()) c,
            (VALUES (' '), ('~')) more(more) WHERE right(c, length(a)) = a) END) ending(forms)
    CROSS JOIN LATERAL (SELECT CASE WHEN n < cardinality(words) - 1 THEN ARRAY[substr(f, 4)]
        ELSE ARRAY[rtrim(substr(f, 4), ' ~') || '~'] || array(SELECT c || more FROM unnest(search_common()) c,
            (VALUES (' '), ('~')) more(more) WHERE left(c, length(b)) = b) END) beginning(forms)
    WHERE l IS NOT NULL AND f IS NOT NULL;
END;
DO $$
BEGIN
    EXECUTE format($index$CREATE INDEX search_document_find_idx ON search_document USING gin
        (bucket, (bucket / 8), (bucket / 64), search_facets(platform, claim_count), body %s.gin_trgm_ops,
            search_grams(body), search_pairs(string_to_array(body, ' ')), words)
        WITH (gin_pending_list_limit = 1024)$index$,
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
END $$;

-- Distinct posts in a window of time. A post counts with its first investigation in it, so each says when the one
-- before it was; what found something is a chain of its own.
CREATE TABLE tally_moment (
    post_id uuid NOT NULL,
    flagged boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    investigation_id uuid NOT NULL,
    platform text NOT NULL,
    previous_at timestamptz,
    next_at timestamptz,
    CONSTRAINT tally_moment_pkey PRIMARY KEY (post_id, flagged, checked_at, investigation_id)
)
 WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
COMMENT ON TABLE tally_moment IS 'Finished investigations of each post, and apart from them those that found something (`flagged`), with the ones before and after; kept by triggers of search_document';
CREATE INDEX tally_moment_checked_at_idx ON tally_moment (checked_at) INCLUDE (flagged, platform, previous_at, next_at);
CREATE TABLE tally_day (
    day date NOT NULL,
    platform text NOT NULL,
    flagged boolean NOT NULL,
    previous date NOT NULL,
    posts integer NOT NULL,
    CONSTRAINT tally_day_pkey PRIMARY KEY (day, platform, flagged, previous)
);
COMMENT ON TABLE tally_day IS 'How many of `tally_moment` there are on each UTC day, by the day of the one before; -infinity: there is none before';
CREATE INDEX search_document_post_id_idx ON search_document (post_id);

CREATE FUNCTION tally_days() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched uuid[] := array(SELECT DISTINCT post_id FROM changed);
    emptied date[];
BEGIN
    WITH gone AS (
        DELETE FROM tally_moment WHERE post_id = ANY (touched) RETURNING *
    ), less AS (
        UPDATE tally_day t SET posts = t.posts - g.n
        FROM (SELECT (checked_at AT TIME ZONE 'UTC')::date AS day, platform, flagged,
            coalesce((previous_at AT TIME ZONE 'UTC')::date, '-infinity') AS previous, count(*) AS n
            FROM gone GROUP BY 1, 2, 3, 4) g
        WHERE (t.day, t.platform, t.flagged, t.previous) = (g.day, g.platform, g.flagged, g.previous)
        RETURNING t.day
    )
    SELECT array_agg(DISTINCT day) INTO emptied FROM less;
    WITH come AS (
        INSERT INTO tally_moment
        SELECT d.post_id, k.flagged, d.checked_at, d.investigation_id, d.platform,
            lag(d.checked_at) OVER chain, lead(d.checked_at) OVER chain
        FROM search_document d JOIN (VALUES (false), (true)) k(flagged) ON NOT k.flagged OR d.claim_count > 0
        WHERE d.post_id = ANY (touched)
        WINDOW chain AS (PARTITION BY d.post_id, k.flagged ORDER BY d.checked_at, d.investigation_id)
        RETURNING *
    )
    INSERT INTO tally_day AS t
    SELECT (checked_at AT TIME ZONE 'UTC')::date, platform, flagged,
        coalesce((previous_at AT TIME ZONE 'UTC')::date, '-infinity'), count(*)
    FROM come GROUP BY 1, 2, 3, 4
    ON CONFLICT (day, platform, flagged, previous) DO UPDATE SET posts = t.posts + excluded.posts;
    DELETE FROM tally_day WHERE posts = 0 AND day = ANY (emptied);
    RETURN NULL;
END $$;
CREATE TRIGGER tally_days_up AFTER INSERT ON search_document REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_days();
CREATE TRIGGER tally_days_down AFTER DELETE ON search_document REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_days();

INSERT INTO tally_moment
SELECT d.post_id, k.flagged, d.checked_at, d.investigation_id, d.platform,
    lag(d.checked_at) OVER chain, lead(d.checked_at) OVER chain
FROM search_document d JOIN (VALUES (false), (true)) k(flagged) ON NOT k.flagged OR d.claim_count > 0
WINDOW chain AS (PARTITION BY d.post_id, k.flagged ORDER BY d.checked_at, d.investigation_id);
INSERT INTO tally_day
SELECT (checked_at AT TIME ZONE 'UTC')::date, platform, flagged,
    coalesce((previous_at AT TIME ZONE 'UTC')::date, '-infinity'), count(*)
FROM tally_moment GROUP BY 1, 2, 3, 4;

GRANT SELECT ON tally_moment, tally_day TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON tally_moment, tally_day TO errata_projector;
