"""Which key signs receipts, and that it is the standard's."""

from __future__ import annotations

from pathlib import Path

import pytest
from joserfc.jwk import OKPKey
from pydantic import SecretStr

from kit.receipts import ReceiptKey, choose_key
from kit.settings import SettingsError
from kit.vault import MasterKey


def test_a_key_is_named_by_its_thumbprint() -> None:
    public = ReceiptKey(bytes(range(32))).public
    other = OKPKey.import_key({"kty": public.kty, "crv": public.crv, "x": public.x})
    assert public.kid == other.thumbprint()


def test_the_setting_beats_the_data_folder_which_keeps_its_key(tmp_path: Path) -> None:
    given = MasterKey.generate()
    kept = choose_key(None, tmp_path).public
    assert choose_key(SecretStr(str(given)), tmp_path).public == ReceiptKey(given.secret).public
    assert choose_key(SecretStr(""), tmp_path).public == kept
    assert choose_key(None, None).public != choose_key(None, None).public, "each process makes its own"


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(SettingsError, match="OPENERRATA_AUDITOR_RECEIPT_KEY: a master key has 32 bytes"):
        choose_key(SecretStr("c2hvcnQ"), None)
