"""Records that are written together with something else, in its transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from ...errors import HoraeError
from ...model.record import Writing
from ...model.refusals import refuse
from ..rows import expiry
from .link import Link
from .statements import Bulk, sql

_INSERT: Final = sql("insert_record")
_INSERT_MANY: Final = Bulk("insert_records", 5)
_UPDATE: Final = sql("update_record")
_DROP: Final = sql("drop_record")


def write_one(link: Link, writing: Writing) -> bool:
    """False, and nothing is written, when another version is there than the one that it takes the place of."""
    (kind, key, owner, body, _, expires), replacing, dropped = writing
    if dropped:
        return bool(link.query(_DROP, (kind, key, replacing)))
    if replacing is None:
        return bool(link.query(_INSERT, (kind, key, owner, body, expiry(expires))))
    return bool(link.query(_UPDATE, (owner, body, expiry(expires), kind, key, replacing)))


def write_beside(link: Link, writings: Iterable[Writing]) -> None:
    """Or nothing of the request: whoever asked for it must look again."""
    for new, some in groupby(writings, _is_new):
        (_write_new if new else _write_each)(link, list(some))


def _is_new(writing: Writing) -> bool:
    return writing.replacing is None and not writing.dropped


def _write_each(link: Link, writings: Sequence[Writing]) -> None:
    for writing in writings:
        if not write_one(link, writing):
            raise _changed(writing)


def _write_new(link: Link, writings: Sequence[Writing]) -> None:
    """In a few statements; who finds another in its place is not among those that come back."""
    values: list[Any] = []
    for (kind, key, owner, body, _, expires), _, _ in writings:
        values += (kind, key, owner, body, expiry(expires))
    written = set(link.insert_rows(_INSERT_MANY, values))
    if len(written) < len(writings):
        there = Counter(map(_key, writings))
        raise _changed(next(each for each in writings if _key(each) not in written or there[_key(each)] > 1))


def _key(writing: Writing) -> tuple[str, str]:
    return writing.record.kind, writing.record.key


def _changed(writing: Writing) -> HoraeError:
    return refuse("record_changed", kind=writing.record.kind, key=writing.record.key)


def write_together(link: Link, writings: Iterable[Writing]) -> bool:
    """All of them or none, within a transaction that goes on either way."""
    link.query("SAVEPOINT records")
    written = all(write_one(link, writing) for writing in writings)
    if not written:
        link.query("ROLLBACK TO records")
    link.query("RELEASE records")
    return written
