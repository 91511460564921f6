"""What an operator says about runs is what runs are told."""

from __future__ import annotations

import pytest

from kit.models.base import Limits
from kit.settings import SettingsError, load
from kit.web import CONTACT_URL
from services.investigator.settings import InvestigatorSettings
from services.verifier.settings import VerifierSettings


def test_without_a_word_runs_are_limited_in_rounds_and_claims_alone() -> None:
    limits = Limits(rounds=150, tokens=None, cost_micro_usd=None, submissions=50)
    assert load(InvestigatorSettings).limits == limits


def test_limits_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", "7"), ("TOKENS", "90000"), ("COST_USD", "0.35"), ("SUBMISSIONS", "3")):
        monkeypatch.setenv(f"OPENERRATA_INVESTIGATOR_MAX_{name}", value)
    assert load(InvestigatorSettings).limits == Limits(rounds=7, tokens=90_000, cost_micro_usd=350_000, submissions=3)


@pytest.mark.parametrize(("name", "value"), [("ROUNDS", "0"), ("TOKENS", "0"), ("COST_USD", "0"), ("COST_USD", "much")])
def test_limits_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"OPENERRATA_INVESTIGATOR_MAX_{name}", value)
    with pytest.raises(SettingsError, match=f"OPENERRATA_INVESTIGATOR_MAX_{name}"):
        load(InvestigatorSettings)


def test_hosts_are_told_whom_to_complain_to() -> None:
    assert load(InvestigatorSettings).contact_url == load(VerifierSettings).contact_url == CONTACT_URL
    assert CONTACT_URL.startswith("https://")
