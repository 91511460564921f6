"""Webhooks and receipts are verified by the client's own code over other libraries than the server signs with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import OKPKey

from contracts.jobs.receipts import PublicKeys as ServerKeys
from kit.receipts import ReceiptKey
from kit.webhooks import sign
from openerrata_client import ReceiptError, WebhookError, verify_receipt, verify_webhook
from openerrata_client.results import read_result
from openerrata_client.types import PublicKeys
from tests.support.assessing import ISSUER, KEY
from tests.support.job_answers import result_of

JOB = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OLD, NEW = "whsec_b2xkIHNlY3JldCBvZiBhbGljZQ==", "whsec_bmV3IHNlY3JldCBvZiBhbGljZQ=="
BODY = json.dumps(
    {"type": "job.succeeded", "timestamp": "2026-12-01T10:00:00Z", "data": {"job_id": JOB, "new": 1}, "more": True}
).encode()


def message(*secrets: str, body: bytes = BODY, at: float | None = None) -> Mapping[str, str]:
    sent_at = int(time.time() if at is None else at)
    signatures = " ".join(sign(secret, "msg_1", sent_at, body) for secret in secrets)
    return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(sent_at), "Webhook-Signature": signatures}


@pytest.mark.requirement("FH-159")
@pytest.mark.parametrize("secrets", [OLD, [OLD], [NEW, OLD]], ids=["one", "list", "rotation"])
def test_a_message_of_the_server_is_verified(secrets: Any) -> None:  # one secret, or a list of them
    """FH-159: A webhook is sent once, signed, and repeated until it is received."""
    found = verify_webhook(message(OLD), BODY, secrets)
    assert (found.id, found.type, found.job_id) == ("msg_1", "job.succeeded", JOB)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (message(NEW), BODY),
        (message(OLD), BODY.replace(b"succeeded", b"failed")),
        (message(OLD, at=time.time() - 600), BODY),
        (message(OLD, at=time.time() + 86_400), BODY),
        ({**message(OLD), "Webhook-Id": "msg_2"}, BODY),
        ({**message(OLD), "Webhook-Signature": "v1"}, BODY),
        ({**message(OLD), "Webhook-Signature": "v1,ä"}, BODY),
        ({**message(OLD), "Webhook-Timestamp": "soon"}, BODY),
        (message(OLD), b"\xff"),
        (message(OLD, body=b"[1]"), b"[1]"),
        (message(OLD, body=b"{}"), b"{}"),
        ({}, BODY),
    ],
)
def test_no_other_message_is(headers: Mapping[str, str], body: bytes) -> None:
    with pytest.raises(WebhookError):
        verify_webhook(headers, body, [OLD])


@pytest.mark.parametrize("empty", ["", "whsec_"])
def test_an_empty_secret_signs_nothing(empty: str) -> None:
    assert verify_webhook(message(OLD), BODY, [empty, OLD]).job_id == JOB
    with pytest.raises(WebhookError):
        verify_webhook(message(empty), BODY, [OLD, empty])


def keys(*found: ReceiptKey) -> PublicKeys:
    return PublicKeys.read(ServerKeys(keys=tuple(each.public for each in found)).model_dump_json())


OTHER = ReceiptKey(bytes(32))


@pytest.mark.requirement("FH-162")
def test_the_receipt_of_a_result_is_verified() -> None:
    """FH-162: A result carries a signed receipt."""
    result = result_of(JOB)
    receipt = verify_receipt(result, keys(OTHER, KEY))
    assert (receipt.issuer, receipt.job_id, receipt.rules) == (ISSUER, JOB, receipt.rules)
    assert [each.stage for each in receipt.models] == ["stage1", "stage2", "stage2", "stage3"]
    assert receipt.claims[0].label == "Highly Likely"
    read = read_result(json.dumps(result, indent=3).encode())
    assert verify_receipt(read, keys(KEY)) == receipt
    other = jws.deserialize_compact(result["receipt"], OKPKey.import_key(dict(KEY.public)), ["EdDSA", "Ed25519"])
    assert json.loads(other.payload)["result_sha256"] == receipt.result_sha256


def test_a_receipt_is_verified_by_a_clock_that_is_slow() -> None:
    tomorrow = int(time.time()) + 86_400
    receipt = verify_receipt(changed("receipt", signed_again(iat=tomorrow)), keys(KEY))
    assert receipt.issued_at.timestamp() == tomorrow


def signed_again(**more: str | int) -> str:
    signed = jws.extract_compact(result_of(JOB)["receipt"].encode()).payload
    return KEY.sign({**json.loads(signed), **more})


def changed(name: str, value: object) -> Mapping[str, Any]:
    return {**result_of(JOB), name: value}


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (changed("cost", 0.196), "was changed"),
        (changed("claims", []), "was changed"),
        (changed("more", 1), "was changed"),
        (changed("cost", float("inf")), "was changed"),
        (changed("cost", 2**60), "was changed"),
        (changed("more", "\ud800"), "was changed"),
        (changed("more", {"\ud800": 1}), "was changed"),
        (changed("receipt", result_of("01ARZ3NDEKTSV4RRFFQ69G5FAW")["receipt"]), "was changed"),
        (changed("receipt", signed_again(jti="01ARZ3NDEKTSV4RRFFQ69G5FAW")), "another job"),
        (changed("receipt", None), "no receipt"),
        (changed("receipt", "a.b.c"), "not signed"),
        (changed("receipt", OTHER.sign({"iss": "a"})), "does not list"),
        (changed("receipt", KEY.sign({"iss": "a", "jti": JOB, "iat": 1})), "cannot be read"),
        (changed("receipt", result_of(JOB)["receipt"][:-4] + "AAAA"), "not signed"),
    ],
)
def test_nothing_else_is(result: Mapping[str, Any], why: str) -> None:
    with pytest.raises(ReceiptError, match=why):
        verify_receipt(result, keys(KEY))
