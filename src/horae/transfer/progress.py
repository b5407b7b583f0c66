"""Progress of a move: a resume point in the target's metadata, under a key that is never moved itself."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ..ports.full_store import Keeping
from ..ports.transfer import Part
from .refusals import refuse

MARK: Final = "move"


class Side(NamedTuple):
    """One of the two stores. `name` identifies it without credentials, and is the same at every try."""

    name: str
    store: Keeping


class Begun(NamedTuple):
    """Resume point: all parts before `part` are copied, and of `part` all rows up to `after`. `part` None: all are copied.

    `done`: the stores were compared as well; no move writes to this target any more. Field names are stored as JSON.
    """

    source: str
    part: Part | None = Part.MARKS
    after: str | None = None
    done: bool = False


async def look_at(target: Side, source: str) -> Begun | None:
    """Return the progress of a move from that source, None for an empty target. Refuses a target with other content."""
    text = await target.store.read_metadata(MARK)
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


def _decode(data: dict[str, Any]) -> Begun:
    part = None if data["part"] is None else Part(data["part"])
    return Begun(str(data["source"]), part, data["after"], bool(data["done"]))


async def note(target: Side, begun: Begun) -> None:
    await target.store.write_metadata(MARK, json.dumps(begun._asdict()))
