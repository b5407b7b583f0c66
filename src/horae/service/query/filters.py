"""A query becomes a filter, as far as stores can answer it. What they cannot is refused: nobody is shown more than they asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from ...errors import InvalidSchedule, InvalidTask, Refusal
from ...model.accounts.principal import AGENT_LABEL, VIA_LABEL
from ...model.run import RunState
from ...model.task import TaskState
from ...ports.store import RunFilter, TaskFilter
from .instants import asked_stretch
from .parser import TEXT, Term, read_terms
from .refusals import refuse

_State = TypeVar("_State", bound=StrEnum)
_MICROSECOND: Final = timedelta(microseconds=1)
_MOMENTS: Final = "2026-11-01, 2026-11-01..2026-11-02, >=yesterday, <now"
_TASK_FIELDS: Final = {
    "state": "states",
    "owner": "owner",
    "name": "name",
    "lane": "lane",
    "label": "labels",
    "agent": "labels",
    "via": "labels",
    "kind": "kind",
    "prefix": "prefix",
    TEXT: "text",
}
_TASK_ALIASES: Final = {
    "task": "name",
    "tag": "label",
    "queue": "lane",
    "target": "kind",
    "tenant": "owner",
    "id": "prefix",
}
_RUN_FIELDS: Final = {"state": "states", "owner": "owner", "task": "task_id", "planned": "since"}
_RUN_ALIASES: Final = {"outcome": "state", "tenant": "owner", "due": "planned"}
_RUN_ONLY: Final = ("reason", "late", "dur", "error", "node", "payload")
_GRAMMAR: Final = frozenset({*_TASK_FIELDS, *_TASK_ALIASES, *_RUN_FIELDS, *_RUN_ALIASES, *_RUN_ONLY})
"""Every key that there is; a list of tasks and one of runs can each answer some of them."""
_OF_LABELS: Final = {"agent": AGENT_LABEL, "via": VIA_LABEL}
_SEVERAL: Final = ("state",)
"""Of these, several values can be asked for at once, and all others be ruled out."""


class _Said(NamedTuple):
    """One condition under the name that the filter has for it."""

    source: str
    key: str
    term: Term

    def refused(self, code: str, place: int | None = None, **facts: object) -> Refusal:
        return refuse(code, self.source, self.term.at if place is None else place, key=self.key, **facts)

    def bad(self, wanted: str, number: int = 0) -> Refusal:
        return self.refused("bad_query", self.term.places[number], value=self.term.values[number], wanted=wanted)


def narrowed_tasks(wanted: TaskFilter, source: str) -> TaskFilter:
    """Tasks that fit both; what is asked for in both, and could not be both, is refused."""
    for said in _conditions(source, _TASK_FIELDS, _TASK_ALIASES):
        field = _TASK_FIELDS[said.key]
        if field == "labels":
            wanted = wanted._replace(labels=tuple(sorted({*wanted.labels, _label(said)})))
            continue
        _check_new(said, getattr(wanted, field))
        value: Any = _states(said, TaskState) if field == "states" else said.term.values[0]
        wanted = wanted._replace(**{field: value})
    return wanted


def narrowed_runs(wanted: RunFilter, source: str, zone: str, now: datetime) -> RunFilter:
    """Runs that fit both. Moments are understood in this zone; `task_id` is whatever was said, an id or a name."""
    for said in _conditions(source, _RUN_FIELDS, _RUN_ALIASES):
        if said.key == "planned":
            _check_new(said, wanted.since or wanted.until)
            since, until = _range(said, zone, now)
            wanted = wanted._replace(since=since, until=until)
            continue
        field = _RUN_FIELDS[said.key]
        _check_new(said, getattr(wanted, field))
        value: Any = _states(said, RunState) if field == "states" else said.term.values[0]
        wanted = wanted._replace(**{field: value})
    return wanted


def _conditions(source: str, fields: Mapping[str, str], aliases: Mapping[str, str]) -> Iterable[_Said]:
    for term in read_terms(source):
        key = aliases.get(term.key, term.key)
        said = _Said(source, key, term)
        if key not in fields:
            raise _not_here(said, fields, aliases)
        if key not in _SEVERAL and term.negated:
            raise said.refused("query_no_not", allowed=", ".join(_SEVERAL))
        if key not in _SEVERAL and len(term.values) > 1:
            raise said.refused("query_no_or", term.places[1], allowed=", ".join(_SEVERAL))
        yield said


def _not_here(said: _Said, fields: Mapping[str, str], aliases: Mapping[str, str]) -> Refusal:
    key, at = said.term.key, said.term.at + said.term.negated
    if key in _GRAMMAR or key.startswith("payload."):
        return refuse("query_key_unanswered", said.source, at, key=key, allowed=", ".join(fields))
    allowed = _nearest_first(key, [*fields, *aliases])
    return refuse("unknown_query_key", said.source, at, key=key, allowed=allowed)


def _nearest_first(said: str, allowed: list[str]) -> str:
    """It is most likely the one that was meant."""
    near = get_close_matches(said, allowed, 1)
    return ", ".join([*near, *(each for each in allowed if each not in near)])


def _check_new(said: _Said, known: object) -> None:
    if known is not None:
        raise said.refused("query_key_twice")


def _states(said: _Said, kinds: type[_State]) -> frozenset[_State]:
    every = frozenset(kinds)
    for number, value in enumerate(said.term.values):
        if value not in every:
            raise said.bad(_nearest_first(value, [each.value for each in kinds]), number)
    chosen = frozenset(map(kinds, said.term.values))
    if said.term.negated and chosen == every:
        # Nothing is left, and nobody means that.
        raise said.bad(", ".join(kinds))
    return every - chosen if said.term.negated else chosen


def _label(said: _Said) -> tuple[str, str]:
    (value,) = said.term.values
    if said.key in _OF_LABELS:
        return _OF_LABELS[said.key], value
    name, equals, content = value.partition("=")
    if not equals or not name:
        raise said.bad("name=value")
    return name, content


def _range(said: _Said, zone: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    (value,) = said.term.values
    try:
        since, until = _read_range(value, lambda moment: asked_stretch(moment, zone, now))
    except (InvalidTask, InvalidSchedule):
        raise said.bad(_MOMENTS) from None
    if (since is None and until is None) or (since is not None and until is not None and since > until):
        raise said.bad(_MOMENTS)
    return since, until


def _read_range(value: str, read: Callable[[str], Any]) -> tuple[datetime | None, datetime | None]:
    """Both ends belong to it; a day begins with its first instant and ends with its last one."""
    first, dots, last = value.partition("..")
    if dots:
        return (read(first).first if first else None), (read(last).last if last else None)
    for sign, bounds in _SIGNS.items():
        if value.startswith(sign):
            return bounds(read(value.removeprefix(sign)))
    found = read(value)
    return found.first, found.last


_SIGNS: Final[dict[str, Callable[[Any], tuple[datetime | None, datetime | None]]]] = {
    ">=": lambda stretch: (stretch.first, None),
    "<=": lambda stretch: (None, stretch.last),
    ">": lambda stretch: (stretch.last + _MICROSECOND, None),
    "<": lambda stretch: (None, stretch.first - _MICROSECOND),
}
