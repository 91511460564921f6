-- The curator records as an edit that a claim was analysed again; it sees no words of edits.
GRANT SELECT (entry_id, entity_id) ON edit TO errata_curator;
