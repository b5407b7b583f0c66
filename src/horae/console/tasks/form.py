"""The form of a task: the declared shape of a new task and of its target as fields, and the request body from their texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...choices import Language
from ...errors import HoraeError, InvalidSchedule, Refusal
from ...model.policy import policies_for
from ...model.refusals import refuse
from ...model.task import Task
from ...schedule import After, Cron, Link, Schedule, to_json
from ...schedule.describe import describe_schedule
from ...wire.pointers import pointer_to
from ...wire.schemas import SHAPES
from ...wire.shapes.notation import Schema
from ...wire.shapes.targets import TARGET_SPECS
from ...wire.tasks.policies import policies_json
from ...wire.tasks.targets import SHORT_TARGETS
from ...wire.tasks.task import NO_NAMES, definition_json, parse_link
from ..shape_form import ABSENT, MaybeAbsent, Texts, read_value, to_texts
from .schedule_preview import read_zone

KIND_FIELD: Final = "target.kind"
OTHER: Final = "other"
"""Kind of a target without a declared shape: its name and its JSON are fields of their own."""
OTHER_KIND: Final = "target.other.kind"
OTHER_SPEC: Final = "target.other.spec"
AGENT: Final = "agent"
FORM_SPECS: Final[dict[str, Schema]] = {
    **TARGET_SPECS,
    AGENT: {
        **TARGET_SPECS[AGENT],
        "properties": {
            "group": TARGET_SPECS[AGENT]["properties"]["group"],
            "prompt": {"type": "string", "minLength": 1, "maxLength": 65_536},
            **TARGET_SPECS[AGENT]["properties"],
        },
        "required": ["group", "prompt"],
    },
}
"""Fields of the targets in the form. The prompt of an agent is a field of its own, and is stored in the payload."""
TARGET_KINDS: Final = (*FORM_SPECS, OTHER)
OMITTED: Final = frozenset(
    {"policies.retries", "policies.gate.command", "policies.gate.http", "policies.gate.function"}
)
"""Fields that only abbreviate another one."""
_PLACED: Final = frozenset(
    {"name", "when", "after", "mode", "zone", "payload", "policies", "target", AGENT, *SHORT_TARGETS}
)
"""Fields of the shape with a place of their own on the page; all others follow in the order of the shape."""
_IMMUTABLE: Final = frozenset({"key", "owner", "past"})
_FOR_ADMINS: Final = frozenset({"owner", "past"})
_NEW_TASK: Final[Schema] = SHAPES["NewTask"]
_PROPERTIES: Final[dict[str, Schema]] = _NEW_TASK["properties"]
PAYLOAD: Final[Schema] = _PROPERTIES["payload"]
POLICIES: Final[Schema] = _PROPERTIES["policies"]
NAME: Final[Schema] = _PROPERTIES["name"]
AFTER: Final[Schema] = {"type": "array", "items": {"type": "string"}}
"""Tasks that this one runs after, line by line: `backup`, `backup:failed`."""
MODE: Final[Schema] = _PROPERTIES["mode"]


def further_shape(*, is_new: bool, is_admin: bool) -> Schema:
    """Return the shape of the fields without a place of their own: lane, labels, key and what the shape has besides."""
    left_out = _PLACED if is_new else _PLACED | _IMMUTABLE
    hidden = left_out if is_admin else left_out | _FOR_ADMINS
    return {"type": "object", "properties": {name: each for name, each in _PROPERTIES.items() if name not in hidden}}


# --- a stored task as texts ----------------------------------------------------------------------------------------------


def texts_of_task(task: Task, language: Language, names: Mapping[str, str] = NO_NAMES) -> dict[str, str]:
    """Return the texts of the form that stands for this task. Policies that equal the default are blank.

    `names` are those of the tasks that it runs after, by id.
    """
    definition = definition_json(task)
    target = dict(definition["target"])
    kind = target.pop("kind")
    texts = {"name": task.name, **_schedule_texts(task.schedule, language, names)}
    payload = definition["payload"]
    if kind == AGENT and isinstance(payload, dict) and isinstance(payload.get("prompt"), str):
        target["prompt"] = payload["prompt"]
        payload = {name: each for name, each in payload.items() if name != "prompt"}
    texts |= to_texts(PAYLOAD, ABSENT if payload == {} else payload, "payload")
    # The declaration of a function replaces the defaults, so that its tasks name every policy.
    usual = ABSENT if kind == "function" else policies_json(policies_for(task.schedule))
    texts |= to_texts(POLICIES, definition["policies"], "policies", usual)
    for name, shape in further_shape(is_new=True, is_admin=True)["properties"].items():
        texts |= to_texts(shape, definition.get(name, ABSENT), name)
    if kind in FORM_SPECS:
        return texts | {KIND_FIELD: kind} | to_texts(FORM_SPECS[kind], target, f"target.{kind}")
    return texts | {KIND_FIELD: OTHER, OTHER_KIND: kind, OTHER_SPEC: json.dumps(target, ensure_ascii=False, indent=2)}


def _schedule_texts(schedule: Schedule, language: Language, names: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(schedule, After):
        return {"when": when_text(schedule, language), "zone": schedule.zone or "", "after": "", "mode": ""}
    mode = "" if schedule.mode == "any" else schedule.mode
    lines = "\n".join(_link_text(link, names) for link in schedule.links)
    return {"when": "", "zone": "", "after": lines, "mode": mode}


def _link_text(link: Link, names: Mapping[str, str]) -> str:
    """Return the line of a predecessor: its name, or its id where the name would be read otherwise."""
    ending = "" if link.on == "succeeded" else f":{link.on}"
    text = names.get(link.task, link.task) + ending
    return text if parse_link(text).get("task") == names.get(link.task) else link.task + ending


def links_in(texts: Texts) -> list[str]:
    """Return the tasks that the form names to run after."""
    return [line.strip() for line in texts.get("after", "").splitlines() if line.strip()]


def when_text(schedule: Schedule, language: Language) -> str:
    """Return the text of a schedule without its zone, which has a field of its own; cron as the expression itself."""
    schedule = replace(schedule, zone=None)
    if isinstance(schedule, Cron) and schedule == Cron(schedule.expression):
        return schedule.expression
    return describe_schedule(schedule, language)


def is_same_schedule(texts: Texts, task: Task, names: Mapping[str, str] = NO_NAMES) -> bool:
    """Return whether the form still has the text and the zone of the stored schedule, in either language.

    Of a task that runs after others: whether it still has their names, or ids, and the mode.
    """
    schedule, links = task.schedule, links_in(texts)
    if isinstance(schedule, After):
        known = ([_link_text(link, each) for link in schedule.links] for each in (names, NO_NAMES))
        is_same_mode = (texts.get("mode") or "any") == schedule.mode
        return not texts.get("when", "").strip() and is_same_mode and links in list(known)
    if links:
        return False
    when, zone = texts.get("when", "").strip(), texts.get("zone", "").strip()
    languages: tuple[Language, ...] = ("en", "zh")
    return zone == (task.schedule.zone or "") and when in {when_text(task.schedule, each) for each in languages}


# --- texts as a request body ---------------------------------------------------------------------------------------------


def body_of(texts: Texts, task: Task | None = None, names: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
    """Return the JSON of the task in the form, for the parser that also reads HTTP bodies. Raises a refusal.

    `task` is the one that is edited: if its schedule was not touched, it stays exactly as it is. `names` are those of the
    tasks that it runs after, by id.
    """
    body: dict[str, Any] = {"name": texts.get("name", "").strip()}
    if not body["name"]:
        raise refuse("missing_field", name="name")
    if task is not None and is_same_schedule(texts, task, names):
        body["when"] = to_json(task.schedule)
    else:
        body |= _read_schedule(texts)
    body["target"] = read_target(texts)
    fields: dict[str, MaybeAbsent] = {
        "payload": read_value(PAYLOAD, texts, "payload"),
        "policies": read_value(POLICIES, texts, "policies"),
    }
    if body["target"]["kind"] == AGENT:
        fields["payload"] = _with_prompt(body["target"], fields["payload"])
    for name, shape in further_shape(is_new=task is None, is_admin=True)["properties"].items():
        fields[name] = read_value(shape, texts, name)
    return body | {name: value for name, value in fields.items() if value is not ABSENT}


def _with_prompt(target: dict[str, Any], payload: MaybeAbsent) -> MaybeAbsent:
    """Move the prompt from the fields of the target to the payload."""
    prompt = target.pop("prompt", None)
    given = {} if payload is ABSENT else payload
    return {**given, "prompt": prompt} if prompt is not None and isinstance(given, dict) else payload


def _read_schedule(texts: Texts) -> dict[str, Any]:
    """Return `when` and the zone, or `after` and the mode; both kinds together are refused where the task is read."""
    when, links = texts.get("when", "").strip(), links_in(texts)
    if not when and not links:
        raise refuse("missing_field", name="when")
    fields: dict[str, Any] = {}
    if when:
        fields["when"] = when
        if (zone := _read_zone_field(texts)) is not None:
            fields["zone"] = zone
    if links:
        fields["after"] = [parse_link(each) for each in links]
        if mode := texts.get("mode", "").strip():
            fields["mode"] = mode
    return fields


def _read_zone_field(texts: Texts) -> str | None:
    try:
        return read_zone(texts.get("zone", "").strip())
    except InvalidSchedule as refusal:
        refusal.facts["field"] = "zone"
        raise


def read_target(texts: Texts) -> dict[str, Any]:
    kind = texts.get(KIND_FIELD, "")
    if kind in FORM_SPECS:
        spec = read_value(FORM_SPECS[kind], texts, f"target.{kind}")
        return {"kind": kind, **({} if spec is ABSENT else spec)}
    name, given = texts.get(OTHER_KIND, "").strip(), read_value({}, texts, OTHER_SPEC)
    if kind != OTHER or not name:
        raise refuse("missing_field", name=KIND_FIELD)
    if given is not ABSENT and not isinstance(given, Mapping):
        raise refuse("bad_policy", name=OTHER_SPEC, value=given, wanted="JSON object")
    return {**({} if given is ABSENT else given), "kind": name}


# --- refusals at their field ---------------------------------------------------------------------------------------------


_FIELD_BY_PREFIX: Final = {"url_": "url", "address_": "url", "header_": "headers", "too_many_headers": "headers"}
"""Fields of an http target, by the codes of refusals that webhooks share."""


def field_of(error: HoraeError, texts: Texts) -> str | None:
    """Return the name of the field that a refusal is about; None for one about the whole task."""
    if not isinstance(error, Refusal):
        return None
    name = error.facts.get("name")
    if "field" in error.facts:
        return str(error.facts["field"])
    if error.code in ("bad_json_field", "bad_schedule_fields") and isinstance(name, str):
        return name
    for prefix, part in _FIELD_BY_PREFIX.items():
        if error.code.startswith(prefix):
            return f"target.http.{part}"
    pointer = pointer_to(error)
    return None if pointer is None else _field_at(pointer, texts.get(KIND_FIELD, ""))


def _field_at(pointer: str, kind: str) -> str:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    match parts:
        case ["target", first, *rest] if first != "kind" and kind in FORM_SPECS:
            # Names of headers and variables are part of one field.
            return ".".join(("target", kind, first, *(rest if first == "limits" else ())))
        case ["policies", "missed"]:
            return "policies.missed.mode"
        case ["target", "kind"] if kind == OTHER:
            return OTHER_KIND
        case _:
            return ".".join(parts)
