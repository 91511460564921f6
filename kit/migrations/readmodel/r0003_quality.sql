-- How well audits and the catalogue do, by the hour, and what goes wrong, by the week.

CREATE TABLE quality_metric (
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    hour TIMESTAMP WITH TIME ZONE NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    target DOUBLE PRECISION,
    at_most BOOLEAN NOT NULL,
    n INTEGER NOT NULL,
    CONSTRAINT quality_metric_pkey PRIMARY KEY (type, category, hour)
);
COMMENT ON TABLE quality_metric IS 'A metric over the 24 hours before `hour`; `value` should reach `target`, or stay below it if `at_most`';

CREATE TABLE quality_day (
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    day TIMESTAMP WITH TIME ZONE NOT NULL,
    samples INTEGER NOT NULL,
    mean DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION NOT NULL,
    high DOUBLE PRECISION NOT NULL,
    missed INTEGER NOT NULL,
    CONSTRAINT quality_day_pkey PRIMARY KEY (type, category, day)
);
COMMENT ON TABLE quality_day IS 'A metric''s samples of a day two years ago, in their place; `missed` were beyond their target';

CREATE TABLE error_pattern (
    id UUID NOT NULL,
    category TEXT NOT NULL,
    root_cause TEXT NOT NULL,
    claim_id UUID,
    frequency INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    status TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    fixed_at TIMESTAMP WITH TIME ZONE,
    sequence BIGINT NOT NULL,
    CONSTRAINT error_pattern_pkey PRIMARY KEY (id),
    CONSTRAINT error_pattern_status_check CHECK (status IN ('OPEN', 'FIXED')),
    CONSTRAINT error_pattern_fixed_check CHECK ((status = 'FIXED') = (fixed_at IS NOT NULL))
);
COMMENT ON TABLE error_pattern IS 'A cause of errors as its newest week left it, with its `frequency`; `claim_id` names an assertion of it';

GRANT SELECT ON quality_metric, quality_day, error_pattern TO errata_reader, errata_operator, errata_curator;
GRANT SELECT, INSERT, UPDATE, DELETE ON quality_metric, quality_day, error_pattern TO errata_projector;

-- The curator counts; it sees neither accounts nor articles.
GRANT SELECT (status, code, ended_at) ON job TO errata_curator;
GRANT SELECT (outcome) ON job_claim TO errata_curator;
GRANT SELECT (reason, completed_at, cost_micro_usd) ON run_attempt TO errata_curator;
GRANT SELECT (missing, unavailable, not_looked_up) ON analysis TO errata_curator;
GRANT SELECT (issue_type, resolved_at) ON flag TO errata_curator;

CREATE INDEX job_ended_idx ON job (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX run_attempt_failed_idx ON run_attempt (completed_at) WHERE outcome = 'FAILED';
