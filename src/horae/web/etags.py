"""ETags, and what depends on them: nothing new (304), or changed by somebody else meanwhile (412)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ..model.change import Facts
from .refusals import refuse
from .responses import JSON, encoded

_TAG: Final = re.compile(r'\s*(W/)?"([\x21\x23-\x7e]{0,100})"\s*')
_ANY: Final = "*"
_MOST_TAGS: Final = 20
_PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Accept-Language, Authorization"}


def entity(
    request: Request, value: Any, version: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """One thing as it is now, with the tag of exactly this representation."""
    return written_entity(request, encoded(value), version, status, headers)


def written_entity(
    request: Request, body: bytes, version: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The same of what is JSON already."""
    tag = tag_of(body, version)
    head = {"ETag": f'"{tag}"', **_PRIVATE, **(headers or {})}
    seen = request.headers.get("if-none-match")
    if seen is not None and request.method == "GET" and (seen.strip() == _ANY or tag in _tags(seen, weak=True)):
        return Response(status_code=304, headers=head)
    return Response(body, status, head, JSON)


def tag_of(body: bytes, version: int) -> str:
    return f"{version}-{blake2b(body, digest_size=8).hexdigest()}"


def expected_version(request: Request, current: int) -> int | None:
    """The version that a change is meant for: None where no condition came with it.

    What runs in between changes the representation, but not the definition, and only that is what an edit is about.
    """
    said = request.headers.get("if-match")
    if said is None or said.strip() == _ANY:
        return None
    versions = {tag.partition("-")[0] for tag in _tags(said, weak=False)}
    if str(current) not in versions:
        raise refuse("version_changed", current=f"version {current}", version=current)
    return current


def as_expected(request: Request, *, made: bool = False) -> Callable[[Facts | None], None]:
    """Looked at within the write itself. `made`: the change may also make the thing, and `If-None-Match: *` only that."""

    def check(found: Facts | None) -> None:
        if found is None:
            if "if-match" in request.headers:
                raise refuse("version_changed", current="nothing is there")
        elif made and only_if_new(request):
            raise refuse("version_changed", current=f"version {found.task.version}", version=found.task.version)
        else:
            expected_version(request, found.task.version)

    return check


def only_if_new(request: Request) -> bool:
    """`If-None-Match: *`: make it, but touch nothing that is there."""
    return request.headers.get("if-none-match", "").strip() == _ANY


def _tags(said: str, *, weak: bool) -> list[str]:
    """Of weak ones nobody can say that they are the very same."""
    found: list[str] = []
    for part in said.split(",")[:_MOST_TAGS]:
        tag = _TAG.fullmatch(part)
        if tag is None:
            raise refuse("bad_condition", value=part.strip())
        if weak or tag[1] is None:
            found.append(tag[2])
    return found
