ALTER TABLE author ADD COLUMN confirmed boolean NOT NULL DEFAULT false;
ALTER TABLE post ADD COLUMN confirmed boolean NOT NULL DEFAULT false;

UPDATE post SET confirmed = true WHERE EXISTS (
    SELECT FROM post_version v
    WHERE v.post_id = post.id AND v.server_verified_at IS NOT NULL AND post.platform <> 'X'
);
