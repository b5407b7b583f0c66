"""LRU cache of rendered task JSON for lists: the definition and the status of a task are encoded separately and cached."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final

from ..choices import Language
from ..model.change import Facts
from ..model.run import Run
from ..model.task import Task
from ..schedule import After
from ..web.responses import encode_json
from ..wire.tasks import NO_NAMES, StatusKey, live_json, static_json, status_json, status_key, task_json

_MAX_CACHED_CHARACTERS: Final = 2_048
_NO_LAST_RUN: Final = b'"last":null,"missed_24h":null}'


def encode_task(
    facts: Facts,
    language: Language,
    last: Run | None = None,
    names: Mapping[str, str] = NO_NAMES,
    *,
    now: datetime | None = None,
) -> bytes:
    """Return the same JSON as `task_json`, encoded."""
    task = facts.task
    if names and isinstance(task.schedule, After):
        # The names of other tasks are no part of the cache key.
        return encode_json(task_json(facts, language, last, names=names, now=now))
    is_small = len(task.payload) + len(task.target.spec) <= _MAX_CACHED_CHARACTERS
    static = _cached_static(task, language) if is_small else _encode_static(task, language)
    if last is not None:
        return b"%s,%s" % (static, encode_json(live_json(facts, last, now=now))[1:])
    return b"%s,%s,%s" % (static, _cached_status(status_key(facts, now)), _NO_LAST_RUN)


@lru_cache(maxsize=1_024)
def _cached_status(key: StatusKey) -> bytes:
    return encode_json(status_json(*key))[1:-1]


@lru_cache(maxsize=1_024)
def _cached_static(task: Task, language: Language) -> bytes:
    return _encode_static(task, language)


def _encode_static(task: Task, language: Language) -> bytes:
    return encode_json(static_json(task, language))[:-1]
