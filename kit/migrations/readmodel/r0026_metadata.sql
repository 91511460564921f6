CREATE TABLE version_metadata (
    post_version_id uuid NOT NULL,
    platform text NOT NULL,
    server_html_hash text,
    client_html_hash text,
    image_urls text[] NOT NULL,
    document jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT version_metadata_pkey PRIMARY KEY (post_version_id, platform),
    CONSTRAINT version_metadata_post_version_id_fkey FOREIGN KEY(post_version_id) REFERENCES post_version (id) ON DELETE CASCADE,
    CONSTRAINT version_metadata_server_html_hash_fkey FOREIGN KEY(server_html_hash) REFERENCES html_blob (html_hash),
    CONSTRAINT version_metadata_client_html_hash_fkey FOREIGN KEY(client_html_hash) REFERENCES html_blob (html_hash)
) PARTITION BY LIST (platform);
COMMENT ON TABLE version_metadata IS 'What a site says about a version, or a reader while it is silent; `document` is checked by its platform';

-- A table for each platform is what the requirements ask for; the rows of a later one lie in the last.
CREATE TABLE version_metadata_lesswrong PARTITION OF version_metadata FOR VALUES IN ('LESSWRONG');
CREATE TABLE version_metadata_x PARTITION OF version_metadata FOR VALUES IN ('X');
CREATE TABLE version_metadata_substack PARTITION OF version_metadata FOR VALUES IN ('SUBSTACK');
CREATE TABLE version_metadata_wikipedia PARTITION OF version_metadata FOR VALUES IN ('WIKIPEDIA');
CREATE TABLE version_metadata_other PARTITION OF version_metadata DEFAULT;
ALTER TABLE version_metadata_lesswrong ADD CONSTRAINT version_metadata_lesswrong_html_check
    CHECK (num_nonnulls(server_html_hash, client_html_hash) > 0);
GRANT SELECT ON version_metadata TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON version_metadata TO errata_projector;

CREATE FUNCTION pg_temp.moment(at timestamptz) RETURNS text LANGUAGE sql AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
INSERT INTO version_metadata SELECT post_version_id, 'LESSWRONG', server_html_hash, client_html_hash, image_urls,
    jsonb_strip_nulls(jsonb_build_object('slug', slug, 'title', title, 'karma', karma, 'author_name', author_name,
        'author_slug', author_slug, 'tags', tags, 'published_at', pg_temp.moment(published_at))), created_at
    FROM lesswrong_version_meta;
INSERT INTO version_metadata SELECT post_version_id, 'X', NULL, NULL, '{}',
    jsonb_strip_nulls(jsonb_build_object('tweet_id', tweet_id, 'text', text, 'author_handle', author_handle,
        'author_display_name', author_display_name, 'media_urls', media_urls, 'like_count', like_count,
        'retweet_count', retweet_count, 'posted_at', pg_temp.moment(posted_at))), created_at
    FROM x_version_meta;
INSERT INTO version_metadata SELECT post_version_id, 'SUBSTACK', server_html_hash, client_html_hash, image_urls,
    jsonb_strip_nulls(jsonb_build_object('substack_post_id', substack_post_id,
        'publication_subdomain', publication_subdomain, 'slug', slug, 'title', title, 'subtitle', subtitle,
        'author_name', author_name, 'author_substack_handle', author_substack_handle,
        'published_at', pg_temp.moment(published_at), 'like_count', like_count,
        'comment_count', comment_count)), created_at
    FROM substack_version_meta;
INSERT INTO version_metadata SELECT post_version_id, 'WIKIPEDIA', server_html_hash, client_html_hash, image_urls,
    jsonb_strip_nulls(jsonb_build_object('page_id', page_id, 'language', language, 'title', title,
        'display_title', display_title, 'revision_id', revision_id,
        'last_modified_at', pg_temp.moment(last_modified_at))), created_at
    FROM wikipedia_version_meta;
DROP FUNCTION pg_temp.moment(timestamptz);
DROP TABLE lesswrong_version_meta, x_version_meta, substack_version_meta, wikipedia_version_meta;

-- The first HTML of a reader stays; the site's own may be replaced but not removed, and its word alone replaces words.
CREATE TRIGGER html_stays BEFORE UPDATE ON version_metadata FOR EACH ROW
    WHEN ((old.post_version_id, old.platform, old.created_at)
            IS DISTINCT FROM (new.post_version_id, new.platform, new.created_at)
        OR (old.client_html_hash IS NOT NULL AND new.client_html_hash IS DISTINCT FROM old.client_html_hash)
        OR (old.server_html_hash IS NOT NULL AND new.server_html_hash IS NULL)
        OR (new.server_html_hash IS NULL AND new.document IS DISTINCT FROM old.document))
    EXECUTE FUNCTION refuse_change();

CREATE OR REPLACE FUNCTION require_server_html() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM version_metadata WHERE post_version_id = new.id AND server_html_hash IS NOT NULL) THEN
        RAISE EXCEPTION 'version % is verified but the page of its site is not kept', new.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
