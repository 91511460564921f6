"""Keys: their spelling, what they sign, and what is no signature of theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.tlogs import LOG_KEY, NOW, ORIGIN, ExampleLog, leaf_hashes, signing_key
from tlog.errors import MalformedError, SignatureError
from tlog.keys import Algorithm, SigningKey, VerifierKey, verify_note
from tlog.note import Note, Signature

GO_SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
GO_LINE = (
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
)
TEXT = str(ExampleLog(leaf_hashes(5)).checkpoint(5))
ALGORITHMS = list(Algorithm)


def time_of(algorithm: Algorithm) -> int | None:
    """The time that a signature of this kind states."""
    return None if algorithm is Algorithm.ED25519 else NOW


def test_signs_as_the_notes_of_go_do() -> None:
    """The example key of golang.org/x/mod/sumdb/note, its text and its signature."""
    key, verifier = SigningKey.parse(GO_SKEY), VerifierKey.parse(GO_VKEY)
    assert key.verifier == verifier
    assert str(key.sign(GO_TEXT)) == GO_LINE
    assert verifier.verify(GO_TEXT, Signature.parse(GO_LINE)) is None
    assert (str(verifier), key.secret()) == (GO_VKEY, GO_SKEY)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_keys_are_read_as_they_are_written(algorithm: Algorithm) -> None:
    """A key in a file is the same key; a secret is in no representation of it."""
    key = signing_key("name.example/k", algorithm)
    assert SigningKey.parse(key.secret()) == key
    assert VerifierKey.parse(str(key.verifier)) == key.verifier
    assert key.seed.hex() not in repr(key)
    assert repr(key.seed) not in repr(key)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_verifies_what_it_signed_and_nothing_else(algorithm: Algorithm) -> None:
    """Another bit, text, time, name or key is no signature."""
    key = signing_key("name.example/k", algorithm)
    signed = key.sign(TEXT, time_of(algorithm))
    assert len(signed.value) == algorithm.signature_bytes
    assert key.verifier.verify(TEXT, signed) == time_of(algorithm)
    other = TEXT.replace("\n5\n", "\n6\n")
    with pytest.raises(SignatureError):
        key.verifier.verify(other, signed)
    for at in {*range(9), *range(9, len(signed.value), 97), len(signed.value) - 1}:
        value = bytearray(signed.value)
        value[at] ^= 1
        with pytest.raises(SignatureError):
            key.verifier.verify(TEXT, replace(signed, value=bytes(value)))
    for wrong in (signed.value[:-1], signed.value + b"\0"):
        with pytest.raises(SignatureError):
            key.verifier.verify(TEXT, replace(signed, value=wrong))
    with pytest.raises(SignatureError):
        key.verifier.verify(TEXT, replace(signed, name="other.example/k"))
    for stranger in (signing_key("name.example/k", algorithm, "other"), signing_key("other.example/k", algorithm)):
        with pytest.raises(SignatureError):
            stranger.verifier.verify(TEXT, signed)
        forged = replace(signed, name=stranger.name, key_id=stranger.verifier.key_id)
        with pytest.raises(SignatureError):
            stranger.verifier.verify(TEXT, forged)


def test_cosignatures_say_what_the_specification_says() -> None:
    """The message of `cosignature/v1`, and that of `subtree/v1`, which has no extension lines."""
    cosigner = signing_key("w.example/1", Algorithm.COSIGNATURE)
    plain = SigningKey(cosigner.name, Algorithm.ED25519, cosigner.seed)
    signed = cosigner.sign(TEXT, NOW)
    assert signed.value == NOW.to_bytes(8, "big") + plain.sign(f"cosignature/v1\ntime {NOW}\n{TEXT}").value
    post_quantum = signing_key("w.example/1", Algorithm.ML_DSA_44)
    line = post_quantum.sign(TEXT, NOW)
    assert post_quantum.verifier.verify(f"{TEXT}extension\n", line) == NOW


@pytest.mark.parametrize("algorithm", [Algorithm.COSIGNATURE, Algorithm.ML_DSA_44])
def test_only_checkpoints_are_cosigned(algorithm: Algorithm) -> None:
    """A witness cannot be made to sign another text, or without a time."""
    key = signing_key("w.example/1", algorithm)
    with pytest.raises(MalformedError):
        key.sign("anything\n", NOW)
    with pytest.raises(ValueError):
        key.sign(TEXT)
    with pytest.raises(ValueError):
        LOG_KEY.sign(TEXT, NOW)
    line = key.sign(TEXT, NOW)
    with pytest.raises(SignatureError):
        key.verifier.verify(TEXT, replace(line, value=b"\xff" * 8 + line.value[8:]))


@pytest.mark.parametrize("skey", ["", GO_VKEY, GO_SKEY[:-1], GO_SKEY[:-4], GO_SKEY.replace("c74f20a3", "c74f20a4")])
def test_a_refused_private_key_is_not_quoted(skey: str) -> None:
    """Messages are logged; no part of a key may be."""
    with pytest.raises(MalformedError) as caught:
        SigningKey.parse(skey)
    assert "AYEK" not in str(caught.value)


def test_unknown_keys_are_ignored_and_known_ones_must_verify() -> None:
    """A line of a stranger changes nothing; a bad line of a known key makes the note void."""
    good, stranger = LOG_KEY.sign(TEXT), signing_key("stranger.example").sign("else\n")
    same_name = signing_key(ORIGIN, salt="other").sign("else\n")
    verified = verify_note(Note(TEXT, (stranger, good, same_name)), [LOG_KEY.verifier])
    assert [each.signature for each in verified] == [good]
    with pytest.raises(SignatureError):
        verify_note(Note(TEXT, (stranger, same_name)), [LOG_KEY.verifier])
    with pytest.raises(SignatureError):
        verify_note(Note(TEXT, (good, replace(good, value=bytes(64)))), [LOG_KEY.verifier])
