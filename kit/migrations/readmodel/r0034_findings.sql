CREATE TABLE finding_state (
    claim_id UUID NOT NULL,
    investigation_id UUID NOT NULL,
    state TEXT NOT NULL,
    cause TEXT NOT NULL,
    note TEXT NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT finding_state_pkey PRIMARY KEY (claim_id),
    CONSTRAINT finding_state_state_check CHECK (state IN ('SUSPENDED', 'RELEASED', 'RETRACTED')),
    CONSTRAINT finding_state_cause_check
        CHECK (cause IN ('APPEAL', 'REVIEW', 'CONTROL', 'SOURCE_CHANGED', 'OPERATOR')),
    CONSTRAINT finding_state_claim_id_fkey FOREIGN KEY(claim_id) REFERENCES claim (id) ON DELETE CASCADE,
    CONSTRAINT finding_state_investigation_id_fkey FOREIGN KEY(investigation_id) REFERENCES investigation (id)
);
CREATE INDEX finding_state_investigation_id_idx ON finding_state (investigation_id);
CREATE INDEX finding_state_newest_idx ON finding_state (changed_at DESC, claim_id DESC);
COMMENT ON TABLE finding_state IS 'What became of published claims that were suspended or retracted at some time. `sequence` is that of the newest event';
GRANT SELECT ON finding_state TO errata_reader, errata_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON finding_state TO errata_projector;
-- A label ends with its finding, whose words the curator does not see.
GRANT SELECT (investigation_id) ON finding_state TO errata_curator;

ALTER TABLE investigation_doc ADD COLUMN withdrawn jsonb NOT NULL DEFAULT '[]';
ALTER TABLE investigation_doc ALTER COLUMN withdrawn DROP DEFAULT;
COMMENT ON TABLE investigation_doc IS 'One row for each COMPLETE investigation, ready to send; only `finding_state` changes it. `claims`: [{id, text, context, summary, reasoning, sources: [{url, title, snippet}]}], those that stand; `claim_count`: how many; `withdrawn`: those that are suspended or retracted';
DROP TRIGGER immutable ON investigation_doc;
CREATE TRIGGER immutable BEFORE UPDATE ON investigation_doc FOR EACH ROW
    WHEN ((new.investigation_id, new.post_version_id, new.analysis, new.provenance, new.checked_at)
        IS DISTINCT FROM (old.investigation_id, old.post_version_id, old.analysis, old.provenance, old.checked_at))
    EXECUTE FUNCTION refuse_change();

-- A document follows the findings that stand as well as its heading, and counts follow the document.
DROP TRIGGER immutable ON search_document;
CREATE TRIGGER immutable BEFORE UPDATE ON search_document FOR EACH ROW
    WHEN ((new.investigation_id, new.post_id, new.platform, new.checked_at, new.bucket)
        IS DISTINCT FROM (old.investigation_id, old.post_id, old.platform, old.checked_at, old.bucket))
    EXECUTE FUNCTION refuse_change();
-- Days are counted anew only for posts of which a document has got, or lost, all its findings: most updates are of
-- headings, in batches that cannot wait.
CREATE FUNCTION count_days(touched uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
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
END $$;
CREATE OR REPLACE FUNCTION tally_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_days(array(SELECT DISTINCT post_id FROM changed));
    RETURN NULL;
END $$;
CREATE FUNCTION tally_days_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched uuid[] := array(SELECT DISTINCT n.post_id FROM before o JOIN changed n USING (investigation_id)
        WHERE (o.claim_count > 0) <> (n.claim_count > 0));
BEGIN
    IF touched <> '{}' THEN
        PERFORM count_days(touched);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_days_move AFTER UPDATE ON search_document REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION tally_days_moved();
