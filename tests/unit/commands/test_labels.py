"""`openerrata labels describe`: what an operator copies, without the secret."""

from __future__ import annotations

import json
from typing import Final

import pytest
from click.testing import CliRunner

from kit.settings import LabelerSettings, SettingsError, load
from platforms.atproto.labels import LabelKey
from services.__main__ import main
from services.gateway.labels import Labeler
from tests.support.repositories import DID

SECRET: Final = "1f" * 32
SETTINGS: Final = {
    "OPENERRATA_LABELER_DID": DID,
    "OPENERRATA_LABELER_KEY": SECRET,
    "OPENERRATA_GATEWAY_PUBLIC_URL": "https://errata.example/",
}


def test_it_prints_the_parts_of_the_document_and_the_record() -> None:
    done = CliRunner().invoke(main, ["labels", "describe"], env=SETTINGS)
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output
    found = json.loads(done.output)
    assert found["document"] == {
        "verificationMethod": {
            "id": f"{DID}#atproto_label",
            "type": "Multikey",
            "controller": DID,
            "publicKeyMultibase": LabelKey.parse(SECRET).multibase,
        },
        "service": {"id": "#atproto_labeler", "type": "AtprotoLabeler", "serviceEndpoint": "https://errata.example"},
    }
    (definition,) = found["app.bsky.labeler.service/self"]["policies"]["labelValueDefinitions"]
    assert {name: definition[name] for name in ("identifier", "severity", "blurs", "defaultSetting")} == {
        "identifier": "erratum",
        "severity": "inform",
        "blurs": "none",
        "defaultSetting": "warn",
    }
    assert [each["lang"] for each in definition["locales"]] == ["en", "de"]


@pytest.mark.parametrize("missing", SETTINGS)
def test_it_names_what_is_missing(missing: str) -> None:
    done = CliRunner().invoke(main, ["labels", "describe"], env={**SETTINGS, missing: None})
    assert (done.exit_code, done.output) == (1, f"Error: set {missing} first\n")


@pytest.mark.requirement("FS-57")
def test_half_a_labeler_is_refused_and_none_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """FS-57: The labeler is off until the operator gives it a DID and a key"""
    assert Labeler.of(load(LabelerSettings)) is None
    monkeypatch.setenv("OPENERRATA_LABELER_KEY", SECRET)
    with pytest.raises(SettingsError, match="both or none"):
        Labeler.of(load(LabelerSettings))
    monkeypatch.setenv("OPENERRATA_LABELER_DID", DID)
    assert Labeler.of(load(LabelerSettings)) is not None
    monkeypatch.setenv("OPENERRATA_LABELER_KEY", "f" * 64)
    with pytest.raises(SettingsError, match="64 hexadecimal digits") as refused:
        Labeler.of(load(LabelerSettings))
    assert "ffff" not in str(refused.value)
    monkeypatch.setenv("OPENERRATA_LABELER_DID", "errata.example")
    with pytest.raises(SettingsError, match="OPENERRATA_LABELER_DID"):
        load(LabelerSettings)
