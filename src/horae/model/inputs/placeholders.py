"""Placeholders `{horae.…}` in a task's payload and target: a closed list, filled from the run by plain substitution.

A task with placeholders is a `TemplateTask`, recognised when it is built or read from a store, so that the runs of all
other tasks look for none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...schedule.preview import make_fires
from ..limits import PAYLOAD_BYTES, TARGET_BYTES
from ..refusals import refuse
from ..run import Run, Span
from ..task import Target, Task

PLACEHOLDERS: Final = ("planned", "planned_local", "first", "last", "count", "attempt", "key", "previous")
"""Names after `{horae.`: the planned instant in UTC and in the task's zone, the span of a merged run, the number of the
attempt, the idempotency key, and the results of the predecessors as JSON."""
TARGET_FIELDS: Final = frozenset({"headers", "body", "argv", "stdin", "say", "prompt"})
"""Fields of a target's specification that are filled; in all others a placeholder is refused."""
PREFIX: Final = "{horae."
"""A text without it contains no placeholder."""
_TOKEN: Final = re.compile(r"\{horae\.([^{}]*)\}")
_NO_PREVIOUS: Final = "null"


class TemplateTask(Task):
    """A task whose payload or target may contain placeholders."""

    __slots__ = ()


def recognise_template(task: Task) -> Task:
    """Return the task as a `TemplateTask` if its payload or target may contain placeholders."""
    if PREFIX in task.payload or PREFIX in task.target.spec:
        return TemplateTask._make(task)
    return task


def check_placeholders(task: Task) -> None:
    """Refuse unknown placeholders, and placeholders in fields that are not filled; every other brace is text."""
    if task.__class__ is not TemplateTask:
        return
    check_placeholders_in("payload", _parse(task.payload))
    check_target_placeholders(task.target)


def check_target_placeholders(target: Target) -> None:
    """Refuse unknown placeholders of a target as the caller wrote it: its canonical form may spell braces otherwise."""
    if PREFIX not in target.spec:
        return
    spec = _parse(target.spec)
    for field, value in spec.items() if isinstance(spec, dict) else ():
        for place, name in _tokens(f"target.{field}", value):
            _check_name(place, name)
            if field not in TARGET_FIELDS:
                raise refuse(
                    "placeholder_place",
                    token=PREFIX + name + "}",
                    name=place,
                    allowed=", ".join(sorted(TARGET_FIELDS)),
                )


def check_placeholders_in(place: str, value: Any) -> None:
    """Refuse unknown placeholders in the string values of a JSON value; `place` is the name of its field."""
    for each, name in _tokens(place, value):
        _check_name(each, name)


def fill_placeholders(task: Task, run: Run, key: str, previous: str | None = None) -> Task:
    """Return the task with the values of this run in place of its placeholders.

    Values are not searched for placeholders again. `previous` is JSON text. Raises a refusal if the result is larger than
    a payload or a target may be; the target checks its own rules on the result.
    """
    values = _values(task, run, key, previous)
    payload, spec = task.payload, task.target.spec
    if PREFIX in payload:
        payload = _dump(_fill(_parse(payload), values))
        _check_size(payload, PAYLOAD_BYTES)
    if PREFIX in spec:
        spec = _dump(
            {name: _fill(each, values) if name in TARGET_FIELDS else each for name, each in _parse(spec).items()}
        )
        _check_size(spec, TARGET_BYTES)
    return task._replace(payload=payload, target=Target(task.target.kind, spec))


def _values(task: Task, run: Run, key: str, previous: str | None) -> dict[str, str]:
    span = run.span or Span(run.planned, run.planned, 1)
    return {
        "planned": run.planned.isoformat(),
        "planned_local": make_fires(task.schedule.zone or "UTC", [run.planned])[0].local.isoformat(),
        "first": span.first.isoformat(),
        "last": span.last.isoformat(),
        "count": str(span.count),
        "attempt": str(run.attempt),
        "key": key,
        "previous": _NO_PREVIOUS if previous is None else previous,
    }


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        # A name that is not in the list was stored before it was refused: it stays text.
        return _TOKEN.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {name: _fill(each, values) for name, each in value.items()}
    return [_fill(each, values) for each in value] if isinstance(value, list) else value


def _tokens(place: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the place and the name of each placeholder in the string values of a JSON value, however deep."""
    found = [(place, value)]
    while found:
        place, value = found.pop()
        if isinstance(value, str):
            for match in _TOKEN.finditer(value):
                yield place, match[1]
        elif isinstance(value, dict | list):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            found += [(f"{place}.{name}", each) for name, each in parts]


def _check_name(place: str, name: str) -> None:
    if name not in PLACEHOLDERS:
        allowed = ", ".join(f"{PREFIX}{each}}}" for each in PLACEHOLDERS)
        raise refuse("unknown_placeholder", token=PREFIX + name + "}", name=place, allowed=allowed)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("bad_payload", value=type(error).__name__) from None


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _check_size(text: str, most: int) -> None:
    size = len(text.encode(errors="replace"))
    if size > most:
        raise refuse("payload_too_large", size=size, most=most)
