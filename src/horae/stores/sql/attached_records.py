"""Records that are written together with something else, in its transaction."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.record import Writing
from ...model.refusals import refuse
from .connection import Link


async def write_beside(link: Link, writings: Iterable[Writing]) -> None:
    """The last that is done before the commit, or nothing of the transaction: whoever asked for it must look again."""
    late = await write_in_order(link, writings)
    if late is not None:
        raise refuse("record_changed", kind=late.record.kind, key=late.record.key)


async def write_in_order(link: Link, writings: Iterable[Writing]) -> Writing | None:
    """In order of their keys, so that nobody waits in a circle; those of one record stay in the order in which they came.

    The first with which somebody else was faster: then it must not be committed.
    """
    ordered = sorted(writings, key=_key)
    return await link.write_records(ordered) if ordered else None


def _key(writing: Writing) -> tuple[str, str]:
    return writing.record.kind, writing.record.key
