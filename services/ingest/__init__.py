"""Derives the version of a post from an observation and the site's own page."""
