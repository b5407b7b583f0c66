"""Pages of exported rows built from a store's ordinary queries, and the pagination cursors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar, cast

from ..model.change import Facts
from ..model.entry import Entry, EntryState
from ..model.page import Page
from ..ports.store import Book, Feed, RunFilter, TaskFilter
from ..ports.transfer import ENDED, EVENT_MARK, TOKEN_MARK, HighWaterMark, Part, TransferItem
from .codec.json_codecs import decode, encode

_P = TypeVar("_P", bound=TransferItem)


class ReadableStore(Book, Feed, Protocol):
    """A store with the read queries of tasks, runs, nodes and events."""


async def read_page(store: ReadableStore, part: Part, after: str | None, limit: int) -> Page[TransferItem]:
    """Read one page of nodes, tasks, ended runs or events; raises LookupError for any other part.

    A store with a faster query for its runs uses that one instead.
    """
    if part is Part.NODES:
        later_nodes = [node for node in await store.nodes() if after is None or node.id > after]
        return make_page(later_nodes, limit, lambda node: node.id)
    if part is Part.TASKS:
        tasks = await store.tasks(TaskFilter(), after, limit)
        return Page(tuple(without_store_state(facts) for facts in tasks.items), tasks.after)
    if part is Part.RUNS:
        runs = await store.runs(RunFilter(states=ENDED), after, limit)
        return Page(runs.items, runs.after)
    if part is Part.EVENTS:
        return make_page(await store.events(int(after or 0), limit), limit, lambda event: str(event.number))
    raise LookupError(f"{part} is not read like this")


def make_marks_page(token: int, event: int, after: str | None, limit: int) -> Page[TransferItem]:
    """Return the page of marks: the last claim token and the last event number, each if it is not zero."""
    marks = [mark for mark in (HighWaterMark(EVENT_MARK, event), HighWaterMark(TOKEN_MARK, token)) if mark.number]
    return make_page([mark for mark in marks if after is None or mark.name > after], limit, lambda mark: mark.name)


def without_store_state(facts: Facts) -> Facts:
    """Return the facts without what each store derives itself: queue positions, lane use, blocks."""
    return facts._replace(entries=tuple(_reset_ready(entry) for entry in facts.entries), lanes=(), block_reason=None)


def _reset_ready(entry: Entry) -> Entry:
    """Turn a ready entry back into a timed one: ready queues are internal to a store."""
    return entry._replace(state=EntryState.TIMED) if entry.state is EntryState.READY else entry


def make_page(parcels: Iterable[_P], limit: int, key: Callable[[_P], str]) -> Page[TransferItem]:
    """Return the first `limit` items as a page; a full page has a cursor, because there may be more."""
    items = tuple(islice(parcels, limit))
    return Page(items, key(items[-1]) if len(items) == limit else None)


def encode_position(*key: Any) -> str:
    """Encode the key of the last row of a page as a cursor."""
    return encode(key)


def decode_position(after: str | None, beginning: Sequence[Any]) -> tuple[Any, ...]:
    """Decode a cursor to its key; without a cursor, `beginning`, which sorts before all keys."""
    return tuple(beginning) if after is None else tuple(cast("list[Any]", decode(after)))
