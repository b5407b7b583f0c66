"""Translation of a query into a store filter; conditions that a store cannot answer are refused, never ignored."""

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
from .instants import parse_span
from .parser import TEXT, Term, parse_query
from .refusals import refuse

_State = TypeVar("_State", bound=StrEnum)
_MICROSECOND: Final = timedelta(microseconds=1)
_RANGE_EXAMPLES: Final = "2026-11-01, 2026-11-01..2026-11-02, >=yesterday, <now"
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
    "is": "failing",
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
_UNSUPPORTED_KEYS: Final = ("reason", "late", "dur", "error", "node", "payload")
_ALL_KEYS: Final = frozenset({*_TASK_FIELDS, *_TASK_ALIASES, *_RUN_FIELDS, *_RUN_ALIASES, *_UNSUPPORTED_KEYS})
"""Every key of the language; a list of tasks and a list of runs each support some of them."""
_FAILING: Final = "failing"
_LABEL_KEYS: Final = {"agent": AGENT_LABEL, "via": VIA_LABEL}
_MULTI_VALUE_KEYS: Final = ("state",)
"""Keys that accept several values and negation."""


class _Condition(NamedTuple):
    """One term of the query, under the key that the filter uses."""

    source: str
    key: str
    term: Term

    def refusal(self, code: str, place: int | None = None, **facts: object) -> Refusal:
        return refuse(code, self.source, self.term.offset if place is None else place, key=self.key, **facts)

    def bad_value(self, wanted: str, number: int = 0) -> Refusal:
        return self.refusal("bad_query", self.term.value_offsets[number], value=self.term.values[number], wanted=wanted)


def narrow_task_filter(task_filter: TaskFilter, source: str) -> TaskFilter:
    """Add the conditions of a query to a filter; a field that is given in both is refused."""
    for condition in _read_conditions(source, _TASK_FIELDS, _TASK_ALIASES):
        field = _TASK_FIELDS[condition.key]
        if field == "labels":
            task_filter = task_filter._replace(labels=tuple(sorted({*task_filter.labels, _parse_label(condition)})))
            continue
        if field == "failing":
            task_filter = task_filter._replace(failing=_parse_is(condition))
            continue
        _check_unset(condition, getattr(task_filter, field))
        value: Any = _parse_states(condition, TaskState) if field == "states" else condition.term.values[0]
        task_filter = task_filter._replace(**{field: value})
    return task_filter


def narrow_run_filter(run_filter: RunFilter, source: str, zone: str, now: datetime) -> RunFilter:
    """Add the conditions of a query to a filter. Times are read in this zone; `task_id` holds an id or a name."""
    for condition in _read_conditions(source, _RUN_FIELDS, _RUN_ALIASES):
        if condition.key == "planned":
            _check_unset(condition, run_filter.since or run_filter.until)
            since, until = _parse_range(condition, zone, now)
            run_filter = run_filter._replace(since=since, until=until)
            continue
        field = _RUN_FIELDS[condition.key]
        _check_unset(condition, getattr(run_filter, field))
        value: Any = _parse_states(condition, RunState) if field == "states" else condition.term.values[0]
        run_filter = run_filter._replace(**{field: value})
    return run_filter


def _read_conditions(source: str, fields: Mapping[str, str], aliases: Mapping[str, str]) -> Iterable[_Condition]:
    for term in parse_query(source):
        key = aliases.get(term.key, term.key)
        condition = _Condition(source, key, term)
        if key not in fields:
            raise _unknown_key(condition, fields, aliases)
        if key not in _MULTI_VALUE_KEYS and term.negated:
            raise condition.refusal("query_no_not", allowed=", ".join(_MULTI_VALUE_KEYS))
        if key not in _MULTI_VALUE_KEYS and len(term.values) > 1:
            raise condition.refusal("query_no_or", term.value_offsets[1], allowed=", ".join(_MULTI_VALUE_KEYS))
        yield condition


def _unknown_key(condition: _Condition, fields: Mapping[str, str], aliases: Mapping[str, str]) -> Refusal:
    key, at = condition.term.key, condition.term.offset + condition.term.negated
    if key in _ALL_KEYS or key.startswith("payload."):
        return refuse("query_key_unanswered", condition.source, at, key=key, allowed=", ".join(fields))
    allowed = _nearest_first(key, [*fields, *aliases])
    return refuse("unknown_query_key", condition.source, at, key=key, allowed=allowed)


def _nearest_first(text: str, allowed: list[str]) -> str:
    """Join the allowed values, with the closest match first."""
    nearest = get_close_matches(text, allowed, 1)
    return ", ".join([*nearest, *(each for each in allowed if each not in nearest)])


def _check_unset(condition: _Condition, value: object) -> None:
    if value is not None:
        raise condition.refusal("query_key_twice")


def _parse_states(condition: _Condition, kinds: type[_State]) -> frozenset[_State]:
    every = frozenset(kinds)
    for number, value in enumerate(condition.term.values):
        if value not in every:
            raise condition.bad_value(_nearest_first(value, [each.value for each in kinds]), number)
    chosen = frozenset(map(kinds, condition.term.values))
    if condition.term.negated and chosen == every:
        # The negation would exclude every state.
        raise condition.bad_value(", ".join(kinds))
    return every - chosen if condition.term.negated else chosen


def _parse_is(condition: _Condition) -> bool:
    if condition.term.values != (_FAILING,):
        raise condition.bad_value(_FAILING)
    return True


def _parse_label(condition: _Condition) -> tuple[str, str]:
    (value,) = condition.term.values
    if condition.key in _LABEL_KEYS:
        return _LABEL_KEYS[condition.key], value
    name, equals, content = value.partition("=")
    if not equals or not name:
        raise condition.bad_value("name=value")
    return name, content


def _parse_range(condition: _Condition, zone: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    (value,) = condition.term.values
    try:
        since, until = _read_range(value, lambda moment: parse_span(moment, zone, now))
    except (InvalidTask, InvalidSchedule):
        raise condition.bad_value(_RANGE_EXAMPLES) from None
    if (since is None and until is None) or (since is not None and until is not None and since > until):
        raise condition.bad_value(_RANGE_EXAMPLES)
    return since, until


def _read_range(value: str, read: Callable[[str], Any]) -> tuple[datetime | None, datetime | None]:
    """Parse a range with inclusive ends; a day begins with its first instant and ends with its last one."""
    first, dots, last = value.partition("..")
    if dots:
        return (read(first).first if first else None), (read(last).last if last else None)
    for sign, bounds in _OPERATORS.items():
        if value.startswith(sign):
            return bounds(read(value.removeprefix(sign)))
    span = read(value)
    return span.first, span.last


_OPERATORS: Final[dict[str, Callable[[Any], tuple[datetime | None, datetime | None]]]] = {
    ">=": lambda span: (span.first, None),
    "<=": lambda span: (None, span.last),
    ">": lambda span: (span.last + _MICROSECOND, None),
    "<": lambda span: (None, span.first - _MICROSECOND),
}
