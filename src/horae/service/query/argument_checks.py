"""Checks of ids, numbers, pages and filters before they reach a store."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...model.limits import KEY_CHARACTERS
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import refuse
from ...model.text.field_checks import check_number
from ...ports.store import RunFilter, TaskFilter

_MAX_ID_CHARACTERS: Final = 200
_MAX_POSITION: Final = 2**63 - 1
"""Largest number that every store can hold."""


def check_id(value: object, absent: str) -> None:
    """Refuse a value that no id can have, with the code `absent`: nothing has such an id."""
    if not _is_storable(value, _MAX_ID_CHARACTERS):
        raise refuse(absent, id=value)


def check_position(name: str, value: object) -> None:
    """Refuse a value that is no number from 0 to the largest one of a store."""
    check_number(name, value, 0, _MAX_POSITION)


def check_page(after: object, limit: object, max_characters: int = _MAX_ID_CHARACTERS) -> None:
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE_SIZE:
        raise refuse("bad_page", value=limit, wanted="limit", most=MAX_PAGE_SIZE)
    if after is not None and not _is_storable(after, max_characters):
        raise refuse("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE)


def check_filter(filter_value: TaskFilter | RunFilter) -> None:
    """Refuse filter values that no store could hold."""
    for name, value in zip(filter_value._fields, filter_value, strict=True):
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise refuse("naive_instant", value=value)
        elif name == "labels":
            _check_labels(value)
        elif value is not None and name not in ("states", "failing") and not _is_storable(value, KEY_CHARACTERS):
            raise refuse("bad_text", name=name, value=value, most=KEY_CHARACTERS)


def _check_labels(labels: object) -> None:
    texts = [text for pair in labels for text in pair] if isinstance(labels, tuple) else [None]
    for text in texts:
        if not _is_storable(text, KEY_CHARACTERS):
            raise refuse("bad_text", name="labels", value=text, most=KEY_CHARACTERS)


def _is_storable(value: object, most: int) -> bool:
    """Whether it is printable text within the limit; a lone surrogate, which no file can hold, is not printable."""
    return isinstance(value, str) and len(value) <= most and value.isprintable()
