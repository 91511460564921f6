"""Declared breakings of important behaviour, each with the tests nearest to it, and a runner that expects a failure."""
