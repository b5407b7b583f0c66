"""Reads a tasks file (YAML or JSON) for `horae apply` and `horae simulate`: tasks, lanes, and defaults for both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...interchange.files import decode_text, read_bytes, read_json
from ...model.lanes.lane import MAX_LANE_LIMIT, LaneSetting
from ...model.lanes.rate import parse_rate
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_number
from ...service.tasks.task_request import Duration, TaskRequest
from ...wire.fields import check_fields, text_or_none
from ...wire.tasks.targets import AGENT, SHORT_TARGETS
from ...wire.tasks.task import AFTER_FIELDS, DEFINITION_FIELDS, PAST, read_task
from ..messages.operating_refusals import refuse, with_location

APPLIED: Final = "apply:"
"""Prefix of the natural key of a task without one in the file."""
_FIELDS: Final = ("zone", "owner", "defaults", "lanes", "tasks")
_DEFAULTS: Final = ("policies", "labels", "lane", "zone")
_TASK: Final = (*DEFINITION_FIELDS, *AFTER_FIELDS, PAST, AGENT, *SHORT_TARGETS, "takes")


class FileTask(NamedTuple):
    """`takes` is the expected duration of a run, which only a simulation uses."""

    request: TaskRequest
    takes: Duration | None = None


class TasksFile(NamedTuple):
    path: str
    zone: str | None
    owner: str | None
    lanes: Mapping[str, LaneSetting]
    tasks: tuple[FileTask, ...]


def read_tasks_file(path: Path) -> TasksFile:
    data = read_bytes(path)
    try:
        value = read_json(data) if path.suffix == ".json" else _read_yaml(decode_text(data))
    except Refusal as refused:
        if refused.code == "missing_part":
            raise
        raise refuse("bad_tasks_file", path=path, problem=refused.message.rstrip(".")) from None
    if not isinstance(value, Mapping):
        raise refuse("bad_tasks_file", path=path, problem="it is no mapping with 'tasks' in it")
    fields = check_fields(str(path), value, _FIELDS)
    tasks = fields.get("tasks")
    if not isinstance(tasks, list):
        raise refuse("bad_tasks_file", path=path, problem="'tasks' is no list")
    read = tuple(_task(path, number, each, fields) for number, each in enumerate(tasks, 1))
    _check_keys(path, read)
    zone, owner = text_or_none("zone", fields.get("zone")), text_or_none("owner", fields.get("owner"))
    return TasksFile(str(path), zone, owner, _lanes(fields.get("lanes") or {}), read)


def _read_yaml(text: str) -> Any:
    try:
        from .yaml_text import read_yaml  # noqa: PLC0415 - the library is an extra
    except ModuleNotFoundError:
        raise refuse_task("missing_part", library="PyYAML", extra="yaml") from None
    return read_yaml(text)


def _task(path: Path, number: int, value: Any, file: Mapping[str, Any]) -> FileTask:
    name = value.get("name") if isinstance(value, Mapping) else None
    try:
        fields = check_fields("task", value, _TASK)
        return FileTask(read_task(_with_defaults(fields, file)), fields.get("takes"))
    except Refusal as refused:
        en, zh = f"task {number} of {path.name} ({name})", f"{path.name} 第 {number} 个任务（{name}）"
        raise with_location(refused, en, zh) from None


def _with_defaults(fields: Mapping[str, Any], file: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a task, completed by the defaults of the file, then by its zone and owner."""
    defaults = check_fields("defaults", file.get("defaults") or {}, _DEFAULTS)
    whole = {name: value for name, value in fields.items() if name != "takes"}
    for name in ("policies", "labels"):
        usual, own = defaults.get(name) or {}, fields.get(name) or {}
        if not isinstance(usual, Mapping) or not isinstance(own, Mapping):
            raise refuse_task("bad_policy", name=name, value=own, wanted="JSON object")
        if usual or own:
            whole[name] = {**usual, **own}
    if defaults.get("lane") is not None:
        whole.setdefault("lane", defaults["lane"])
    zone = fields.get("zone") or defaults.get("zone") or file.get("zone")
    if zone is not None:
        whole["zone"] = zone
    whole["owner"] = fields.get("owner") or file.get("owner")
    whole["key"] = fields.get("key") or f"{APPLIED}{fields.get('name')}"
    return whole


def _check_keys(path: Path, tasks: tuple[FileTask, ...]) -> None:
    seen: set[tuple[str | None, str | None]] = set()
    for task in tasks:
        key = task.request.owner, task.request.key
        if key in seen:
            raise refuse("twice_in_file", key=task.request.key, path=path)
        seen.add(key)


def _lanes(value: object) -> dict[str, LaneSetting]:
    if not isinstance(value, Mapping):
        raise refuse_task("bad_policy", name="lanes", value=value, wanted="JSON object")
    return {str(name): _lane(name, setting) for name, setting in value.items()}


def _lane(name: object, value: object) -> LaneSetting:
    """Read a limit, or an object with `limit`, `rate` or both; a rate of null removes it."""
    fields: Mapping[str, Any] = {"limit": value}
    if isinstance(value, Mapping):
        fields = check_fields(f"lane {name}", value, ("limit", "rate"))
    limit = fields.get("limit")
    if limit is not None or "rate" not in fields:
        check_number(f"lane {name}", limit, 0, MAX_LANE_LIMIT)
    if "rate" not in fields:
        return LaneSetting(limit)
    return LaneSetting(limit, None if fields["rate"] is None else parse_rate(fields["rate"]))
