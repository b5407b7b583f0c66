"""Callback tokens (HMAC of run id and fencing token) with which an endpoint ends a run it continued; none is stored."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Final

_PURPOSE: Final = "horae callback 1"


def callback_path(run_id: str) -> str:
    return f"/v1/runs/{run_id}/callback"


def callback_token(key: str, run_id: str, token: int) -> str:
    """Return the token of one claim of one run: invalid after the run has ended or was claimed again."""
    return hmac.digest(key.encode(), f"{_PURPOSE}\n{run_id}\n{token}".encode(), sha256).hex()


def verify_callback_token(key: str, run_id: str, token: int, offered: str) -> bool:
    return hmac.compare_digest(callback_token(key, run_id, token).encode(), offered.encode(errors="replace"))
