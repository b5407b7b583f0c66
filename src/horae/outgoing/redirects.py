"""Follows HTTP redirects: checks the new URL like any other; to another origin, drops most headers and sends no body."""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin

from ..errors import Refusal
from .addresses import Networks
from .exchange import FailureKind, Request, Response, Unreachable
from .guard import MAX_URL_LENGTH, CheckedUrl, check_url

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CROSS_ORIGIN_HEADERS: Final = frozenset(
    {"accept", "accept-language", "content-type", "idempotency-key", "traceparent", "user-agent"}
)
"""The only headers sent to another origin: no credentials, no signature, no token, no custom headers."""


def is_redirect(answer: Response) -> bool:
    return answer.status in _REDIRECTS and "location" in answer.headers


def next_hop(request: Request, answer: Response, allowed: Networks) -> Request | Unreachable:
    """Return the request that follows a redirect, with one redirect less to go, or why it is not followed."""
    place = request.url.host_and_port
    if request.redirects < 1:
        return Unreachable(FailureKind.REDIRECTED, f"{place} redirects too often")
    url = _destination(request.url, answer.headers["location"], allowed)
    if isinstance(url, Unreachable):
        return url
    redirected = _change_method(request, answer.status)._replace(url=url, redirects=request.redirects - 1)
    if url.origin == request.url.origin:
        return redirected
    if redirected.body is not None:
        return Unreachable(
            FailureKind.REDIRECTED, f"{place} redirects the body to {url.host_and_port}, which was not meant to see it"
        )
    headers = tuple(header for header in redirected.headers if header[0].lower() in _CROSS_ORIGIN_HEADERS)
    return redirected._replace(headers=headers)


def _destination(origin: CheckedUrl, location: str, allowed: Networks) -> CheckedUrl | Unreachable:
    try:
        url = check_url(urljoin(origin.text, location) if len(location) <= MAX_URL_LENGTH else location, allowed)
    except Refusal as refusal:
        return Unreachable(
            FailureKind.REDIRECTED, f"{origin.host_and_port} redirects to a forbidden address: {refusal.message}"
        )
    except ValueError:
        return Unreachable(FailureKind.REDIRECTED, f"{origin.host_and_port} redirects to an invalid URL")
    if origin.scheme == "https" and url.scheme == "http":
        return Unreachable(FailureKind.REDIRECTED, f"{origin.host_and_port} redirects from https to http")
    return url


def _change_method(request: Request, status: int) -> Request:
    """Turn into GET without body where the status demands it: the request was processed, the result is elsewhere."""
    if (status == 303 and request.method != "HEAD") or (status in {301, 302} and request.method == "POST"):
        headers = tuple(header for header in request.headers if header[0].lower() != "content-type")
        return request._replace(method="GET", body=None, headers=headers)
    return request
