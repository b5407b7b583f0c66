"""What a server refuses becomes the error that a store here would have raised: same code, same sentence, same exit."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from ..errors import Conflict, HoraeError, InvalidTask, NotFound, Refusal, Sentence, StoreError, StoreUnavailable
from ..wire.problems import ANSWERS

_BY_STATUS: Final[dict[int, type[HoraeError]]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.PRECONDITION_FAILED: Conflict,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.SERVICE_UNAVAILABLE: StoreUnavailable,
}


def error_from(status: int, said: Mapping[str, Any]) -> HoraeError:
    """By its title, which every kind of error has for itself; a kind that is not known here, by its status."""
    kind = _kind(status, str(said.get("title", "")))
    detail, hint = str(said.get("detail", "")), str(said.get("hint", ""))
    if not issubclass(kind, Refusal):
        return kind(detail)
    told = Sentence(detail, hint)
    place = next((each.get("position") for each in said.get("errors") or () if isinstance(each, Mapping)), None)
    return kind(str(said.get("code", "refused")), {"en": told, "zh": told}, position=place)


def _kind(status: int, title: str) -> type[HoraeError]:
    for kind, answer in ANSWERS.items():
        if status == answer.status and title in (answer.title, answer.title_zh):
            return kind
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    same = [kind for kind, answer in ANSWERS.items() if answer.status == status]
    if same:
        return same[0]
    return StoreError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else InvalidTask
