"""Chat groups: a list with a form to register one, and one group with what happens in it, its form, stop, start and removal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from ...choices import Language
from ...errors import HoraeError, Refusal
from ...model.agents.group import AgentLimits, Group
from ...schedule.durations import format_iso_duration, format_short_duration
from ...service.query.parser import Term, render_query
from ...wire.groups import group_json, mount_text, parse_mount, read_group_fields, registration_command
from ...wire.pointers import pointer_to
from ...wire.schemas import SHAPES
from ...wire.shapes.notation import Schema
from ..messages.groups import CHOICES, HELP, LABELS
from ..notice import Undo
from ..page import FORM_ERRORS, PageRequest, check_confirmation, form, form_problem, form_status, page
from ..shape_form import ABSENT, FieldWords, FormContext, FormField, make_fields, read_value, to_texts
from .approvals import pending_of_group

PAGE_SIZE: Final = 50
_MOST_UNREGISTERED: Final = 20
_PROPOSED: Final = ("folder", "chat", "name", "requires_trigger")
"""Fields of the form for a new group that a link fills in."""
_FIELDS: Final[dict[str, Schema]] = {
    **{name: each for name, each in SHAPES["NewGroup"]["properties"].items() if name != "stopped"},
    "mounts": {"type": "array", "items": {"type": "string"}},
}
_NEW: Final[Schema] = {"type": "object", "properties": _FIELDS, "required": ["folder", "chat"]}
_CHANGE: Final[Schema] = {**_NEW, "properties": {name: each for name, each in _FIELDS.items() if name != "folder"}}
_LIMITS: Final = AgentLimits()
_DEFAULTS: Final = {
    **_LIMITS._asdict(),
    "timeout": format_iso_duration(_LIMITS.timeout),
    "idle": format_iso_duration(_LIMITS.idle),
    "max_run": format_iso_duration(_LIMITS.max_run),
}
_CLEARED: Final[Mapping[str, Any]] = {"zone": None, "node": None, "mounts": []}
"""Values of fields that a blank text removes from a group."""


class _GroupWords(FieldWords):
    def __init__(self, language: Language) -> None:
        self._language = language

    def label(self, name: str) -> str:
        return LABELS[name].in_language(self._language)

    def help(self, name: str, schema: Schema) -> str:
        del schema
        return HELP[name].in_language(self._language)

    def choice(self, name: str, value: str) -> str:
        del name
        message = CHOICES.get(value)
        return value if message is None else message.in_language(self._language)


async def show_list(request: PageRequest, error: HoraeError | None = None) -> Response:
    after = request.request.query_params.get("after") or None
    found = await request.service.groups.page(request.viewer.principal, after, PAGE_SIZE)
    query = request.request.query_params
    proposed = {name: query[name] for name in _PROPOSED if query.get(name)}
    chats = await request.service.groups.unregistered(request.viewer.principal) if request.viewer.is_admin else ()
    data = {
        "page": "chats",
        "unregistered": [(each, shlex.join(registration_command(each))) for each in chats[:_MOST_UNREGISTERED]],
        "unregistered_left": max(0, len(chats) - _MOST_UNREGISTERED),
        "groups": found.items,
        "after": found.after,
        "query": {"after": after} if after else {},
        "fields": _form_fields(request, _NEW, _sent(request) if error else proposed, error),
        "is_open": error is not None or bool(proposed) or not (found.items or chats),
        **form_problem(request, error),
    }
    return request.render("groups.html", data, form_status(error))


async def show(request: PageRequest, error: HoraeError | None = None) -> Response:
    principal = request.viewer.principal
    folder = request.form.text("folder") if error else request.request.query_params.get("folder", "")
    status = await request.service.groups.status(principal, folder)
    group = status.group
    data = {
        "page": "chats",
        "group": group,
        "status": status,
        "warnings": [each.in_language(request.viewer.language) for each in status.warnings],
        "mounts": [mount_text(each) for each in group.mounts],
        "timeout": format_short_duration(group.limits.timeout),
        "idle": format_short_duration(group.limits.idle),
        "max_run": format_short_duration(group.limits.max_run),
        "pending": await pending_of_group(request, group.owner),
        "tasks_query": render_query((Term("owner", (group.owner,)),)),
        "fields": _form_fields(request, _CHANGE, _sent(request) if error else _texts_of(group), error),
        "is_open": error is not None,
        **form_problem(request, error),
    }
    return request.render("group.html", data, form_status(error))


async def add(request: PageRequest) -> Response:
    try:
        fields = _read(request, _NEW)
        folder = fields.pop("folder", "")
        group = await request.service.groups.add(request.viewer.principal, folder, fields.pop("chat", ""), **fields)
    except FORM_ERRORS as error:
        return await show_list(request, error)
    return request.redirect(_path(group.folder), request.notice("groups_added", folder=group.folder))


async def change(request: PageRequest) -> Response:
    """Change a group to what the form has; a blank zone, node or list of mounts removes it."""
    folder = request.form.text("folder")
    try:
        fields = _read(request, _CHANGE, _CLEARED)
        group = await request.service.groups.change(request.viewer.principal, folder, **fields)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect(_path(group.folder), request.notice("groups_changed", folder=folder))


async def stop(request: PageRequest) -> Response:
    return await _switch(request, is_stopped=True)


async def start(request: PageRequest) -> Response:
    return await _switch(request, is_stopped=False)


async def _switch(request: PageRequest, *, is_stopped: bool) -> Response:
    folder = request.form.text("folder")
    await request.service.groups.change(request.viewer.principal, folder, is_stopped=is_stopped)
    undo = Undo("/groups/start" if is_stopped else "/groups/stop", {"folder": folder})
    name = "groups_is_stopped" if is_stopped else "groups_is_started"
    return request.back(_path(folder), request.notice(name, undo, folder=folder))


async def remove(request: PageRequest) -> Response:
    folder = request.form.text("folder")
    try:
        check_confirmation(request, folder)
        await request.service.groups.remove(request.viewer.principal, folder)
    except FORM_ERRORS as error:
        return await show(request, error)
    return request.redirect("/groups", request.notice("groups_removed", folder=folder))


def _path(folder: str) -> str:
    return f"/group?folder={folder}"


def _sent(request: PageRequest) -> dict[str, str]:
    return {name: request.form.text(name) for name in _FIELDS}


def _texts_of(group: Group) -> dict[str, str]:
    value = {**group_json(group), "mounts": [mount_text(each) for each in group.mounts]}
    return to_texts(_CHANGE, {name: each for name, each in value.items() if each is not None})


def _form_fields(
    request: PageRequest, shape: Schema, texts: Mapping[str, str], error: HoraeError | None
) -> tuple[FormField, ...]:
    problems: dict[str, str] = {}
    pointer = pointer_to(error) if isinstance(error, Refusal) else None
    name = "" if pointer is None else pointer.split("/")[-1]
    if isinstance(error, Refusal) and name in _FIELDS:
        problems[name] = " ".join(error.in_language(request.viewer.language))
    context = FormContext(texts, _GroupWords(request.viewer.language), problems, {})
    return make_fields(shape, context, defaults=_DEFAULTS)


def _read(request: PageRequest, shape: Schema, cleared: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the fields of the form as the service takes them, with the folder of a new group."""
    found = read_value(shape, _sent(request), "")
    body: dict[str, Any] = {} if found is ABSENT else dict(found)
    folder = body.pop("folder", None)
    if "mounts" in body:
        body["mounts"] = [
            {"path": each.path, "name": each.name, "writable": each.is_writable}
            for each in map(parse_mount, body["mounts"])
        ]
    fields = read_group_fields({**(cleared or {}), **body})
    return fields if folder is None else {**fields, "folder": folder}


ROUTES: Final = (
    page("/groups", show_list),
    page("/group", show),
    form("/groups/add", add),
    form("/groups/change", change),
    form("/groups/stop", stop),
    form("/groups/start", start),
    form("/groups/remove", remove),
)
