"""Records that are written together with something else, in its transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...model.record import Writing
from ...model.refusals import refuse
from ..rows import expiry
from .link import Link
from .statements import sql

_INSERT: Final = sql("insert_record")
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
    for writing in writings:
        if not write_one(link, writing):
            raise refuse("record_changed", kind=writing.record.kind, key=writing.record.key)


def write_together(link: Link, writings: Iterable[Writing]) -> bool:
    """All of them or none, within a transaction that goes on either way."""
    link.query("SAVEPOINT records")
    written = all(write_one(link, writing) for writing in writings)
    if not written:
        link.query("ROLLBACK TO records")
    link.query("RELEASE records")
    return written
