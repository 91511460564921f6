"""The desk: pages without scripts, on which accounts see their jobs and moderators decide about the catalogue."""
