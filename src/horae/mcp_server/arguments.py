"""Arguments of tools: checked against their JSON Schema, and translated to task JSON, in Horae's names or in NanoClaw's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..model.accounts.principal import Principal
from ..model.limits import NAME_CHARACTERS, shorten
from ..model.refusals import refuse as refuse_task
from ..model.task import Task
from ..model.text.invisible_characters import without_ignorable
from ..schedule import to_json
from ..schedule.compat import Note, nanoclaw
from ..schedule.text.zone_words import resolve_zone
from ..wire.fields import check_fields
from ..wire.tasks.targets import SHORT_TARGETS
from ..wire.tasks.task import after_when, edited_after, parse_link
from .call import Arguments, Call
from .lines import to_single_line
from .refusals import refuse

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "object": (Mapping,),
    "array": (list,),
}
_TYPE_NAMES: Final = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "JSON object",
    "array": "list",
}


def check_arguments(schema: Mapping[str, Any], other_names: tuple[str, ...], given: object) -> Arguments:
    """Return the arguments without nulls. `other_names` are names from another dialect, which the tool itself checks.
    Raises a refusal for the first invalid argument."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    fields = check_fields("arguments", given, (*properties, *other_names))
    # Models often send null for an argument that they leave out.
    present = {name: value for name, value in fields.items() if value is not None}
    for name, value in present.items():
        if name in properties:
            _check(name, value, properties[name])
    return present


def _check(name: str, value: object, schema: Mapping[str, Any]) -> None:
    declared = schema.get("type", ())
    types: tuple[str, ...] = (declared,) if isinstance(declared, str) else tuple(declared)
    if types and not any(_has_type(value, each) for each in types):
        raise refuse_task("bad_policy", name=name, value=value, wanted=" / ".join(_TYPE_NAMES[each] for each in types))
    if "enum" in schema and value not in schema["enum"]:
        raise refuse_task("bad_choice", name=name, value=value, allowed=", ".join(schema["enum"]))
    if "maximum" in schema and isinstance(value, int) and not schema["minimum"] <= value <= schema["maximum"]:
        raise refuse_task("bad_number", name=name, value=value, least=schema["minimum"], most=schema["maximum"])


def _has_type(value: object, kind: str) -> bool:
    # bool is a subclass of int in Python; JSON keeps them apart.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def require(arguments: Arguments, name: str) -> Any:
    """Return an argument; refuse if it is missing."""
    if name not in arguments:
        raise refuse_task("missing_field", name=name)
    return arguments[name]


NANOCLAW_ID: Final = ("task_id",)
"""NanoClaw's name for `id`."""
NANOCLAW_ARGUMENTS: Final = ("prompt", "schedule_type", "schedule_value", "context_mode", "script")
"""NanoClaw's names for `do`, `when` and `gate`, and `context_mode`: how much of a conversation a prompt gets."""
_SCHEDULE_FIELDS: Final = ("schedule_type", "schedule_value")
_CONTEXT_MODES: Final = ("isolated", "group")
_DEFAULT_NAME_CHARACTERS: Final = 60


def id_of(arguments: Arguments) -> str:
    """Return the id, name or key that names the task."""
    return str(_one_of(arguments, "id", "task_id") or require(arguments, "id"))


def _one_of(arguments: Arguments, own_name: str, nanoclaw_name: str) -> Any:
    """Return the value of either spelling; refuse if both are given."""
    if own_name in arguments and nanoclaw_name in arguments:
        raise refuse("two_spellings", one=own_name, other=nanoclaw_name)
    value = arguments.get(own_name, arguments.get(nanoclaw_name))
    if nanoclaw_name in arguments and not isinstance(value, str):
        raise refuse("bad_do", problem=nanoclaw_name)
    return value


def list_reader(call: Call, arguments: Arguments) -> Principal:
    """Return the principal that reads a list: of system tasks, or of all others."""
    return call.principal.as_system_reader() if arguments.get("system", False) else call.principal


def zone_of(call: Call, arguments: Arguments) -> str | None:
    """Return the given zone (city names are understood too), or else the owner's."""
    return resolve_zone(arguments["zone"], None) if "zone" in arguments else call.principal.zone


def when_of(arguments: Arguments, zone: str | None, owner: str) -> tuple[Any, tuple[Note, ...]]:
    """Return the schedule for the wire, with notes where NanoClaw's meaning may surprise."""
    nanoclaw_fields = {name: arguments[name] for name in _SCHEDULE_FIELDS if name in arguments}
    if "after" in arguments:
        if "when" in arguments or nanoclaw_fields:
            raise refuse_task("after_and_schedule")
        return after_when([parse_link(each) for each in arguments["after"]], arguments.get("mode")), ()
    if not nanoclaw_fields:
        return arguments.get("when"), ()
    if "when" in arguments:
        raise refuse("two_spellings", one="when", other=next(iter(nanoclaw_fields)))
    if zone is None:
        raise refuse("zone_needed", owner=owner)
    reading = nanoclaw.read(nanoclaw_fields, zone=zone)
    return to_json(reading.schedule.with_defaults(zone)), reading.notes


def edited_when_of(arguments: Arguments, task: Task, zone: str | None, owner: str) -> tuple[Any, tuple[Note, ...]]:
    """Return the schedule of an edit; a mode alone changes the mode of the links that the task has."""
    if "mode" in arguments and "after" not in arguments:
        if "when" in arguments:
            raise refuse_task("after_and_schedule")
        return edited_after(task, (), arguments["mode"]), ()
    return when_of(arguments, zone, owner)


def work_of(arguments: Arguments) -> dict[str, Any]:
    """Return the target and the payload; empty if the call names neither."""
    do = _one_of(arguments, "do", "prompt")
    mode = _context_mode(arguments)
    if do is None:
        return {} if mode is None else {"payload": {"context_mode": mode}}
    work = _parse_do(do)
    if mode is not None:
        work["payload"] = {**work.get("payload", {}), "context_mode": mode}
    return work


def gate_of(arguments: Arguments) -> dict[str, Any] | None:
    """Return the gate; a script of NanoClaw is one, whose last line has `wakeAgent` and `data`. Empty: none."""
    given = _one_of(arguments, "gate", "script")
    if "script" not in arguments or not given:
        return given or None
    return {"command": {"argv": ["bash", "-c", given]}, "timeout": "PT30S", "state": False}


def _context_mode(arguments: Arguments) -> str | None:
    mode = arguments.get("context_mode")
    if mode is not None and mode not in _CONTEXT_MODES:
        raise refuse("bad_do", problem=f"context_mode: {' / '.join(_CONTEXT_MODES)}")
    return mode


def _parse_do(do: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(do, str):
        parsed = _parse_json_object(do)
        if parsed is None:
            return _prompt_target(do)
        do = parsed
    fields = check_fields("do", do, (*SHORT_TARGETS, "prompt", "payload"))
    if "prompt" in fields:
        return _prompt_target(fields["prompt"]) | {name: fields[name] for name in fields if name != "prompt"}
    if not any(name in fields for name in SHORT_TARGETS):
        raise refuse("bad_do", problem=", ".join(fields) or "{}")
    return dict(fields)


def _prompt_target(text: object) -> dict[str, Any]:
    """Return an event target that carries a prompt: listeners to the owner's events, the assistant among them, receive
    it when it is due."""
    if not isinstance(text, str) or not text.strip():
        raise refuse("bad_do", problem=repr(text))
    return {"say": text}


def _parse_json_object(text: str) -> dict[str, Any] | None:
    """Parse a target that an assistant passed as JSON text; None for a prompt that only looks like JSON."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_target = isinstance(parsed, dict) and any(name in parsed for name in (*SHORT_TARGETS, "prompt"))
    return parsed if is_target else None


def default_name(work: Mapping[str, Any]) -> str:
    """Derive a name for an unnamed task from what it does."""
    kind = next((name for name in SHORT_TARGETS if name in work), "task")
    value = work.get(kind)
    if isinstance(value, Mapping):
        value = value.get("url") or value.get("argv") or value.get("name") or value.get("topic") or kind
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return (
        shorten(to_single_line(without_ignorable(str(value))), min(_DEFAULT_NAME_CHARACTERS, NAME_CHARACTERS)) or kind
    )
