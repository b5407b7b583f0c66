"""Plain Redis commands on a store's keys, independent of the store's code: the documents alone, no index."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from redis import Redis, Sentinel

_VERSION: Final = 16
"""A document begins with its version in so many digits."""
_PATIENCE: Final = 10.0
_CHUNK: Final = 1_000
_DOCUMENTS: Final = """
local found = {}
for _, kind in ipairs(ARGV) do
  for _, key in ipairs(redis.call('KEYS', kind)) do
    found[#found + 1] = redis.call('GET', key)
  end
end
return found
"""
"""All documents of some kinds at one moment."""
_BUSY: Final = """
local tag, due = ARGV[1], ARGV[2]
return redis.call('HLEN', tag .. 'live') + redis.call('ZCOUNT', tag .. 'timed', '-inf', due)
  + redis.call('ZCOUNT', tag .. 'ready', '-inf', due) + redis.call('ZCARD', tag .. 'reserved')
"""
"""Mostly enough to see that something is going on, and cheap; the documents have the answer."""

# A document of a task has two lines: its definition, and [number, status, entries, live runs].
_TASK_ID, _NAME, _CREATED = 0, 2, 8
_NUMBER, _STATUS, _ENTRIES, _LIVE = range(4)
_STATE, _REASON = 0, 10
_SLOT, _DUE, _PLANNED = 0, 2, 3


class TaskDocument(NamedTuple):
    definition: list[Any]
    rest: list[Any]

    @property
    def id(self) -> str:
        return str(self.definition[_TASK_ID])


@contextmanager
def connected(url: str) -> Iterator[tuple[Any, str]]:
    """Yield a client and the beginning of all keys. Each call opens a connection, so that no fault affects a later call."""
    parts = urlsplit(url)
    (prefix,) = parse_qs(parts.query).get("prefix", ["horae"])
    options: dict[str, Any] = {"decode_responses": True, "socket_timeout": _PATIENCE}
    if parts.scheme == "redis+sentinel":
        places = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in parts.netloc.split(","))]
        service, _, database = parts.path[1:].partition("/")
        make_sentinel: Any = Sentinel
        client = make_sentinel(places, socket_timeout=_PATIENCE).master_for(service, db=int(database or 0), **options)
    else:
        client = Redis.from_url(parts._replace(query="").geturl(), **options)
    try:
        yield client, f"{{{prefix}}}:"
    finally:
        client.close()


def read_runs(url: str) -> list[tuple[Any, ...]]:
    """Return (task, id, planned, attempt, state, reason, token, claimed, started, ended, span…) by task, planned, attempt."""
    with connected(url) as (client, tag):
        texts = client.eval(_DOCUMENTS, 0, f"{tag}task:*", f"{tag}run:*")
    bodies = [text[_VERSION:] for text in texts]
    tasks = {each.id: each for each in map(_task_document, filter(_is_task, bodies))}
    rows = [(task.id, *run) for task in tasks.values() for run in task.rest[_LIVE]]
    rows += [tuple(json.loads(body)) for body in bodies if not _is_task(body)]
    # Runs of a task that is gone are of no interest, as in the SQL stores, where they go with it.
    known = [_run_row(row) for row in rows if row[0] in tasks]
    return sorted(known, key=lambda row: (tasks[row[0]].rest[_NUMBER], row[2], row[3]))


def read_events(url: str) -> list[tuple[str, str]]:
    """Return (run, kind) of all events of runs, in the order of their numbers."""
    with connected(url) as (client, tag):
        entries = client.xrange(f"{tag}events")
    events = [json.loads(fields["e"]) for _, fields in entries]
    return [(run, kind) for kind, _, _, _, run, _ in events if run is not None]


def count_busy(url: str, due: int) -> int:
    """Count live runs, and agenda entries due by a microsecond."""
    with connected(url) as (client, tag):
        if found := client.eval(_BUSY, 0, tag, due):
            return int(found)
    return sum(
        len(task.rest[_LIVE]) + sum(entry[_DUE] <= due for entry in task.rest[_ENTRIES])
        for task in _task_documents(url)
    )


def read_tasks(url: str) -> list[tuple[str, str, int]]:
    """Return (id, name, microsecond of creation)."""
    return [(each.id, each.definition[_NAME], each.definition[_CREATED]) for each in _task_documents(url)]


def read_entries(url: str) -> list[tuple[str, str, int]]:
    """Return (task, slot, planned microsecond) of all agenda entries."""
    return [(each.id, entry[_SLOT], entry[_PLANNED]) for each in _task_documents(url) for entry in each.rest[_ENTRIES]]


def read_state(url: str, task: str) -> list[tuple[str, str | None]]:
    """Return state and reason of a task."""
    found = [each.rest[_STATUS] for each in _task_documents(url) if each.id == task]
    return [(status[_STATE], status[_REASON]) for status in found]


def overwrite_state(url: str, run: str, state: str) -> None:
    """Change the state of an ended run without the store, and clear its reason: for planted defects."""
    with connected(url) as (client, tag):
        text = client.get(f"{tag}run:{run}")
        fields = json.loads(text[_VERSION:])
        fields[8:10] = [state, None]
        client.set(f"{tag}run:{run}", text[:_VERSION] + json.dumps(fields))


def read_sizes(url: str) -> list[tuple[str, int, int]]:
    """Return (kind of key, bytes, number of keys)."""
    numbers: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    with connected(url) as (client, tag):
        cursor = -1
        while cursor:
            cursor, keys = client.scan(max(cursor, 0), f"{tag}*", _CHUNK)
            pipeline = client.pipeline(transaction=False)
            for key in keys:
                pipeline.memory_usage(key)
            for key, size in zip(keys, pipeline.execute(), strict=True):
                kind = key.removeprefix(tag).partition(":")[0]
                numbers[kind] += 1
                sizes[kind] += size or 0
    return [(kind, sizes[kind], numbers[kind]) for kind in sorted(numbers)]


def _task_documents(url: str) -> list[TaskDocument]:
    with connected(url) as (client, tag):
        texts = client.eval(_DOCUMENTS, 0, f"{tag}task:*")
    return [_task_document(text[_VERSION:]) for text in texts]


def _is_task(body: str) -> bool:
    return "\n" in body


def _task_document(body: str) -> TaskDocument:
    # What follows the end of the second line is left of a longer one.
    definition, rest, *_ = body.split("\n", 2)
    return TaskDocument(json.loads(definition), json.loads(rest))


def _run_row(fields: tuple[Any, ...]) -> tuple[Any, ...]:
    task, run, _, _, _, planned, _, attempt, state, reason, token, _, *rest = fields
    claimed, started, ended, _, first, last, count, *_ = rest
    return (task, run, planned, attempt, state, reason, token, claimed, started, ended, first, last, count)
