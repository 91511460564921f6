-- Moderators see what an objection to a claim says, and the claim that it is about.
ALTER TABLE flag ADD COLUMN claim_sha256 text;
COMMENT ON TABLE flag IS 'An objection and what was decided; the words of people while they are kept';
CREATE INDEX assertion_canonical_sha256_idx ON assertion (canonical_sha256);
