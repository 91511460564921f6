"""Fakes, factories and real servers for the tests; plain modules."""
