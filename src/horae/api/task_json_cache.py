"""Cache of rendered task JSON, by task: a task whose definition, status and agenda have not changed is not encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from ..choices import Language
from ..model.change import Facts
from ..model.run import Run
from ..model.task import Task
from ..schedule import After
from ..web.responses import encode_json
from ..wire.tasks.task import NO_NAMES, live_json, static_json, status_json, task_json

_MAX_CACHED_CHARACTERS: Final = 2_048
_MAX_CACHED_TASKS: Final = 2_048
_NO_LAST_RUN: Final = b'"last":null,"missed_24h":null}'


class _Rendered(NamedTuple):
    """Equal facts render to equal JSON. Readers cache tasks, so that task and status are mostly the same objects, which are
    equal without a comparison."""

    facts: Facts
    static: bytes
    json: bytes
    has_lanes: bool
    """The JSON depends on the instant, too: an entry waits in the queue of its route from its due instant on."""


_cache: Final[dict[tuple[str, Language], _Rendered]] = {}


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
        # The names of other tasks are not compared with those of the cached JSON.
        return encode_json(task_json(facts, language, last, names=names, now=now))
    cached = _cache.get((task.id, language))
    if cached is not None and last is None and not cached.has_lanes and cached.facts == facts:
        return cached.json
    if cached is not None and cached.facts.task != task:
        cached = None
    if last is not None:
        static = _encode_static(task, language) if cached is None else cached.static
        return b"%s,%s" % (static, encode_json(live_json(facts, last, now=now))[1:])
    static = _encode_static(task, language) if cached is None else cached.static
    rendered = b"%s,%s,%s" % (static, encode_json(status_json(facts, now))[1:-1], _NO_LAST_RUN)
    if len(task.payload) + len(task.target.spec) <= _MAX_CACHED_CHARACTERS:
        has_lanes = any(entry.lane is not None for entry in facts.entries)
        _keep(task, language, _Rendered(facts, static, rendered, has_lanes))
    return rendered


def _keep(task: Task, language: Language, rendered: _Rendered) -> None:
    key = (task.id, language)
    if len(_cache) >= _MAX_CACHED_TASKS and key not in _cache:
        del _cache[next(iter(_cache))]
    _cache[key] = rendered


def _encode_static(task: Task, language: Language) -> bytes:
    return encode_json(static_json(task, language))[:-1]
