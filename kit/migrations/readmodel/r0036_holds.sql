-- How long a claim is held depends on how many read its post.
GRANT SELECT (id, requested_by) ON investigation TO errata_curator;
GRANT SELECT (id, unique_view_score) ON post TO errata_curator;
GRANT SELECT (post_id, bucket_day) ON post_view_credit TO errata_curator;
