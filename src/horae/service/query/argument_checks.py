"""What may be asked for: ids, numbers, pages and filters, looked at before any store sees them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ...model.field_checks import check_number
from ...model.limits import KEY_CHARACTERS
from ...model.page import LARGEST_PAGE
from ...model.refusals import refuse
from ...ports.store import RunFilter, TaskFilter

_LONGEST_ID: Final = 200
_HIGHEST: Final = 2**63 - 1
"""What a store can count to."""


def check_id(value: object, absent: str) -> None:
    """No id is ever like that, so nothing has it: `absent` is the refusal that says so."""
    if not _might_be_kept(value, _LONGEST_ID):
        raise refuse(absent, id=value)


def check_position(name: str, value: object) -> None:
    """A number of something that is counted up from nothing."""
    check_number(name, value, 0, _HIGHEST)


def check_page(after: object, limit: object, longest: int = _LONGEST_ID) -> None:
    if type(limit) is not int or not 1 <= limit <= LARGEST_PAGE:
        raise refuse("bad_page", value=limit, wanted="limit", most=LARGEST_PAGE)
    if after is not None and not _might_be_kept(after, longest):
        raise refuse("bad_page", value=after, wanted="after", most=LARGEST_PAGE)


def check_wanted(wanted: TaskFilter | RunFilter) -> None:
    """What no store could have kept cannot be looked for either."""
    for name, value in zip(wanted._fields, wanted, strict=True):
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise refuse("naive_instant", value=value)
        elif name == "labels":
            _check_labels(value)
        elif value is not None and name != "states" and not _might_be_kept(value, KEY_CHARACTERS):
            raise refuse("bad_text", name=name, value=value, most=KEY_CHARACTERS)


def _check_labels(labels: object) -> None:
    texts = [text for pair in labels for text in pair] if isinstance(labels, tuple) else [None]
    for text in texts:
        if not _might_be_kept(text, KEY_CHARACTERS):
            raise refuse("bad_text", name="labels", value=text, most=KEY_CHARACTERS)


def _might_be_kept(value: object, most: int) -> bool:
    """A lone surrogate, which no file can keep, is not printable."""
    return isinstance(value, str) and len(value) <= most and value.isprintable()
