-- Both give what they gave before, so no index has to be built again.
--
-- A word that comes again brings no new letters, so each is cut into letters once, the first and the last word of a text
-- where they stand: what is beside them nothing else is. Letters of the alphabet are looked for instead of listed; the
-- index would sort every one of a long list.
CREATE OR REPLACE FUNCTION search_grams(body text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    whole text := translate(body, E'\x01', ' ');
    words text[] := string_to_array(whole, ' ');
    last int := cardinality(words);
BEGIN
    IF last > 3 THEN
        whole := concat_ws(' ', words[1], (SELECT string_agg(word, ' ') FROM (
            SELECT DISTINCT unnest(words[2:last - 1])) once(word)), words[last]);
    END IF;
    RETURN array_remove(array(SELECT letter FROM unnest(
            '{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,0,1,2,3,4,5,6,7,8,9," "}'::text[]) letter
            WHERE strpos(whole, letter) > 0)
        || string_to_array(regexp_replace(whole, '[a-z0-9 ]+', '', 'g'), NULL)
        || string_to_array(regexp_replace(whole, '(..)', E'\\1\x01', 'g'), E'\x01', '')
        || string_to_array(regexp_replace(substr(whole, 2), '(..)', E'\\1\x01', 'g'), E'\x01', ''), NULL);
END $$;

-- Two words that meet again are looked at once, and as expressions: a subquery for each word costs several times that.
CREATE OR REPLACE FUNCTION search_pairs(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC
    SELECT coalesce(array_agg(DISTINCT ending || ' ' || beginning), '{}')
    FROM (
        SELECT ending, CASE
            WHEN b = ANY (search_common()) THEN b || ' '
            WHEN left(b, 7) = ANY (search_common()) THEN left(b, 7) || '~'
            WHEN left(b, 6) = ANY (search_common()) THEN left(b, 6) || '~'
            WHEN left(b, 5) = ANY (search_common()) THEN left(b, 5) || '~'
            WHEN left(b, 4) = ANY (search_common()) THEN left(b, 4) || '~'
            WHEN left(b, 3) = ANY (search_common()) THEN left(b, 3) || '~'
            WHEN left(b, 2) = ANY (search_common()) THEN left(b, 2) || '~'
            WHEN left(b, 1) = ANY (search_common()) THEN left(b, 1) || '~' END AS beginning
        FROM (
            SELECT CASE
                WHEN a = ANY (search_common()) THEN ' ' || a
                WHEN right(a, 7) = ANY (search_common()) THEN '~' || right(a, 7)
                WHEN right(a, 6) = ANY (search_common()) THEN '~' || right(a, 6)
                WHEN right(a, 5) = ANY (search_common()) THEN '~' || right(a, 5)
                WHEN right(a, 4) = ANY (search_common()) THEN '~' || right(a, 4)
                WHEN right(a, 3) = ANY (search_common()) THEN '~' || right(a, 3)
                WHEN right(a, 2) = ANY (search_common()) THEN '~' || right(a, 2)
                WHEN right(a, 1) = ANY (search_common()) THEN '~' || right(a, 1) END AS ending, b
            FROM unnest(words, words[2:]) two(a, b) OFFSET 0) begun
        WHERE ending IS NOT NULL OFFSET 0) pair
    WHERE beginning IS NOT NULL;
END;

-- A statement that changed no row leaves before it looks at anything, and what it emptied is found by its scope: there
-- is a scope for each author.
CREATE OR REPLACE FUNCTION tally_down() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched text[];
BEGIN
    IF NOT EXISTS (SELECT FROM changed) THEN
        RETURN NULL;
    END IF;
    WITH seen AS (
        SELECT s.scope, d.post_id, count(*) AS n, count(*) FILTER (WHERE d.claim_count > 0) AS f,
            sum(d.claim_count) AS c
        FROM changed d CROSS JOIN LATERAL (VALUES ('all'), ('platform:' || d.platform), ('author:' || d.author_id)) s(scope)
        WHERE s.scope IS NOT NULL GROUP BY s.scope, d.post_id
    ), put AS (
        UPDATE tally_post t SET investigations = t.investigations - s.n, flagged = t.flagged - s.f
        FROM seen s WHERE t.scope = s.scope AND t.post_id = s.post_id
        RETURNING t.scope, t.investigations, t.flagged, s.f, s.c
    ), less AS (
        UPDATE tally t SET posts = t.posts - g.posts, flagged_posts = t.flagged_posts - g.flagged,
            claims = t.claims - g.claims
        FROM (SELECT scope, count(*) FILTER (WHERE investigations = 0) AS posts,
            count(*) FILTER (WHERE f > 0 AND flagged = 0) AS flagged, sum(c) AS claims FROM put GROUP BY scope) g
        WHERE t.scope = g.scope
        RETURNING t.scope
    )
    SELECT array_agg(scope) INTO touched FROM less;
    DELETE FROM tally_post WHERE investigations = 0 AND post_id IN (SELECT post_id FROM changed);
    DELETE FROM tally WHERE posts = 0 AND scope = ANY (touched);
    RETURN NULL;
END $$;
