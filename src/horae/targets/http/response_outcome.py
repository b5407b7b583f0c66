"""Maps an HTTP response, or the lack of one, to the outcome of a run; pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from ...errors import Refusal
from ...model.limits import ERROR_CHARACTERS, shorten
from ...model.outcome import Failed, Outcome, Succeeded, TimedOut, Waiting
from ...model.policy import MAX_BACKOFF
from ...model.reason import Reason
from ...outgoing.exchange import FailureKind, Reply, Response, Unreachable
from ...outgoing.guard import parse_url
from .body_text import Masker, body_to_text, encode_result, mask_body, parse_body
from .spec import ORCHESTRATOR, Spec, is_success

_ACCEPTED: Final = 202
_RETRYABLE: Final = frozenset({408, 425, 429})
_SNIPPET_CHARACTERS: Final = 500


class ResponseContext(NamedTuple):
    """Context of a response. `timeout` bounds how long an endpoint that answered 202 may be silent before it calls back."""

    spec: Spec
    mask: Masker
    timeout: timedelta
    takes_callbacks: bool


def outcome_of(reply: Reply, terms: ResponseContext, now: datetime) -> Outcome:
    if isinstance(reply, Unreachable):
        return _outcome_without_response(reply, terms)
    if not is_success(reply.status, terms.spec.success):
        return _failed(reply, terms, now)
    if reply.status == _ACCEPTED and terms.takes_callbacks:
        delay = parse_retry_after(reply.headers.get("retry-after"), now)
        return Waiting(now + max(terms.timeout, delay or timedelta(0)))
    if terms.spec.preset == ORCHESTRATOR and not _is_filled_object(parse_body(reply)):
        place = reply.url.host_and_port
        return Failed(f"{place} answered {reply.status} with nothing that can be used", reason=Reason.NO_ANSWER)
    return Succeeded(encode_result(reply, terms.mask))


def _is_filled_object(body: Any) -> bool:
    return isinstance(body, dict) and bool(body)


def _outcome_without_response(reply: Unreachable, terms: ResponseContext) -> Outcome:
    message = terms.mask(reply.message)
    if reply.kind is FailureKind.TIMEOUT:
        return TimedOut(message)
    reason = Reason.TARGET_FAILED if reply.is_permanent and terms.spec.preset is None else Reason.NO_ANSWER
    if reply.kind is FailureKind.FORBIDDEN:
        reason = Reason.TARGET_NOT_ALLOWED
    return Failed(message, permanent=reply.is_permanent, reason=reason)


def _failed(answer: Response, terms: ResponseContext, now: datetime) -> Failed:
    retryable = answer.status in _RETRYABLE or answer.status >= 500
    return Failed(
        shorten(_describe_response(answer, terms.mask), ERROR_CHARACTERS),
        permanent=not retryable,
        retry_after=parse_retry_after(answer.headers.get("retry-after"), now) if retryable else None,
        reason=Reason.TARGET_FAILED if terms.spec.preset is None else Reason.NO_ANSWER,
    )


def _describe_response(answer: Response, hide: Masker) -> str:
    status_text = f"{answer.url.host_and_port} answered {answer.status}{_phrase(answer.status)}"
    if 300 <= answer.status < 400:
        return f"{status_text}, a redirect to {_redirect_host(answer)} that is not followed"
    snippet = shorten(" ".join(body_to_text(mask_body(parse_body(answer), hide)).split()), _SNIPPET_CHARACTERS)
    return f"{status_text}: {snippet}" if snippet else status_text


def _phrase(status: int) -> str:
    """Return the standard reason phrase; the endpoint's own is not trusted."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _redirect_host(answer: Response) -> str:
    """Return the host of the redirect alone: the rest of the URL may hold a token."""
    try:
        return parse_url(urljoin(answer.url.text, answer.headers.get("location", ""))).host_and_port
    except (Refusal, ValueError):
        return "an invalid URL"


_MIN_DELAY: Final = timedelta(seconds=1)
"""Keeps an endpoint that always answers "retry at once" from causing a busy loop."""


def parse_retry_after(header: str | None, now: datetime) -> timedelta | None:
    """Return the delay, from one second to the longest back-off; None for a missing or invalid header."""
    if header is None:
        return None
    delay = _parse_seconds(header.strip()) or _parse_date(header.strip(), now)
    return None if delay is None else min(max(delay, _MIN_DELAY), MAX_BACKOFF)


def _parse_seconds(text: str) -> timedelta | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return MAX_BACKOFF if len(text) > 9 else max(_MIN_DELAY, timedelta(seconds=int(text)))


def _parse_date(text: str, now: datetime) -> timedelta | None:
    try:
        at = parsedate_to_datetime(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, OverflowError):
        return None
