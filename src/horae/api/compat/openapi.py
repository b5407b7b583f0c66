"""OpenAPI metadata of compatibility routes: like all others, with their problem shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..openapi import describe_operation, schema_reference

_PROBLEM: Final = {"application/problem+json": {"schema": schema_reference("CompatProblem")}}


def describe_compat_operation(  # noqa: PLR0913 - one keyword for each part of the document
    name: str,
    summary: str,
    response: str,
    *,
    status: int = 200,
    request_body: str | None = None,
    example: Any = None,
    problems: Sequence[int] = (),
    idempotent: bool = False,
    optional: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a route decorator; `response` and `request_body` name shapes."""
    metadata = describe_operation(
        name,
        summary,
        response,
        status=status,
        request_body=request_body,
        example=example,
        problems=problems,
        idempotent=idempotent,
        optional=optional,
    )
    for code, document in metadata["responses"].items():
        if code >= 400:
            metadata["responses"][code] = {**document, "content": _PROBLEM}
    return metadata
