"""What the document says of a route of these surfaces: as of all others, with the problems that their clients see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..openapi import reference, told

_PROBLEM: Final = {"application/problem+json": {"schema": reference("CompatProblem")}}


def said(  # noqa: PLR0913 - each is a part of what is said
    name: str,
    summary: str,
    answers: str,
    *,
    status: int = 200,
    takes: str | None = None,
    example: Any = None,
    problems: Sequence[int] = (),
    once: bool = False,
    optional: bool = False,
) -> dict[str, Any]:
    """The arguments of a route; `answers` and `takes` name shapes."""
    found = told(
        name,
        summary,
        answers,
        status=status,
        takes=takes,
        example=example,
        problems=problems,
        once=once,
        optional=optional,
    )
    for code, response in found["responses"].items():
        if code >= 400:
            found["responses"][code] = {**response, "content": _PROBLEM}
    return found
