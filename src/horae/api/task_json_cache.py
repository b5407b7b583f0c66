"""Tasks of a list as JSON text: what does not change from run to run is written once, and remembered."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ..choices import Language
from ..model.change import Facts
from ..model.run import Run
from ..model.task import Task
from ..web.responses import encoded
from ..wire.tasks import StandNow, fixed_json, moving_json, stand_json, stand_of

_SHORT: Final = 2_048
_NOTHING_MORE: Final = b'"last":null,"missed_24h":null}'


def task_text(facts: Facts, language: Language, last: Run | None = None) -> bytes:
    """The same as `task_json`, written down."""
    task = facts.task
    short = len(task.payload) + len(task.target.spec) <= _SHORT
    fixed = _fixed(task, language) if short else _written(task, language)
    if last is not None:
        return b"%s,%s" % (fixed, encoded(moving_json(facts, last))[1:])
    return b"%s,%s,%s" % (fixed, _stand(stand_of(facts)), _NOTHING_MORE)


@lru_cache(maxsize=1_024)
def _stand(stand: StandNow) -> bytes:
    return encoded(stand_json(*stand))[1:-1]


@lru_cache(maxsize=1_024)
def _fixed(task: Task, language: Language) -> bytes:
    return _written(task, language)


def _written(task: Task, language: Language) -> bytes:
    return encoded(fixed_json(task, language))[:-1]
