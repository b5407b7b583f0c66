"""Pages of tasks, each by whichever index leaves the least to look at. All lead through tasks in the order of the list."""

from __future__ import annotations

from typing import Any, Final

from ...model.counts import STATE
from ...model.page import LARGEST_PAGE
from ...model.task import TaskState
from ...ports.store import TaskFilter
from ..codec.json_codecs import encode
from ..codec.rows import Row
from .connection import Link

_MANY: Final = LARGEST_PAGE
"""Labels that so many tasks have are not told apart: each of them fills a page soon."""


async def task_rows(link: Link, wanted: TaskFilter, after: int, limit: int) -> list[Row]:
    """The numbers and versions of the next so many tasks."""
    values = (
        after,
        limit,
        None if wanted.states is None else sorted(str(state) for state in wanted.states),
        wanted.owner,
        wanted.name,
        wanted.lane,
        wanted.kind,
        wanted.text,
        wanted.prefix,
        encode(wanted.labels),
    )
    if wanted.name is not None or wanted.prefix is not None:
        return await link.query("tasks_page", *values)
    by_state = await _goes_by_state(link, wanted)
    if wanted.labels:
        label, many = await _rarest(link, wanted, compared=by_state)
        if not by_state or many < _MANY:
            return await link.query("tasks_page_of_label", *values, label)
    if by_state:
        return await _state_by_state(link, wanted, values, limit)
    return await link.query("tasks_page", *values)


async def _rarest(link: Link, wanted: TaskFilter, *, compared: bool) -> tuple[str, int]:
    """The label that the fewest tasks have, and how many do; one that is compared with nothing need not be counted."""
    labels = [encode(label) for label in wanted.labels]
    if len(labels) == 1 and not compared:
        return labels[0], 0
    counted = [((await link.query("tasks_with_label", each, wanted.owner, _MANY))[0][0], each) for each in labels]
    many, label = min(counted)
    return label, many


async def _goes_by_state(link: Link, wanted: TaskFilter) -> bool:
    """Whether all these states have an index, and an owner's own tasks are not fewer than everybody's in them."""
    if wanted.states is None or TaskState.ACTIVE in wanted.states:
        return False
    if wanted.owner is None:
        return True
    names = [STATE + state for state in sorted(wanted.states)]
    mine, everybodys = (await link.query("tasks_of_owner_and_in_states", wanted.owner, names))[0]
    return bool(mine > everybodys)


async def _state_by_state(link: Link, wanted: TaskFilter, values: tuple[Any, ...], limit: int) -> list[Row]:
    """Each in order by its index: there may be many of any."""
    found: list[Row] = []
    for state in wanted.states or ():
        found += [tuple(row) for row in await link.query("tasks_page_in_state", *values, str(state))]
    return sorted(found)[:limit]
