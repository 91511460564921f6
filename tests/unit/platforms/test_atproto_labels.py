"""Labels as bytes: another implementation reads and verifies them, and they are the same each time."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import coincurve
import libipld
import pytest

from platforms.atproto.did import K256_ORDER, parse_key
from platforms.atproto.labels import Label, LabelKey, encode_error, encode_labels, to_json
from tests.support.repositories import DID

SECRET: Final = "1f" * 32
KEY: Final = LabelKey.parse(SECRET)
LABEL: Final = Label(
    src=DID,
    uri=f"at://{DID}/app.bsky.feed.post/3l6oveex3ii2l",
    cid="b" + "a" * 58,
    val="erratum",
    neg=False,
    cts=datetime(2026, 11, 24, 12, 0, 0, 125_999, tzinfo=UTC),
    exp=datetime(2026, 12, 24, 13, tzinfo=timezone(timedelta(hours=1))),
)


@pytest.mark.requirement("FS-55")
def test_another_implementation_verifies_every_signature() -> None:
    """FS-55: A published finding on a pinned record may be issued as a signed label"""
    public = coincurve.PrivateKey(bytes.fromhex(SECRET)).public_key
    for number in range(64):
        signed = replace(LABEL, val=f"erratum-{number}".translate(str.maketrans("0123456789", "abcdefghij"))).sign(KEY)
        sig = signed.pop("sig")
        assert isinstance(sig, bytes)
        assert int.from_bytes(sig[32:]) <= K256_ORDER // 2
        der = coincurve.ecdsa.cdata_to_der(coincurve.ecdsa.deserialize_compact(sig))
        data = libipld.encode_dag_cbor(signed)
        assert public.verify(der, data)
        assert not public.verify(der, data + b"\0")
        nonce_of_rfc_6979 = coincurve.PrivateKey(bytes.fromhex(SECRET)).sign(hashlib.sha256(data).digest(), hasher=None)
        assert nonce_of_rfc_6979 == der, "RFC 6979 gives one signature"


@pytest.mark.parametrize("secret", ["", "01", SECRET[:-2], f"{SECRET}00", "no key"])
def test_what_is_no_whole_key_signs_nothing(secret: str) -> None:
    with pytest.raises(ValueError, match=r"bytes|hexadecimal"):
        LabelKey.parse(secret)


def test_a_label_has_the_fields_of_the_specification() -> None:
    signed = LABEL.sign(KEY)
    assert {name: value for name, value in signed.items() if name != "sig"} == {
        "ver": 1,
        "src": DID,
        "uri": LABEL.uri,
        "cid": LABEL.cid,
        "val": "erratum",
        "cts": "2026-11-24T12:00:00.125Z",
        "exp": "2026-12-24T12:00:00.000Z",
    }
    assert replace(LABEL, neg=True).sign(KEY)["neg"] is True
    assert LABEL.sign(KEY) == signed
    assert str(to_json(signed)["sig"]).startswith("{'$bytes': '")


def test_frames_are_read_by_another_implementation() -> None:
    signed = LABEL.sign(KEY)
    assert libipld.decode_dag_cbor_multi(encode_labels(7, [signed])) == [
        {"op": 1, "t": "#labels"},
        {"seq": 7, "labels": [signed]},
    ]
    assert libipld.decode_dag_cbor_multi(encode_error("FutureCursor", "too far")) == [
        {"op": -1},
        {"error": "FutureCursor", "message": "too far"},
    ]


def test_the_public_key_is_what_a_did_document_has() -> None:
    found = parse_key(KEY.multibase)
    assert found.curve == "K-256"
    signed = LABEL.sign(KEY)
    sig = signed.pop("sig")
    assert isinstance(sig, bytes)
    assert found.verifies(sig, libipld.encode_dag_cbor(signed))


@pytest.mark.parametrize("wrong", ["", "zz" * 32, "00" * 32, "ff" * 32, "1f" * 33])
def test_what_is_no_key_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        LabelKey.parse(wrong)


def test_a_key_does_not_show_its_secret() -> None:
    assert SECRET not in repr(KEY)
    assert str(int(SECRET, 16)) not in repr(KEY)
