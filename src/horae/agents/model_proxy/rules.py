"""Which requests of an agent reach the model endpoint, and with which headers; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

PATHS: Final = frozenset(
    {
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/messages"),
        ("POST", "/v1/messages?beta=true"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/messages/count_tokens?beta=true"),
        ("GET", "/v1/models"),
    }
)
"""Everything else is refused: the key may be good for more than models, such as files and billing."""
_REQUEST_HEADERS: Final = frozenset({"content-type", "accept", "anthropic-version", "anthropic-beta", "user-agent"})
_RESPONSE_HEADERS: Final = frozenset({"content-type", "retry-after", "retry-after-ms", "x-should-retry"})
_RESPONSE_PARTS: Final = ("ratelimit", "request-id")
_MAX_HEADER: Final = 2000
_OAUTH_PREFIX: Final = "sk-ant-oat"
_OAUTH_BETA: Final = "oauth-2025-04-20"


def uses_tokens(path: str) -> bool:
    """Return whether a request to the path makes the model work; counting tokens and listing models do not."""
    return path.startswith(("/v1/chat/completions", "/v1/messages")) and "count_tokens" not in path


def base_of(url: str) -> str:
    """Return the part before `/v1`: OpenAI's base URLs end with it, Anthropic's do not."""
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def request_headers(given: Iterable[tuple[str, str]], path: str, key: str) -> Mapping[str, str]:
    """Return the headers for the endpoint: a few of the agent's, and the key in the form of the path."""
    headers = {
        name.lower(): value
        for name, value in given
        if name.lower() in _REQUEST_HEADERS and len(value) <= _MAX_HEADER and value.isprintable()
    }
    headers["accept-encoding"] = "identity"
    if not key:
        return headers
    if not path.startswith("/v1/messages"):
        headers["authorization"] = f"Bearer {key}"
    elif key.startswith(_OAUTH_PREFIX):
        headers["authorization"] = f"Bearer {key}"
        headers["anthropic-beta"] = ",".join(filter(None, [headers.get("anthropic-beta"), _OAUTH_BETA]))
    else:
        headers["x-api-key"] = key
    return headers


def response_headers(given: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return the headers for the agent: no cookies, and nothing about the connection."""
    return {
        name: value
        for name, value in given
        if name.lower() in _RESPONSE_HEADERS or any(part in name.lower() for part in _RESPONSE_PARTS)
    }


def error_body(path: str, kind: str, message: str) -> Mapping[str, object]:
    """Return an error as the client of the path expects it."""
    if path.startswith("/v1/messages"):
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}
