-- How a search reads is not left to the planner, so nobody asks how often words occur. To find out, every tenth document
-- more, each of up to 30,000 of them would be cut into its letters and pairs again.
ALTER TABLE search_document ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN words SET STATISTICS 0;
CREATE FUNCTION without_statistics(index regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place int;
BEGIN
    FOR place IN SELECT n FROM pg_index, unnest(indkey) WITH ORDINALITY key(attnum, n)
        WHERE indexrelid = index AND attnum = 0
    LOOP
        EXECUTE format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', index, place);
    END LOOP;
END $$;
COMMENT ON FUNCTION without_statistics IS 'Lets ANALYZE pass over the expressions of an index';
SELECT without_statistics('search_document_find_idx'), without_statistics('author_find_idx');

-- By its key: asked for a row that is PROCESSING, the planner may walk through the index of all that are.
CREATE OR REPLACE FUNCTION require_lease() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    subject uuid;
BEGIN
    IF TG_TABLE_NAME = 'investigation' THEN
        subject := new.id;
    ELSE
        subject := coalesce(new.investigation_id, old.investigation_id);
    END IF;
    IF coalesce((SELECT status = 'PROCESSING' FROM investigation WHERE id = subject), false)
        <> EXISTS (SELECT FROM investigation_lease WHERE investigation_id = subject)
    THEN
        RAISE EXCEPTION 'investigation % must have a lease exactly while it is PROCESSING', subject
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

-- As before, but each length of a word is looked for among the common words of that length alone: what a call costs is
-- most of all to make the lists ready.
CREATE FUNCTION search_common(characters integer) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    array(SELECT word FROM unnest(search_common()) word WHERE length(word) = characters);
CREATE OR REPLACE FUNCTION search_pairs(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC
    SELECT coalesce(array_agg(DISTINCT ending || ' ' || beginning), '{}')
    FROM (
        SELECT ending, CASE
            WHEN b = ANY (search_common()) THEN b || ' '
            WHEN left(b, 7) = ANY (search_common(7)) THEN left(b, 7) || '~'
            WHEN left(b, 6) = ANY (search_common(6)) THEN left(b, 6) || '~'
            WHEN left(b, 5) = ANY (search_common(5)) THEN left(b, 5) || '~'
            WHEN left(b, 4) = ANY (search_common(4)) THEN left(b, 4) || '~'
            WHEN left(b, 3) = ANY (search_common(3)) THEN left(b, 3) || '~'
            WHEN left(b, 2) = ANY (search_common(2)) THEN left(b, 2) || '~'
            WHEN left(b, 1) = ANY (search_common(1)) THEN left(b, 1) || '~' END AS beginning
        FROM (
            SELECT CASE
                WHEN a = ANY (search_common()) THEN ' ' || a
                WHEN right(a, 7) = ANY (search_common(7)) THEN '~' || right(a, 7)
                WHEN right(a, 6) = ANY (search_common(6)) THEN '~' || right(a, 6)
                WHEN right(a, 5) = ANY (search_common(5)) THEN '~' || right(a, 5)
                WHEN right(a, 4) = ANY (search_common(4)) THEN '~' || right(a, 4)
                WHEN right(a, 3) = ANY (search_common(3)) THEN '~' || right(a, 3)
                WHEN right(a, 2) = ANY (search_common(2)) THEN '~' || right(a, 2)
                WHEN right(a, 1) = ANY (search_common(1)) THEN '~' || right(a, 1) END AS ending, b
            FROM unnest(words, words[2:]) two(a, b) OFFSET 0) begun
        WHERE ending IS NOT NULL OFFSET 0) pair
    WHERE beginning IS NOT NULL;
END;
