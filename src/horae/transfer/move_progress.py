"""Resume point of `horae move`, stored in the target store under a key that is never copied itself."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ..ports.full_store import FullStore
from ..ports.transfer import Part
from .refusals import refuse

PROGRESS_KEY: Final = "move"
_EARLIER_NAMES: Final = {
    "remembered": Part.METADATA.value,
    "barred": Part.BLOCKED_OWNERS.value,
    "tallies": Part.COUNTERS.value,
}
"""Names of parts in the progress that an earlier version wrote: an interrupted move goes on after an upgrade."""


class NamedStore(NamedTuple):
    """One of the two stores. `name` identifies it without credentials, and is the same at every try."""

    name: str
    store: FullStore


class MoveProgress(NamedTuple):
    """Resume point: all parts before `part` are copied, and of `part` all rows up to `after`. `part` None: all are copied.

    `done`: the stores were compared as well; no move writes to this target any more. Field names are stored as JSON.
    """

    source: str
    part: Part | None = Part.MARKS
    after: str | None = None
    done: bool = False


async def read_progress(target: NamedStore, source: str) -> MoveProgress | None:
    """Return the progress of a move from that source, None for an empty target. Refuses a target with other content."""
    text = await target.store.read_metadata(PROGRESS_KEY)
    if text is None:
        stock = await target.store.count_parts()
        # Tasks and runs first: they explain best that the target is the wrong store.
        for part in (Part.TASKS, Part.RUNS, *Part):
            if stock[part]:
                raise refuse("move_target_not_empty", store=target.name, part=part, count=stock[part])
        return None
    begun = _decode(json.loads(text))
    if begun.source != source:
        raise refuse("move_begun_elsewhere", store=target.name, source=begun.source)
    return begun


def _decode(data: dict[str, Any]) -> MoveProgress:
    name = data["part"]
    part = None if name is None else Part(_EARLIER_NAMES.get(name, name))
    return MoveProgress(str(data["source"]), part, data["after"], bool(data["done"]))


async def write_progress(target: NamedStore, begun: MoveProgress) -> None:
    await target.store.write_metadata(PROGRESS_KEY, json.dumps(begun._asdict()))
