CREATE TABLE publisher (
    id UUID NOT NULL,
    domain TEXT NOT NULL,
    name TEXT,
    type TEXT NOT NULL,
    correction_policy INTEGER,
    editorial_standards INTEGER,
    bias_transparency INTEGER,
    longevity INTEGER,
    corrections_count INTEGER,
    correction_frequency FLOAT(53),
    set_score INTEGER,
    rated_sequence BIGINT NOT NULL,
    epoch INTEGER NOT NULL,
    track_record_score FLOAT(53),
    accuracy FLOAT(53),
    correct INTEGER NOT NULL,
    total INTEGER NOT NULL,
    correct_weight INTEGER NOT NULL,
    total_weight INTEGER NOT NULL,
    total_citations INTEGER NOT NULL,
    claim_count INTEGER NOT NULL,
    why TEXT,
    last_updated TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT publisher_pkey PRIMARY KEY (id),
    CONSTRAINT publisher_why_check CHECK (why IN ('INITIAL', 'COMPUTED', 'SET'))
)
 WITH (fillfactor = 70);
CREATE UNIQUE INDEX publisher_domain_idx ON publisher (domain);
COMMENT ON TABLE publisher IS 'A publisher of cited sources as its newest score and its newest rating leave it. `total` citations were judged, of `total_citations`; `sequence` is of the newest score, 0: it has none yet';

CREATE TABLE publisher_score (
    publisher_id UUID NOT NULL,
    epoch INTEGER NOT NULL,
    score FLOAT(53) NOT NULL,
    accuracy FLOAT(53) NOT NULL,
    correct INTEGER NOT NULL,
    total INTEGER NOT NULL,
    why TEXT NOT NULL,
    scored_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT publisher_score_pkey PRIMARY KEY (publisher_id, epoch),
    CONSTRAINT publisher_score_why_check CHECK (why IN ('INITIAL', 'COMPUTED', 'SET'))
);
COMMENT ON TABLE publisher_score IS 'A publisher''s score in an epoch; in an epoch without a row the one before it counts';

CREATE TABLE publisher_rating (
    publisher_id UUID NOT NULL,
    sequence BIGINT NOT NULL,
    type TEXT NOT NULL,
    correction_policy INTEGER,
    editorial_standards INTEGER,
    bias_transparency INTEGER,
    longevity INTEGER,
    score INTEGER,
    reason TEXT NOT NULL,
    rated_by UUID NOT NULL,
    rated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT publisher_rating_pkey PRIMARY KEY (publisher_id, sequence),
    CONSTRAINT publisher_rating_reason_check CHECK (reason IN ('FIRST_RATING', 'MONTHLY_AUDIT', 'POLICY_CHANGED', 'OWNER_CHANGED', 'COMPLAINT', 'MISTAKE'))
);
CREATE INDEX publisher_rating_rated_at_idx ON publisher_rating (rated_at);
COMMENT ON TABLE publisher_rating IS 'What people said of a publisher; the newest one before an epoch''s end of ratings counts in it';

CREATE TABLE score_epoch (
    epoch INTEGER NOT NULL,
    publishers INTEGER NOT NULL,
    closed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence BIGINT NOT NULL,
    CONSTRAINT score_epoch_pkey PRIMARY KEY (epoch)
);
COMMENT ON TABLE score_epoch IS 'An ISO week whose scores are all stored: 100 times its year plus its number';

CREATE INDEX analysis_analysed_at_idx ON analysis (analysed_at);

GRANT SELECT ON publisher, publisher_score, publisher_rating, score_epoch TO errata_reader, errata_operator, errata_curator;
GRANT SELECT, INSERT, UPDATE, DELETE ON publisher, publisher_score, publisher_rating, score_epoch TO errata_projector;

-- The curator counts citations and what became of their claims; it sees no words of either.
GRANT SELECT (id, assertion_id, rollup, recommended, analysed_at, invalidated_at) ON analysis TO errata_curator;
GRANT SELECT (analysis_id, place, publisher_id, domain, scenario, supports, family) ON citation TO errata_curator;
GRANT SELECT (job_id, assertion_id, central) ON job_claim TO errata_curator;
GRANT SELECT (id, created_at) ON job TO errata_curator;
