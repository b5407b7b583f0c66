"""Payloads of the compatibility surfaces: descriptive fields of a schedule are stored under one key of the task's
payload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ...model.refusals import refuse as refuse_task
from .refusals import refuse

DETAILS_KEY: Final = "compat"
"""Key of the descriptive fields; surfaces show them as fields of their own, and readers of a schedule's event find them
here."""


def read_payload(value: object) -> dict[str, Any]:
    """Return the payload object; absent or null is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or DETAILS_KEY in value:
        shown = type(value).__name__ if not isinstance(value, Mapping) else DETAILS_KEY
        raise refuse("compat_bad_field", name="payload", value=shown, wanted=f"a JSON object without '{DETAILS_KEY}'")
    return dict(value)


def encode_payload(payload: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> str:
    """Encode the payload as the task stores it."""
    combined = {**payload, DETAILS_KEY: dict(about)} if about else dict(payload)
    try:
        text = json.dumps(combined, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse_task("bad_payload", value=type(error).__name__) from None
    return text


def render_payload(text: str) -> dict[str, Any]:
    """Return the payload as an object; a task of another surface may hold any JSON."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return {} if value is None else {"value": value}
    return {name: each for name, each in value.items() if name != DETAILS_KEY}


def read_details(text: str) -> dict[str, Any]:
    """Return the descriptive fields."""
    value = json.loads(text)
    about = value.get(DETAILS_KEY) if isinstance(value, dict) else None
    return about if isinstance(about, dict) else {}
