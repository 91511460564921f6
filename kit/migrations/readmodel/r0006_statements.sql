-- Authors who are proven can say something in public beside a finding.
ALTER TABLE appeal ADD COLUMN statement text;
COMMENT ON TABLE appeal IS 'An objection to a result. `claims` are the ids of the findings that it names; no `outcome`: it is open. `sequence` is that of its opening. `by_author`: it claims to be the author''s, and is so if `proof` is PROVEN; else that is the outcome of the newest attempt. `statement` is public from then on, unless it is REFUSED';
