"""Tests, by what they need: nothing (unit, contract, architecture), real servers (integration), all services (e2e)."""
