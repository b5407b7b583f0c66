"""Problem documents to exceptions: a server's refusal raises the error class, code and sentence that a local store
would raise."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from ..errors import Conflict, HoraeError, InvalidTask, NotFound, Refusal, Sentence, StoreError, StoreUnavailable
from ..wire.problems import ERROR_MAPPINGS

_BY_STATUS: Final[dict[int, type[HoraeError]]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.PRECONDITION_FAILED: Conflict,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.SERVICE_UNAVAILABLE: StoreUnavailable,
}


def error_from(status: int, document: Mapping[str, Any]) -> HoraeError:
    """Return the exception for a problem document. Its class follows from the title, which is unique per class; an
    unknown title falls back to the status."""
    error_class = _error_class(status, str(document.get("title", "")))
    detail, hint = str(document.get("detail", "")), str(document.get("hint", ""))
    if not issubclass(error_class, Refusal):
        return error_class(detail)
    sentence = Sentence(detail, hint)
    position = next((each.get("position") for each in document.get("errors") or () if isinstance(each, Mapping)), None)
    return error_class(str(document.get("code", "refused")), {"en": sentence, "zh": sentence}, position=position)


def _error_class(status: int, title: str) -> type[HoraeError]:
    for kind, answer in ERROR_MAPPINGS.items():
        if status == answer.status and title in (answer.title, answer.title_zh):
            return kind
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    same = [kind for kind, answer in ERROR_MAPPINGS.items() if answer.status == status]
    if same:
        return same[0]
    return StoreError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else InvalidTask
