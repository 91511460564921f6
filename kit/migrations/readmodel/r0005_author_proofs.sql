-- An appeal can claim to be the author's; the newest attempt to prove it stands beside it.
ALTER TABLE appeal ADD COLUMN by_author boolean NOT NULL DEFAULT false, ADD COLUMN proof text,
    ADD CONSTRAINT appeal_proof_check CHECK (proof IN ('PROVEN', 'NO_TOKEN', 'OTHER_AUTHOR', 'EXPIRED', 'UNAVAILABLE'));
ALTER TABLE appeal ALTER COLUMN by_author DROP DEFAULT;
COMMENT ON TABLE appeal IS 'An objection to a result. `claims` are the ids of the findings that it names; no `outcome`: it is open. `sequence` is that of its opening. `by_author`: it claims to be the author''s, and is so if `proof` is PROVEN; else that is the outcome of the newest attempt';
