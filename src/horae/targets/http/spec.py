"""Validates the spec of an http target and its success codes, when a task is created and again before each run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ...outgoing.addresses import Networks
from ...outgoing.exchange import DEFAULT_RESPONSE_BYTES, MAX_REDIRECTS
from ...outgoing.guard import CheckedUrl, check_url
from ...outgoing.headers import MAX_HEADERS, check_headers, check_name
from ...outgoing.refusals import refuse as refuse_outgoing
from ..secret_references import REFERENCE_KEY, secret_name
from .refusals import refuse

Statuses: TypeAlias = tuple[int | str, ...]

DEFAULT_STATUSES: Final[Statuses] = ("2xx",)
_MAX_ITEMS: Final = 32
_CLASS: Final = re.compile(r"([1-5])[xX]{2}")
_RANGE: Final = re.compile(r"([1-5][0-9]{2})-([1-5][0-9]{2})")
_EXPECTED: Final = 'a list of status codes and ranges, such as [200, 404], ["2xx"] or ["200-204"]'


def check_statuses(given: Any) -> Statuses:
    """Check the status codes that count as success: `204`, `"2xx"`, `"200-204"`."""
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MAX_ITEMS:
        raise refuse("http_bad_value", name="success", value=given, wanted=_EXPECTED)
    return tuple(_check_item(each) for each in given)


def is_success(status: int, statuses: Statuses) -> bool:
    return any(status in _code_range(each) for each in statuses)


def _check_item(given: Any) -> int | str:
    if isinstance(given, int | str) and not isinstance(given, bool) and _code_range(given):
        return given.lower() if isinstance(given, str) else given
    raise refuse("http_bad_value", name="success", value=given, wanted=_EXPECTED)


def _code_range(given: int | str) -> range:
    """Return the status codes of one item; empty when it is invalid."""
    if isinstance(given, int):
        return range(given, given + 1) if 100 <= given <= 599 else range(0)
    if match := _CLASS.fullmatch(given):
        return range(int(match[1]) * 100, int(match[1]) * 100 + 100)
    match = _RANGE.fullmatch(given)
    return range(int(match[1]), int(match[2]) + 1) if match else range(0)


HeaderValue: TypeAlias = str | dict[str, str] | list[str | dict[str, str]]
"""Text, a secret reference, or a list of both that is joined: `["Bearer ", {"secret": "token"}]`."""

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
ORCHESTRATOR: Final = "orchestrator"
MAX_RESPONSE_BYTES: Final = 16 * DEFAULT_RESPONSE_BYTES
_PAYLOAD_METHODS: Final = frozenset({"POST", "PUT", "PATCH"})
_RESERVED_PREFIXES: Final = ("horae-", "webhook-")
_RESERVED_NAMES: Final = frozenset({"idempotency-key", "traceparent"})
_MAX_PARTS: Final = 8
_KEYS: Final = ("method", "url", "headers", "body", "success", "redirects", "sign", "preset", "answer_limit")


class Spec(NamedTuple):
    """`body` is the spec's own body: None where the payload is the body, or where there is none."""

    method: str
    url: CheckedUrl
    headers: dict[str, HeaderValue]
    has_body: bool
    body: Any
    success: Statuses
    redirects: int
    sign: str | None
    preset: str | None
    answer_limit: int

    @property
    def sends_payload(self) -> bool:
        return not self.has_body and self.method in _PAYLOAD_METHODS

    def to_json(self) -> dict[str, Any]:
        """Return the canonical spec. It has a `body` only where one was given: null means a request without body."""
        spec = {
            "method": self.method,
            "url": self.url.text,
            "headers": self.headers,
            "success": list(self.success),
            "redirects": self.redirects,
            "sign": None if self.sign is None else {REFERENCE_KEY: self.sign},
            "preset": self.preset,
            "answer_limit": self.answer_limit,
        }
        return spec | {"body": self.body} if self.has_body else spec


def read_spec(given: Mapping[str, Any], allowed: Networks) -> Spec:
    """Check a spec; raises a `Refusal`."""
    if not isinstance(given, Mapping):
        raise refuse("http_unreadable", what="target")
    for name in given:
        if name not in _KEYS:
            raise refuse("http_unknown_key", name=name, allowed=", ".join(_KEYS))
    preset = given.get("preset")
    if preset not in (None, ORCHESTRATOR):
        raise refuse("http_bad_value", name="preset", value=preset, wanted=f'null or "{ORCHESTRATOR}"')
    if preset is not None and ("body" in given or given.get("method", "POST") != "POST"):
        raise refuse("orchestrator_request")
    return Spec(
        method=_method(given.get("method", "POST")),
        url=_url(given.get("url"), allowed),
        headers=_headers(given.get("headers") or {}),
        has_body="body" in given,
        body=given.get("body"),
        success=check_statuses(given["success"]) if "success" in given else DEFAULT_STATUSES,
        redirects=_number("redirects", given.get("redirects", 0), 0, MAX_REDIRECTS),
        sign=_sign(given.get("sign")),
        preset=preset,
        answer_limit=_number("answer_limit", given.get("answer_limit", DEFAULT_RESPONSE_BYTES), 1, MAX_RESPONSE_BYTES),
    )


def _method(given: Any) -> str:
    method = given.upper() if isinstance(given, str) else given
    if method not in METHODS:
        raise refuse("http_bad_value", name="method", value=given, wanted=", ".join(METHODS))
    return str(method)


def _url(given: Any, allowed: Networks) -> CheckedUrl:
    if not isinstance(given, str):
        raise refuse("http_url_missing")
    return check_url(given, allowed)


def _headers(given: Any) -> dict[str, HeaderValue]:
    if not isinstance(given, dict) or len(given) > MAX_HEADERS:
        raise refuse("http_bad_value", name="headers", value=type(given).__name__, wanted="an object of texts")
    # A secret's value is checked when it is known; a placeholder stands for it here.
    check_headers({check_name(name): _with_placeholders(name, value) for name, value in given.items()})
    for name in given:
        if name.lower() in _RESERVED_NAMES or name.lower().startswith(_RESERVED_PREFIXES):
            raise refuse_outgoing("header_reserved", name=name)
    return dict(given)


def _with_placeholders(name: str, value: Any) -> str:
    parts = value if isinstance(value, list) and len(value) <= _MAX_PARTS else [value]
    if not all(isinstance(part, str) or secret_name(part) is not None for part in parts):
        wanted = f'a text, {{"{REFERENCE_KEY}": "name"}}, or a list of both'
        raise refuse("http_bad_value", name=f"headers.{name}", value=type(value).__name__, wanted=wanted)
    return "".join(part if isinstance(part, str) else "x" for part in parts)


def _sign(given: Any) -> str | None:
    name = secret_name(given)
    if given is not None and name is None:
        raise refuse(
            "http_bad_value", name="sign", value=type(given).__name__, wanted=f'null or {{"{REFERENCE_KEY}": "name"}}'
        )
    return name


def _number(name: str, given: Any, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise refuse("http_bad_value", name=name, value=given, wanted=f"a whole number from {least} to {most}")
    return given
