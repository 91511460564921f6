"""The public pages of the record, without accounts and scripts."""
