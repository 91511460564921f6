-- Names of sources by what they begin with.
CREATE INDEX publisher_names_idx ON publisher (domain text_pattern_ops);
