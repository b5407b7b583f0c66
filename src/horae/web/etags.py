"""ETags and conditional requests: 304 for an unchanged representation, 412 for a version that changed meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ..model.change import Facts
from .refusals import refuse
from .responses import JSON, encode_json

_TAG: Final = re.compile(r'\s*(W/)?"([\x21\x23-\x7e]{0,100})"\s*')
_ANY: Final = "*"
_MAX_TAGS: Final = 20
_PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Accept-Language, Authorization"}


def entity_response(
    request: Request, value: Any, version: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Respond with one resource and the ETag of this representation; 304 if `If-None-Match` names it."""
    return raw_entity_response(request, encode_json(value), version, status, headers)


def raw_entity_response(
    request: Request, body: bytes, version: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Same as `entity_response` for a body that is JSON already."""
    tag = compute_etag(body, version)
    all_headers = {"ETag": f'"{tag}"', **_PRIVATE, **(headers or {})}
    if_none_match = request.headers.get("if-none-match")
    if (
        if_none_match is not None
        and request.method == "GET"
        and (if_none_match.strip() == _ANY or tag in _tags(if_none_match, weak=True))
    ):
        return Response(status_code=304, headers=all_headers)
    return Response(body, status, all_headers, JSON)


def compute_etag(body: bytes, version: int) -> str:
    """Return the ETag: version, and a hash of the representation."""
    return f"{version}-{blake2b(body, digest_size=8).hexdigest()}"


def expected_version(request: Request, current: int) -> int | None:
    """Return the version that `If-Match` requires, or None without a condition. Raises `version_changed` if `current`
    is none of them.

    Only the version part of the tag counts: runs change the representation of a task, but not the definition that an
    edit changes.
    """
    if_match = request.headers.get("if-match")
    if if_match is None or if_match.strip() == _ANY:
        return None
    versions = {tag.partition("-")[0] for tag in _tags(if_match, weak=False)}
    if str(current) not in versions:
        raise refuse("version_changed", current=f"version {current}", version=current)
    return current


def precondition_check(request: Request, *, may_create: bool = False) -> Callable[[Facts | None], None]:
    """Return a check of the request's conditions, for use inside the write transaction. `may_create`: the change may
    also create the resource, and `If-None-Match: *` allows only that."""

    def check(facts: Facts | None) -> None:
        if facts is None:
            if "if-match" in request.headers:
                raise refuse("version_changed", current="nothing is there")
        elif may_create and is_create_only(request):
            raise refuse("version_changed", current=f"version {facts.task.version}", version=facts.task.version)
        else:
            expected_version(request, facts.task.version)

    return check


def is_create_only(request: Request) -> bool:
    """Return whether the request has `If-None-Match: *`: create only, never change an existing resource."""
    return request.headers.get("if-none-match", "").strip() == _ANY


def _tags(header: str, *, weak: bool) -> list[str]:
    """Split a list of ETags. Weak ones are left out unless `weak`: they do not identify an exact representation."""
    tags: list[str] = []
    for part in header.split(",")[:_MAX_TAGS]:
        tag = _TAG.fullmatch(part)
        if tag is None:
            raise refuse("bad_condition", value=part.strip())
        if weak or tag[1] is None:
            tags.append(tag[2])
    return tags
