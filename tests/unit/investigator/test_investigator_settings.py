"""What an operator says about runs is what runs are told."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kit.models.base import Limits
from kit.settings import SettingsError, load
from kit.web import CONTACT_URL
from kit.web.contact import warn_of_no_contact
from services.investigator.settings import InvestigatorSettings
from services.validator.settings import ValidatorSettings
from services.verifier.settings import VerifierSettings


def test_without_a_word_runs_are_limited_in_rounds_and_claims_alone() -> None:
    limits = Limits(rounds=150, tokens=None, cost_micro_usd=None, decisions={"submit_correction": 50})
    assert load(InvestigatorSettings).limits == limits


def test_limits_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ROUNDS", "7"), ("TOKENS", "90000"), ("COST_USD", "0.35"), ("SUBMISSIONS", "3")):
        monkeypatch.setenv(f"OPENERRATA_INVESTIGATOR_MAX_{name}", value)
    assert load(InvestigatorSettings).limits == Limits(7, 90_000, 350_000, {"submit_correction": 3})


@pytest.mark.parametrize(("name", "value"), [("ROUNDS", "0"), ("TOKENS", "0"), ("COST_USD", "0"), ("COST_USD", "much")])
def test_limits_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"OPENERRATA_INVESTIGATOR_MAX_{name}", value)
    with pytest.raises(SettingsError, match=f"OPENERRATA_INVESTIGATOR_MAX_{name}"):
        load(InvestigatorSettings)


def test_hosts_are_told_whom_to_complain_to() -> None:
    assert load(InvestigatorSettings).contact_url == load(VerifierSettings).contact_url == CONTACT_URL
    assert CONTACT_URL.startswith("https://")


def test_who_names_no_contact_is_found_at_the_instances_public_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENERRATA_GATEWAY_PUBLIC_URL", "")
    assert load(VerifierSettings).contact_url == CONTACT_URL
    monkeypatch.setenv("OPENERRATA_GATEWAY_PUBLIC_URL", "https://errata.example")
    assert load(InvestigatorSettings).contact_url == "https://errata.example"
    assert load(ValidatorSettings).contact_url == "https://errata.example"
    assert load(VerifierSettings).contact_url == "https://errata.example"
    monkeypatch.setenv("OPENERRATA_VERIFIER_CONTACT_URL", "https://me.example")
    assert load(VerifierSettings).contact_url == "https://me.example"


def test_a_start_without_a_contact_warns() -> None:
    with capture_logs() as told:
        warn_of_no_contact("VERIFIER", "https://me.example")
        assert told == []
        warn_of_no_contact("VERIFIER", CONTACT_URL)
    assert [line["set"] for line in told] == ["OPENERRATA_VERIFIER_CONTACT_URL or OPENERRATA_GATEWAY_PUBLIC_URL"]
