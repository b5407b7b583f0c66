"""Signatures as Standard Webhooks says, and tokens for callbacks."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from horae.errors import Refusal
from horae.outgoing.signatures import (
    callback_path,
    callback_token,
    new_secret,
    sign_message,
    verify,
    verify_callback_token,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER = "whsec_" + base64.b64encode(bytes(24)).decode()
BODY = '{"名":"值"}'.encode()


def test_the_signature_is_the_one_that_the_standard_describes() -> None:
    timestamp = str(int(NOON.timestamp()))
    digest = hmac.new(KEY, b"occ_1." + timestamp.encode() + b"." + BODY, hashlib.sha256).digest()
    assert dict(sign_message([SECRET], "occ_1", NOON, BODY)) == {
        "webhook-id": "occ_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def test_a_published_example_comes_out_the_same() -> None:
    headers = sign_message(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        datetime.fromtimestamp(1_614_265_330, UTC),
        b'{"test": 2432232314}',
    )
    assert dict(headers)["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_several_secrets_sign_several_times_and_each_is_enough() -> None:
    headers = dict(sign_message([SECRET, OTHER], "occ_1", NOON, BODY))
    assert len(headers["webhook-signature"].split(" ")) == 2
    assert verify([SECRET], headers, BODY, NOON)
    assert verify([OTHER], headers, BODY, NOON)
    assert verify([new_secret(b"x" * 24), OTHER], headers, BODY, NOON)
    assert not verify([new_secret(b"x" * 24)], headers, BODY, NOON)
    assert not verify([], headers, BODY, NOON)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "occ_2"},
        {"webhook-id": ""},
        {"webhook-timestamp": str(int(NOON.timestamp()) + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "٣"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,值"},
        {"webhook-signature": "v1a," + "A" * 44},
    ],
)
def test_modified_message_does_not_verify(change: dict[str, str]) -> None:
    headers = dict(sign_message([SECRET], "occ_1", NOON, BODY))
    assert verify([SECRET], {name.title(): value for name, value in headers.items()}, BODY, NOON)
    assert not verify([SECRET], headers | change, BODY, NOON)
    assert not verify([SECRET], headers, BODY + b" ", NOON)
    assert not verify([SECRET], {}, BODY, NOON)


@pytest.mark.parametrize("seconds", [-300, 300])
def test_timestamp_outside_of_the_tolerance_does_not_verify(seconds: int) -> None:
    headers = dict(sign_message([SECRET], "occ_1", NOON, BODY))
    assert verify([SECRET], headers, BODY, NOON + timedelta(seconds=seconds))
    assert not verify([SECRET], headers, BODY, NOON + timedelta(seconds=seconds + (1 if seconds > 0 else -1)))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "hunter2",
        base64.b64encode(KEY).decode(),
        "whsec_",
        "whsec_****",
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_值",
    ],
)
def test_a_secret_of_another_form_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(Refusal) as refused:
        sign_message([secret], "occ_1", NOON, BODY)
    assert refused.value.code == "signing_secret"
    assert refused.value.facts == {}


def test_a_callback_token_belongs_to_one_claim_of_one_run() -> None:
    token = callback_token("key" * 8, "run_1", 7)
    assert verify_callback_token("key" * 8, "run_1", 7, token)
    for key, run, number in (("other", "run_1", 7), ("key" * 8, "run_2", 7), ("key" * 8, "run_1", 8)):
        assert not verify_callback_token(key, run, number, token)
    for offered in ("", token[:-1], token.upper() + "x", "值", "\ud800"):
        assert not verify_callback_token("key" * 8, "run_1", 7, offered)
    assert callback_path("run_1") == "/v1/runs/run_1/callback"
