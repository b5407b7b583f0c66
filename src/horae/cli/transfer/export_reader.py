"""Reads an export of `horae export` line by line and field by field; an error refuses the file, with its line number."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...errors import Refusal
from ...interchange import AgentGroup, ImportedTask, ImportResult, PastRun
from ...interchange.fields import read_folder, read_optional_text, read_required_text, refuse_field
from ...interchange.files import is_encodable, read_json
from ...model.agents.budget import read_limits
from ...model.inputs.effective_payload import check_input
from ...model.lanes.lane import MAX_LANE_LIMIT, LaneSetting
from ...model.lanes.rate import parse_rate
from ...model.limits import KEY_CHARACTERS
from ...model.run import Origin, RunState
from ...model.task import TaskState
from ...schedule import AnyOf, Now, Once, Schedule, from_json, to_json
from ...schedule.durations import parse_duration
from ...schedule.instants import to_instant
from ...service.tasks.chain_order import chain_order, predecessors_of
from ...wire.groups import read_group_fields
from ...wire.instants import utc
from ...wire.tasks.run_inputs import read_input
from ...wire.tasks.task import read_task
from ..messages.operating_refusals import refuse, with_location
from .export import VERSION
from .import_batch import ImportBatch, ImportedRun
from .import_groups import GroupRequest, request_of_group

_MAX_ATTEMPTS: Final = 1_000
_MAX_DURATION_MS: Final = 100 * 366 * 24 * 60 * 60 * 1000
_GROUP: Final = frozenset(AgentGroup._fields)
_GROUP_FACTS: Final = frozenset({"folder", "owner", "created", "version"})
"""Fields of an exported group that no request has."""


def read_run(body: Mapping[str, Any], keys: Mapping[str, tuple[str | None, str]], source: str) -> ImportedRun:
    """Read a run with a check of every field: the file may have been edited."""
    planned = read_instant(body, "planned")
    owner, key = keys.get(read_required_text(body, "task_id"), (None, ""))
    result, error = body.get("result"), body.get("error")
    if error is not None and not isinstance(error, str):
        raise refuse_field("error", error, "a text")
    past = PastRun(
        key,
        read_instant(body, "started") if body.get("started") else planned,
        _length(body.get("duration_ms")),
        RunState(_choice(body, "state", None, RunState)),
        None if result is None else json.dumps(result, ensure_ascii=False),
        error,
    )
    attempt = _integer("attempt", body.get("attempt", 1), 1, _MAX_ATTEMPTS)
    origin = Origin(_choice(body, "origin", Origin.SCHEDULED, Origin))
    given = read_input(body.get("input"))
    if given is not None:
        check_input(given)
    return ImportedRun(key, past, planned, attempt, origin, owner, source, given)


def read_group(body: Mapping[str, Any]) -> GroupRequest:
    """Read a group; an export of an earlier version has it as NanoClaw had it."""
    if "chat" not in body:
        return request_of_group(_read_former_group(body))
    given = {name: value for name, value in body.items() if name not in _GROUP_FACTS}
    budget = given.pop("budget", None)
    if budget is not None:
        read_limits(budget)
    fields = read_group_fields(given)
    return GroupRequest(read_folder("folder", body.get("folder")), str(fields.pop("chat")), fields, budget=budget)


def _read_former_group(body: Mapping[str, Any]) -> AgentGroup:
    if unknown := body.keys() - _GROUP:
        raise refuse_field(min(unknown), body[min(unknown)], f"nothing; a group has {', '.join(AgentGroup._fields)}")
    config = body.get("config")
    if config is not None and not isinstance(config, dict):
        raise refuse_field("config", config, "an object")
    return AgentGroup(
        read_folder("folder", body.get("folder")),
        read_required_text(body, "jid"),
        read_required_text(body, "name"),
        read_optional_text(body, "trigger"),
        _flag(body, "requires_trigger", otherwise=True),
        _flag(body, "is_main", otherwise=False),
        read_optional_text(body, "added"),
        config,
    )


def read_lane(body: Mapping[str, Any]) -> tuple[str, LaneSetting]:
    name = read_required_text(body, "name")
    if len(name) > KEY_CHARACTERS or not name.isprintable():
        raise refuse_field("name", name, f"at most {KEY_CHARACTERS} printable characters")
    limit, rate = _integer("limit", body.get("limit"), 0, MAX_LANE_LIMIT), body.get("rate")
    return name, LaneSetting(limit, "keep" if rate is None else parse_rate(rate))


def read_instant(body: Mapping[str, Any], key: str) -> datetime:
    """Read an instant; one without an offset is refused."""
    text = read_required_text(body, key)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise refuse_field(key, text, "an instant") from None
    if at.tzinfo is None:
        raise refuse_field(key, text, "an instant with a zone")
    return at


def _length(value: object) -> timedelta | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise refuse_field("duration_ms", value, "a number")
    if not 0 <= value <= _MAX_DURATION_MS:
        raise refuse_field("duration_ms", value, f"a number from 0 to {_MAX_DURATION_MS}")
    return timedelta(milliseconds=value)


def _integer(key: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refuse_field(key, value, f"a whole number from {least} to {most}")
    return value


def _choice(body: Mapping[str, Any], key: str, otherwise: str | None, known: type[RunState | Origin]) -> str:
    value = body.get(key, otherwise)
    if not isinstance(value, str) or value not in {each.value for each in known}:
        raise refuse_field(key, value, f"one of {', '.join(each.value for each in known)}")
    return value


def _flag(body: Mapping[str, Any], key: str, *, otherwise: bool) -> bool:
    value = body.get(key, otherwise)
    if not isinstance(value, bool):
        raise refuse_field(key, value, "true or false")
    return value


_OVER: Final = ("completed", "cancelled")
_PAUSED: Final = ("paused", "failed")
_IMPORTED: Final = "import:"
"""Prefix of the key of a task that was exported without one."""
MAX_LINE_CHARACTERS: Final = 1_000_000
"""Limit of one line: more than the largest task with its payload."""


def read_export(path: str, lines: Iterable[str], owner: str | None) -> ImportBatch:
    reader = _ExportReader(path, owner)
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE_CHARACTERS:
            problem = f"it has more than {MAX_LINE_CHARACTERS:,} characters"
            raise refuse("bad_export", path=path, line=number, problem=problem)
        if line.strip():
            _read_line(reader, number, line)
    return reader.result()


def _read_line(reader: _ExportReader, number: int, line: str) -> None:
    try:
        reader.read(number, read_json(line))
    except Refusal as refused:
        own = refused.code in ("bad_export", "newer_export")
        raise refused if own else with_location(refused, f"line {number}", f"第 {number} 行") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # Any other error of the task readers is caused by the file too.
        raise refuse("bad_export", path=reader.path, line=number, problem=repr(error)) from None


class _ExportReader:
    def __init__(self, path: str, owner: str | None) -> None:
        self.path = path
        self._owner = owner
        self._has_header = False
        self._finished = 0
        self._keys: dict[str, tuple[str | None, str]] = {}
        self._tasks: list[ImportedTask] = []
        self._runs: list[ImportedRun] = []
        self._lanes: list[tuple[str, LaneSetting]] = []
        self._groups: list[GroupRequest] = []

    def result(self) -> ImportBatch:
        tasks = chain_order([self._with_keys(each) for each in self._tasks], lambda each: each.request)
        return ImportBatch(
            ImportResult(tuple(tasks)),
            tuple(self._runs),
            tuple(self._lanes),
            tuple(self._groups),
            self._finished,
            is_own_export=True,
        )

    def _with_keys(self, task: ImportedTask) -> ImportedTask:
        """Return the task with the keys of the tasks that it runs after: they get new ids."""
        when = task.request.when
        if not isinstance(when, Mapping) or not predecessors_of(when):
            return task
        links = [{**link, "task": self._key_of(link["task"])} for link in when["links"]]
        return task._replace(request=task.request._replace(when={**when, "links": links}))

    def _key_of(self, task_id: str) -> str:
        known = self._keys.get(task_id)
        return task_id if known is None else known[1]

    def read(self, number: int, value: Any) -> None:
        if not self._has_header:
            _check_header(self.path, number, value)
            self._has_header = True
            return
        name, body = _only(self.path, number, value)
        match name:
            case "task":
                self._task(number, body)
            case "run":
                self._runs.append(read_run(body, self._keys, f"line {number}"))
            case "lane":
                self._lanes.append(read_lane(body))
            case "group":
                self._groups.append(read_group(body))
            case _:
                problem = f"'{name}' is nothing that is exported"
                raise refuse("bad_export", path=self.path, line=number, problem=problem)

    def _task(self, number: int, body: dict[str, Any]) -> None:
        """Read a task; one without a key gets a key made of its exported id."""
        state = body.get("state", TaskState.ACTIVE)
        if not isinstance(state, str) or state not in {each.value for each in TaskState}:
            raise refuse_field("state", state, f"one of {', '.join(TaskState)}")
        key = _key(body)
        if state in _OVER or (state == TaskState.FAILED and _has_ended(body)):
            self._finished += 1
            return
        request = read_task({**body, "when": continue_schedule(body)}, exported=True)._replace(key=key)
        if self._owner is not None:
            request = request._replace(owner=self._owner)
        self._keys[str(body.get("id"))] = request.owner, key
        gave_up = state == TaskState.FAILED
        origins = (str(body.get("id")), key.removeprefix(_IMPORTED))
        self._tasks.append(ImportedTask(request, state in _PAUSED, f"line {number}", origins=origins, gave_up=gave_up))


def _key(body: dict[str, Any]) -> str:
    return read_required_text(body, "key") if body.get("key") else f"{_IMPORTED}{body.get('id')}"


def _has_ended(body: dict[str, Any]) -> bool:
    """Whether the only occurrence is past: a task that runs once and gave up has nothing left to resume."""
    when, ended = body.get("when"), body.get("ended")
    if not isinstance(when, dict) or not isinstance(ended, str) or when.get("kind") not in ("now", "once"):
        return False
    return when["kind"] == "now" or read_instant(when, "at") <= read_instant(body, "ended")


def _check_header(path: str, number: int, value: Any) -> None:
    if not isinstance(value, Mapping) or value.get("horae") != "export":
        raise refuse("bad_export", path=path, line=number, problem="it has no header")
    version = value.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise refuse("bad_export", path=path, line=number, problem="its header has no version")
    if version > VERSION:
        raise refuse("newer_export", path=path, version=version, known=VERSION)


def _only(path: str, number: int, value: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, dict) or len(value) != 1:
        raise refuse("bad_export", path=path, line=number, problem="it is no object with one name")
    ((name, body),) = value.items()
    if not isinstance(body, dict):
        raise refuse("bad_export", path=path, line=number, problem=f"'{name}' is no object")
    if not is_encodable(value):
        raise refuse("bad_export", path=path, line=number, problem="it has halves of letters")
    return name, body


def _counts_from_creation(when: Any) -> bool:
    """Whether a schedule, or one of a list, counts its periods from the creation of the task."""
    match when:
        case {"kind": "calendar", "every": int(every)}:
            return every > 1
        case {"kind": "every", "from": "end"}:
            return False
        case {"kind": "every"}:
            return True
        case _:
            return False


def _without_past_times(schedules: AnyOf, when: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return a list of schedules without the single times before the next occurrence: a new task would run them at once."""
    schedule = schedules.with_defaults(body.get("zone"))
    if not isinstance(body.get("next"), str):
        return dict(when)
    following = to_instant(read_instant(body, "next"))
    kept = [
        to_json(each)
        for each, part in zip(schedule.schedules, schedule.parts, strict=True)
        if _is_ahead(part, following)
    ]
    return {**when, "schedules": kept} if kept else dict(when)


def _is_ahead(schedule: Schedule, following: int) -> bool:
    if isinstance(schedule, Once):
        return any(each >= following for each in schedule.instants(schedule.setting()))
    return not isinstance(schedule, Now)


def continue_schedule(body: dict[str, Any]) -> Any:
    """Return the schedule so that it continues: intervals keep their grid, and `repeat` is reduced by the runs counted."""
    when = body.get("when")
    if not isinstance(when, dict):
        return when
    schedule = from_json(when)
    when = _without_past_times(schedule, when, body) if isinstance(schedule, AnyOf) else dict(when)
    created, counted = body.get("created"), body.get("counted") or 0
    if "start" not in when and isinstance(created, str):
        made = read_instant(body, "created")
        if when.get("kind") == "every" and when.get("from", "grid") == "grid":
            when["start"] = utc(made + parse_duration(when["interval"]))
        elif any(map(_counts_from_creation, when.get("schedules", [when]))):
            when["start"] = utc(made)
    if isinstance(when.get("repeat"), int) and 0 < counted < when["repeat"]:
        when["repeat"] -= counted
    return when
