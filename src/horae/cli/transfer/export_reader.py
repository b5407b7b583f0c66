"""Reads an export of `horae export` line by line; an error refuses the whole file, with its line number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...errors import Refusal
from ...interchange import AgentGroup, ImportedTask, ImportResult
from ...interchange.fields import read_required_text, refuse_field
from ...interchange.json_text import is_encodable, read_json
from ...model.task import TaskState
from ...schedule.durations import parse_duration
from ...wire.instants import utc
from ...wire.tasks import read_task
from ..messages.operating_refusals import refuse, with_location
from .export import VERSION
from .export_rows import read_group, read_instant, read_lane, read_run
from .import_batch import ImportBatch, ImportedRun

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
        self._lanes: list[tuple[str, int]] = []
        self._groups: list[AgentGroup] = []

    def result(self) -> ImportBatch:
        result = ImportResult(tuple(self._tasks), groups=tuple(self._groups))
        return ImportBatch(result, tuple(self._runs), tuple(self._lanes), self._finished, is_own_export=True)

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


def continue_schedule(body: dict[str, Any]) -> Any:
    """Return the schedule so that it continues: intervals keep their grid, and `repeat` is reduced by the runs counted."""
    when = body.get("when")
    if not isinstance(when, dict):
        return when
    when = dict(when)
    created, counted = body.get("created"), body.get("counted") or 0
    if "start" not in when and isinstance(created, str):
        made = read_instant(body, "created")
        if when.get("kind") == "every" and when.get("from", "grid") == "grid":
            when["start"] = utc(made + parse_duration(when["interval"]))
        elif when.get("kind") == "calendar" and when.get("every", 1) > 1:
            when["start"] = utc(made)
    if isinstance(when.get("repeat"), int) and 0 < counted < when["repeat"]:
        when["repeat"] -= counted
    return when
