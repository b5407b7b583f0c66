"""Parcels that any store can tell of by what it is asked anyway, and the places from which pages go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar, cast

from ..model.change import Facts
from ..model.entry import Entry, Stand
from ..model.page import Page
from ..ports.store import Book, Feed, RunFilter, TaskFilter
from ..ports.transfer import ENDED, EVENT_MARK, TOKEN_MARK, Mark, Parcel, Part
from .codec.json_codecs import decode, encode

_P = TypeVar("_P", bound=Parcel)


class Readable(Book, Feed, Protocol):
    """What can be read of tasks, runs, nodes and events."""


async def read_parcels(store: Readable, part: Part, after: str | None, limit: int) -> Page[Parcel]:
    """Of nodes, tasks, runs that have ended, and events; a store that has a faster way to its runs goes that one."""
    if part is Part.NODES:
        nodes = [node for node in await store.nodes() if after is None or node.id > after]
        return page_of(nodes, limit, lambda node: node.id)
    if part is Part.TASKS:
        found = await store.tasks(TaskFilter(), after, limit)
        return Page(tuple(as_carried(facts) for facts in found.items), found.after)
    if part is Part.RUNS:
        runs = await store.runs(RunFilter(states=ENDED), after, limit)
        return Page(runs.items, runs.after)
    if part is Part.EVENTS:
        return page_of(await store.events(int(after or 0), limit), limit, lambda told: str(told.number))
    raise LookupError(f"{part} is not read like this")


def marks_page(token: int, event: int, after: str | None, limit: int) -> Page[Parcel]:
    """The last number of either, if one was ever given."""
    marks = [mark for mark in (Mark(EVENT_MARK, event), Mark(TOKEN_MARK, token)) if mark.number]
    return page_of([mark for mark in marks if after is None or mark.name > after], limit, lambda mark: mark.name)


def as_carried(facts: Facts) -> Facts:
    """Without what the store itself adds to it."""
    return facts._replace(entries=tuple(_timed(entry) for entry in facts.entries), lanes=(), barred=None)


def _timed(entry: Entry) -> Entry:
    """Who stands in an owner's queue is the store's own business."""
    return entry._replace(stand=Stand.TIMED) if entry.stand is Stand.READY else entry


def page_of(found: Iterable[_P], limit: int, key: Callable[[_P], str]) -> Page[Parcel]:
    """As many as were asked for; where that many were found, there may be more."""
    items = tuple(islice(found, limit))
    return Page(items, key(items[-1]) if len(items) == limit else None)


def place(*key: Any) -> str:
    """Where a page ended, as the one after it is asked for."""
    return encode(key)


def place_in(after: str | None, beginning: Sequence[Any]) -> tuple[Any, ...]:
    """The key that a place names; `beginning` comes before all keys."""
    return tuple(beginning) if after is None else tuple(cast("list[Any]", decode(after)))
