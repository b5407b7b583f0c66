"""Where a redirect leads, and what goes along. Pure; the place that it leads to is checked like any other."""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin

from ..errors import Refusal
from .addresses import Networks
from .exchange import Answer, Request, Trouble, Unreachable
from .guard import LONGEST_URL, CheckedUrl, check_url

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TRAVELS: Final = frozenset(
    {"accept", "accept-language", "content-type", "idempotency-key", "traceparent", "user-agent"}
)
"""All that another origin gets to see: no credentials, no signature, no token, and nothing that only one of them knows."""


def is_redirect(answer: Answer) -> bool:
    return answer.status in _REDIRECTS and "location" in answer.headers


def next_hop(request: Request, answer: Answer, allowed: Networks) -> Request | Unreachable:
    """The request that follows a redirect; it may be redirected once less."""
    place = request.url.place
    if request.redirects < 1:
        return Unreachable(Trouble.REDIRECTED, f"{place} redirects too often")
    url = _destination(request.url, answer.headers["location"], allowed)
    if isinstance(url, Unreachable):
        return url
    after = _as_asked(request, answer.status)._replace(url=url, redirects=request.redirects - 1)
    if url.origin == request.url.origin:
        return after
    if after.body is not None:
        return Unreachable(
            Trouble.REDIRECTED, f"{place} redirects the body to {url.place}, which was not meant to see it"
        )
    return after._replace(headers=tuple(header for header in after.headers if header[0].lower() in _TRAVELS))


def _destination(origin: CheckedUrl, location: str, allowed: Networks) -> CheckedUrl | Unreachable:
    try:
        url = check_url(urljoin(origin.text, location) if len(location) <= LONGEST_URL else location, allowed)
    except Refusal as refusal:
        return Unreachable(Trouble.REDIRECTED, f"{origin.place} redirects where nobody may go: {refusal.message}")
    except ValueError:
        return Unreachable(Trouble.REDIRECTED, f"{origin.place} redirects to what is not a URL")
    if origin.scheme == "https" and url.scheme == "http":
        return Unreachable(Trouble.REDIRECTED, f"{origin.place} redirects from https to http")
    return url


def _as_asked(request: Request, status: int) -> Request:
    """Some redirects mean: look there for the answer. The work is done, and is not sent again."""
    if (status == 303 and request.method != "HEAD") or (status in {301, 302} and request.method == "POST"):
        headers = tuple(header for header in request.headers if header[0].lower() != "content-type")
        return request._replace(method="GET", body=None, headers=headers)
    return request
