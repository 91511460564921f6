"""Asks the site itself what a post says."""
