"""How far a move has come: one fact in its target, under a name that is never moved itself."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ..ports.full_store import Keeping
from ..ports.transfer import Part
from .refusals import refuse

MARK: Final = "move"


class Side(NamedTuple):
    """One of the two stores. `name` says which it is, without any password, and stays the same from one try to the next."""

    name: str
    store: Keeping


class Begun(NamedTuple):
    """Everything before `part` has arrived, and of that everything up to `after`. None: all parts have.

    `done`: both were compared as well, and nothing is written there by a move any more.
    """

    source: str
    part: Part | None = Part.MARKS
    after: str | None = None
    done: bool = False


async def look_at(target: Side, source: str) -> Begun | None:
    """How far a move from that source has come; None where none has begun. Anything else that is there is refused."""
    said = await target.store.recall(MARK)
    if said is None:
        stock = await target.store.stock()
        # Tasks say most to whoever mistook one store for another.
        for part in (Part.TASKS, Part.RUNS, *Part):
            if stock[part]:
                raise refuse("move_target_not_empty", store=target.name, part=part, count=stock[part])
        return None
    begun = _read(json.loads(said))
    if begun.source != source:
        raise refuse("move_begun_elsewhere", store=target.name, source=begun.source)
    return begun


def _read(said: dict[str, Any]) -> Begun:
    part = None if said["part"] is None else Part(said["part"])
    return Begun(str(said["source"]), part, said["after"], bool(said["done"]))


async def note(target: Side, begun: Begun) -> None:
    await target.store.remember(MARK, json.dumps(begun._asdict()))
