"""Signs and verifies webhooks by Standard Webhooks 1.0 (HMAC-SHA256); receivers of Horae's requests can use `verify`.

A secret is `whsec_` and the base64 of 24 to 64 bytes. Other texts are refused: one side could read them as bytes and the
other as base64.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from .headers import Headers
from .refusals import refuse

PREFIX: Final = "whsec_"
ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"
TOLERANCE: Final = timedelta(minutes=5)
_VERSION: Final = "v1,"
_MIN_KEY_BYTES: Final = 24
_MAX_KEY_BYTES: Final = 64
_MAX_SIGNATURES: Final = 32


def new_secret(entropy: bytes) -> str:
    """Return the secret made of these random bytes: `new_secret(os.urandom(32))`."""
    text = PREFIX + b64encode(entropy).decode()
    _key(text)
    return text


def sign_message(secrets: Iterable[str], message_id: str, at: datetime, body: bytes) -> Headers:
    """Return the three signature headers. Several secrets give several signatures, which allows rotation."""
    timestamp = str(int(at.timestamp()))
    signatures = [_signature(_key(secret), message_id, timestamp, body) for secret in secrets]
    return (ID, message_id), (TIMESTAMP, timestamp), (SIGNATURE, " ".join(signatures))


def verify(
    secrets: Iterable[str], headers: Mapping[str, str], body: bytes, now: datetime, tolerance: timedelta = TOLERANCE
) -> bool:
    """Whether one of the secrets signed exactly this within the tolerance. `body` is the raw bytes, before parsing."""
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = given.get(ID, ""), given.get(TIMESTAMP, "")
    if not message_id or not _is_recent(timestamp, now, tolerance):
        return False
    offered = given.get(SIGNATURE, "").split(" ", _MAX_SIGNATURES)[:_MAX_SIGNATURES]
    expected = [_signature(_key(secret), message_id, timestamp, body).encode() for secret in secrets]
    # All pairs are compared, so that the time taken leaks nothing.
    matches = [hmac.compare_digest(each.encode(), right) for each in offered for right in expected]
    return any(matches)


def _signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    content = f"{message_id}.{timestamp}.".encode() + body
    return _VERSION + b64encode(hmac.digest(key, content, sha256)).decode()


def _is_recent(timestamp: str, now: datetime, tolerance: timedelta) -> bool:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    return abs(now.timestamp() - int(timestamp)) <= tolerance.total_seconds()


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _MIN_KEY_BYTES <= len(key) <= _MAX_KEY_BYTES:
        raise refuse("signing_secret")
    return key


_PURPOSE: Final = "horae callback 1"


def callback_path(run_id: str) -> str:
    return f"/v1/runs/{run_id}/callback"


def callback_token(key: str, run_id: str, token: int) -> str:
    """Return the token of one claim of one run, stored nowhere: invalid after the run has ended or was claimed again."""
    return hmac.digest(key.encode(), f"{_PURPOSE}\n{run_id}\n{token}".encode(), sha256).hex()


def verify_callback_token(key: str, run_id: str, token: int, offered: str) -> bool:
    return hmac.compare_digest(callback_token(key, run_id, token).encode(), offered.encode(errors="replace"))
