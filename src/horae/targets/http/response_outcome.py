"""What an endpoint's answer means for the run. Pure: a reply and an instant in, an outcome out."""

from __future__ import annotations

from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from ...errors import Refusal
from ...model.limits import ERROR_CHARACTERS, shortened
from ...model.outcome import Failed, Outcome, Succeeded, TimedOut, Waiting
from ...model.reason import Reason
from ...outgoing.exchange import Answer, Reply, Trouble, Unreachable
from ...outgoing.guard import parse_url
from .body_text import Hide, body_of, masked, result_of, shown
from .retry_after import retry_after
from .spec import ORCHESTRATOR, Spec
from .statuses import are_among

_ACCEPTED: Final = 202
_RETRYABLE: Final = frozenset({408, 425, 429})
_SNIPPET: Final = 500


class Terms(NamedTuple):
    """What an answer is read with. `timeout` is how long somebody who went on with the run may be silent."""

    spec: Spec
    hide: Hide
    timeout: timedelta
    takes_callbacks: bool


def outcome_of(reply: Reply, terms: Terms, now: datetime) -> Outcome:
    if isinstance(reply, Unreachable):
        return _unreached(reply, terms)
    if not are_among(reply.status, terms.spec.success):
        return _failed(reply, terms, now)
    if reply.status == _ACCEPTED and terms.takes_callbacks:
        later = retry_after(reply.headers.get("retry-after"), now)
        return Waiting(now + max(terms.timeout, later or timedelta(0)))
    if terms.spec.preset == ORCHESTRATOR and not _says_something(body_of(reply)):
        place = reply.url.place
        return Failed(f"{place} answered {reply.status} with nothing that can be used", reason=Reason.NO_ANSWER)
    return Succeeded(result_of(reply, terms.hide))


def _says_something(body: Any) -> bool:
    return isinstance(body, dict) and bool(body)


def _unreached(reply: Unreachable, terms: Terms) -> Outcome:
    message = terms.hide(reply.message)
    if reply.kind is Trouble.TIMEOUT:
        return TimedOut(message)
    reason = Reason.TARGET_FAILED if reply.permanent and terms.spec.preset is None else Reason.NO_ANSWER
    if reply.kind is Trouble.GUARDED:
        reason = Reason.TARGET_NOT_ALLOWED
    return Failed(message, permanent=reply.permanent, reason=reason)


def _failed(answer: Answer, terms: Terms, now: datetime) -> Failed:
    retryable = answer.status in _RETRYABLE or answer.status >= 500
    return Failed(
        shortened(_told(answer, terms.hide), ERROR_CHARACTERS),
        permanent=not retryable,
        retry_after=retry_after(answer.headers.get("retry-after"), now) if retryable else None,
        reason=Reason.TARGET_FAILED if terms.spec.preset is None else Reason.NO_ANSWER,
    )


def _told(answer: Answer, hide: Hide) -> str:
    told = f"{answer.url.place} answered {answer.status}{_phrase(answer.status)}"
    if 300 <= answer.status < 400:
        return f"{told}, a redirect to {_led_to(answer)} that is not followed"
    said = shortened(" ".join(shown(masked(body_of(answer), hide)).split()), _SNIPPET)
    return f"{told}: {said}" if said else told


def _phrase(status: int) -> str:
    """By the number: an endpoint's own words may be anything."""
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _led_to(answer: Answer) -> str:
    """Its host alone: the rest may hold a token."""
    try:
        return parse_url(urljoin(answer.url.text, answer.headers.get("location", ""))).place
    except (Refusal, ValueError):
        return "what is not a URL"
