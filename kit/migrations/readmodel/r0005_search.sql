-- Outside this schema, which a rebuild drops; wherever somebody has put them already is as good.
CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA public;
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;

CREATE TABLE version_heading (
    post_version_id uuid NOT NULL,
    url text NOT NULL,
    title text,
    author_id uuid,
    author_name text,
    CONSTRAINT version_heading_pkey PRIMARY KEY (post_version_id),
    CONSTRAINT version_heading_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE
);
COMMENT ON TABLE version_heading IS 'What stood above a version when it was first seen; later sightings do not change it';

CREATE TABLE search_bucket (
    number integer NOT NULL,
    starts_at timestamptz NOT NULL,
    newest_at timestamptz NOT NULL,
    documents integer NOT NULL,
    CONSTRAINT search_bucket_pkey PRIMARY KEY (number),
    CONSTRAINT search_bucket_starts_at_key UNIQUE (starts_at)
);
COMMENT ON TABLE search_bucket IS 'Time cut into pieces of about 512 documents each, so that a search can stop at the newest pieces';

CREATE TABLE search_document (
    investigation_id uuid NOT NULL,
    post_id uuid NOT NULL,
    author_id uuid,
    platform text NOT NULL,
    checked_at timestamptz NOT NULL,
    claim_count integer NOT NULL,
    bucket integer NOT NULL,
    words tsvector NOT NULL,
    body text NOT NULL,
    CONSTRAINT search_document_pkey PRIMARY KEY (investigation_id),
    CONSTRAINT search_document_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id)
)
 WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
COMMENT ON TABLE search_document IS 'One row for each COMPLETE investigation. `body`: lower case, one line each for title, author, address, findings and text; `words`: all of that but the text';

-- A bucket begins with a moment later than all before it, so buckets and time have the same order even where facts do
-- not, and the order in which documents are inserted, which is the log's, alone decides which bucket each is in.
CREATE FUNCTION place_in_bucket() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last search_bucket;
BEGIN
    SELECT * INTO last FROM search_bucket ORDER BY number DESC LIMIT 1;
    IF last IS NULL THEN
        new.bucket := 0;
    ELSIF last.documents >= 512 AND new.checked_at > last.newest_at THEN
        new.bucket := last.number + 1;
    ELSE
        SELECT coalesce(max(number), 0) INTO new.bucket FROM search_bucket WHERE starts_at <= new.checked_at;
    END IF;
    INSERT INTO search_bucket AS b VALUES (new.bucket, new.checked_at, new.checked_at, 1)
    ON CONFLICT (number) DO UPDATE SET documents = b.documents + 1,
        starts_at = least(b.starts_at, excluded.starts_at), newest_at = greatest(b.newest_at, excluded.newest_at);
    RETURN new;
END $$;
CREATE TRIGGER place_in_bucket BEFORE INSERT ON search_document FOR EACH ROW EXECUTE FUNCTION place_in_bucket();
CREATE TRIGGER immutable BEFORE UPDATE ON search_document FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER immutable BEFORE UPDATE ON version_heading FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Trigrams know nothing of one or two characters, of signs, and of phrases whose every word is in every text; the
-- functions below do. Both sides of a comparison are made by them, so that they agree.
--
-- Every pair of neighbouring letters, and every letter; cut by two regular expressions, one a letter behind the other,
-- because row by row it takes eight times as long.
CREATE FUNCTION search_grams(body text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    whole text := translate(body, E'\x01', ' ');
BEGIN
    RETURN array_remove(string_to_array(whole, NULL)
        || string_to_array(regexp_replace(whole, '(..)', E'\\1\x01', 'g'), E'\x01', '')
        || string_to_array(regexp_replace(substr(whole, 2), '(..)', E'\\1\x01', 'g'), E'\x01', ''), NULL);
END $$;
CREATE FUNCTION search_common() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    '{a,about,after,all,also,an,and,any,are,as,at,be,because,been,before,but,by,can,could,did,do,for,from,had,has,have,
    he,her,his,how,i,if,in,into,is,it,its,just,like,made,make,many,may,more,most,much,my,new,no,not,now,of,on,one,only,
    or,other,our,out,over,people,said,she,so,some,such,than,that,the,their,them,then,there,these,they,this,time,to,two,
    up,us,use,was,way,we,well,were,what,when,where,which,who,will,with,would,years,you,your}'::text[];
CREATE FUNCTION search_pairs(words text[]) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE BEGIN ATOMIC
    SELECT coalesce(array_agg(DISTINCT a || ' ' || b), '{}') FROM unnest(words, words[2:]) two(a, b)
    WHERE a = ANY (search_common()) AND b = ANY (search_common());
END;
CREATE FUNCTION search_facets(platform text, claim_count integer) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('{claims:1,claims:2,claims:3,claims:4,claims:5,claims:6,claims:7,claims:8,claims:9,claims:10}'::text[])
        [1:claim_count] || ('platform:' || platform);

CREATE INDEX search_document_newest_idx ON search_document (checked_at DESC, investigation_id DESC)
    INCLUDE (platform, claim_count, bucket, post_id);
CREATE INDEX search_document_author_idx ON search_document (author_id, checked_at DESC, investigation_id DESC)
    INCLUDE (platform, claim_count, post_id);
DO $$
BEGIN
    EXECUTE format($index$CREATE INDEX search_document_find_idx ON search_document USING gin
        (bucket, (bucket / 8), (bucket / 64), search_facets(platform, claim_count), body %s.gin_trgm_ops,
            search_grams(body), search_pairs(string_to_array(body, ' ')), words)
        WITH (gin_pending_list_limit = 1024)$index$,
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
    EXECUTE format('CREATE INDEX author_find_idx ON author USING gin
        (display_name %s.gin_trgm_ops, search_grams(lower(display_name)))',
        (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'pg_trgm'));
END $$;
-- Every sighting of a post touches its author's row: with room on its page, no index hears of it.
ALTER TABLE author SET (fillfactor = 60);
CREATE INDEX author_display_name_id_idx ON author (display_name, id);
CREATE INDEX integrity_anomaly_newest_idx ON integrity_anomaly (detected_at DESC, observation_id DESC, kind DESC);

GRANT SELECT ON version_heading, search_bucket, search_document TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON version_heading, search_bucket, search_document TO errata_projector;
