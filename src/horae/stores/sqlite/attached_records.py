"""Records that are written together with something else, in its transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from ...model.record import Writing
from ...model.refusals import refuse
from ..codec.rows import expiry
from .connection import Link
from .statements import Bulk, sql

_INSERT: Final = sql("insert_record")
_INSERT_MANY: Final = Bulk("insert_records", 5)
_UPDATE: Final = sql("update_record")
_DROP: Final = sql("drop_record")
_DROP_MANY: Final = Bulk("drop_records", 3)


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
    changed = _write(link, writings)
    if changed is not None:
        raise refuse("record_changed", kind=changed.record.kind, key=changed.record.key)


def write_together(link: Link, writings: Iterable[Writing]) -> bool:
    """All of them or none, within a transaction that goes on either way."""
    link.query("SAVEPOINT records")
    written = _write(link, writings) is None
    if not written:
        link.query("ROLLBACK TO records")
    link.query("RELEASE records")
    return written


def _write(link: Link, writings: Iterable[Writing]) -> Writing | None:
    """One after the other, neighbours of a kind in one statement; the first in whose place is another version than it
    expects, if there is one: then something of the rest may have been written, and must be taken back."""
    for write, some in groupby(writings, _way_of):
        changed = write(link, list(some))
        if changed is not None:
            return changed
    return None


def _way_of(writing: Writing) -> Callable[[Link, Sequence[Writing]], Writing | None]:
    if writing.dropped:
        return _drop
    return _insert if writing.replacing is None else _update


def _insert(link: Link, writings: Sequence[Writing]) -> Writing | None:
    values: list[Any] = []
    for (kind, key, owner, body, _, expires), _, _ in writings:
        values += (kind, key, owner, body, expiry(expires))
    return _missing(writings, link.write_telling(_INSERT_MANY, values))


def _drop(link: Link, writings: Sequence[Writing]) -> Writing | None:
    values: list[Any] = []
    for record, replacing, _ in writings:
        values += (record.kind, record.key, replacing)
    return _missing(writings, link.write_telling(_DROP_MANY, values))


def _update(link: Link, writings: Sequence[Writing]) -> Writing | None:
    return next((writing for writing in writings if not write_one(link, writing)), None)


def _missing(writings: Sequence[Writing], written: Iterable[tuple[Any, ...]]) -> Writing | None:
    """The first that is not among those that the statement tells of; of two of one name, the second is not."""
    told = set(written)
    for writing in writings:
        name = writing.record.kind, writing.record.key
        if name not in told:
            return writing
        told.remove(name)
    return None
