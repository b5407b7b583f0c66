"""Pages of tasks, each by whichever index leaves the least to look at. All lead through tasks in the order of the list."""

from __future__ import annotations

from typing import Any, Final

from ...model.page import LARGEST_PAGE
from ...model.task import TaskState
from ...ports.store import TaskFilter
from ..codec.json_codecs import encode
from .connection import Link, Row
from .statements import sql

_PAGE: Final = sql("tasks_page")
_OF_OWNER: Final = sql("tasks_page_of_owner")
_OF_NAME: Final = sql("tasks_page_of_name")
_OF_PREFIX: Final = sql("tasks_page_of_prefix")
_OF_LABEL: Final = sql("tasks_page_of_label")
_OF_LABEL_AND_OWNER: Final = sql("tasks_page_of_label_and_owner")
_WITH_LABEL: Final = sql("tasks_with_label")
_WITH_LABEL_AND_OWNER: Final = sql("tasks_with_label_and_owner")
_OF_OWNER_AND_IN_STATES: Final = sql("tasks_of_owner_and_in_states")
_IN_TROUBLE: Final = sql("tasks_page_in_trouble")
_DONE: Final = sql("tasks_page_done")
_BY_STATE: Final = {
    TaskState.PAUSED: _IN_TROUBLE,
    TaskState.FAILED: _IN_TROUBLE,
    TaskState.COMPLETED: _DONE,
    TaskState.CANCELLED: _DONE,
}

_MANY: Final = LARGEST_PAGE
"""Labels that so many tasks have are not told apart: each of them fills a page soon."""


def task_rows(link: Link, wanted: TaskFilter, after: int, limit: int) -> list[Row]:
    """The numbers and versions of the next so many tasks."""
    bindings: dict[str, Any] = {
        "after": after,
        "states": None if wanted.states is None else encode(sorted(wanted.states)),
        "name": wanted.name,
        "lane": wanted.lane,
        "labels": encode(wanted.labels),
        "owner": wanted.owner,
        "kind": wanted.kind,
        "text": wanted.text,
        "prefix": wanted.prefix,
        "limit": limit,
    }
    if wanted.prefix is not None:
        return link.query(_OF_PREFIX, bindings)
    if wanted.name is not None:
        return link.query(_OF_NAME, bindings)
    by_state = _goes_by_state(link, wanted)
    if wanted.labels:
        label, many = _rarest(link, wanted, compared=by_state)
        if not by_state or many < _MANY:
            return link.query(_OF_LABEL if wanted.owner is None else _OF_LABEL_AND_OWNER, bindings | {"label": label})
    if by_state:
        return _state_by_state(link, wanted, bindings)
    return link.query(_PAGE if wanted.owner is None else _OF_OWNER, bindings)


def _rarest(link: Link, wanted: TaskFilter, *, compared: bool) -> tuple[str, int]:
    """The label that the fewest tasks have, and how many do; one that is compared with nothing need not be counted."""
    labels = [encode(label) for label in wanted.labels]
    if len(labels) == 1 and not compared:
        return labels[0], 0
    statement = _WITH_LABEL if wanted.owner is None else _WITH_LABEL_AND_OWNER
    bindings = {"most": _MANY} if wanted.owner is None else {"most": _MANY, "owner": wanted.owner}
    counted = [(link.query(statement, bindings | {"label": label})[0][0], label) for label in labels]
    many, label = min(counted)
    return label, many


def _goes_by_state(link: Link, wanted: TaskFilter) -> bool:
    """Whether all these states have an index, and an owner's own tasks are not fewer than everybody's in them."""
    if wanted.states is None or not wanted.states <= _BY_STATE.keys():
        return False
    if wanted.owner is None:
        return True
    states = encode(sorted(wanted.states))
    mine, everybodys = link.query(_OF_OWNER_AND_IN_STATES, {"owner": wanted.owner, "states": states})[0]
    return bool(mine > everybodys)


def _state_by_state(link: Link, wanted: TaskFilter, bindings: dict[str, Any]) -> list[Row]:
    """Each in order by its index: there may be many of any."""
    states = wanted.states or ()
    found = [row for state in states for row in link.query(_BY_STATE[state], bindings | {"state": state})]
    return sorted(found)[: bindings["limit"]]
