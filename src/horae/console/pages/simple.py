"""Simple view for members: their own tasks as cards, with one form to create and edit, a toggle and a deletion."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...choices import Language
from ...errors import Refusal
from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.pauses import pause_note
from ...model.run import Run
from ...model.task import OPEN_STATES, PauseCause, Task, TaskState
from ...model.text.plain_text import cut, plain_text
from ...ports.store import TaskFilter
from ...schedule import Cron, Every, Now, Once, Schedule
from ...schedule.after import with_names
from ...schedule.describe import describe_core
from ...service.own_tasks import (
    DISABLED,
    VISIBLE_STATES,
    delete_or_cancel,
    edit_and_enable,
    get_own_task,
    pause_task,
    without_admin,
)
from ...web.problems import status_of
from ...wire.problems import problem_json
from ...wire.tasks.task import next_due
from ...wire.tasks.text_tasks import text_of
from ..formats import format_clock, format_day_and_clock, format_distance
from ..messages import TEXTS
from ..notice import Notice, Undo
from ..outcomes import Sign, task_sign
from ..page import PageRequest, form, page
from ..request import Form
from ..simple_form import (
    KINDS,
    UNITS,
    SimpleForm,
    form_of,
    preview_of,
    read_edits,
    read_form,
    read_new,
    suggested_zones,
)
from ..viewer import Viewer

LIST: Final = "/simple"
PAGE_SIZE: Final = 30
_SHOWN_CHARACTERS: Final = 160
_SHOWN_LINES: Final = 4


class Card(NamedTuple):
    """A task as its card shows it. `pause` is the note of its pause; where `is_locked`, the toggle cannot end the pause."""

    facts: Facts
    latest: Run | None
    badge: Sign
    kind: str
    when: str
    text: str
    pause: str
    is_locked: bool
    own_next: str
    """The next instant in the zone of the task, where its clock differs from the viewer's."""

    @property
    def task(self) -> Task:
        return self.facts.task

    @property
    def next(self) -> datetime | None:
        return next_due(self.facts)

    @property
    def expression(self) -> str:
        """The cron expression, where the task has one."""
        schedule = self.task.schedule
        return schedule.expression if isinstance(schedule, Cron) else ""

    @property
    def is_enabled(self) -> bool:
        return self.facts.status.state is TaskState.ACTIVE

    @property
    def can_toggle(self) -> bool:
        return not self.is_locked and self.facts.status.state is not TaskState.COMPLETED

    @property
    def can_run(self) -> bool:
        return not self.is_locked and self.facts.status.state in OPEN_STATES


async def go_to_list(request: PageRequest) -> Response:
    return request.redirect(LIST)


async def show(request: PageRequest) -> Response:
    """Show the tasks of the viewer, oldest first; with `?q=TEXT`, those with a text in their name."""
    service, principal, query = request.service, own_principal(request), request.request.query_params
    text = query.get("q", "").strip()
    task_filter = TaskFilter(principal.owner, VISIBLE_STATES, text=text or None)
    found = await service.tasks.page(principal, task_filter, query.get("after") or None, PAGE_SIZE)
    latest = await service.tasks.latest(principal, found.items)
    listed = [each.task for each in found.items]
    names = await request.service.tasks.predecessor_names(own_principal(request), listed)
    cards = [make_card(each, latest.get(each.task.id), request.viewer, names) for each in found.items]
    data = {
        "page": "simple",
        "cards": cards,
        "query": {name: query[name] for name in ("q", "after") if query.get(name)},
        "after": found.after,
        "has_orchestrator": bool(request.context.settings.orchestrator),
        "example": _example(request),
    }
    return request.render("simple.html", data)


async def show_new(request: PageRequest) -> Response:
    return _show_form(request, SimpleForm(zone=request.viewer.zone, amount="10"))


async def create(request: PageRequest) -> Response:
    filled, principal, tasks = read_form(request.form), own_principal(request), request.service.tasks
    try:
        wanted = read_new(filled, request.context.settings.orchestrator, request.viewer.now)
        task = await tasks.create(principal, wanted, paused=None if filled.enabled else DISABLED)
    except Refusal as error:
        return _show_form(request, filled, error=error)
    facts = await tasks.get(principal, task.id)
    return request.redirect(LIST, _receipt(request, _CREATED, facts, Undo(f"{LIST}/{task.id}/delete", {})))


async def preview(request: PageRequest) -> Response:
    """Show what the time of a form means, and when the task would run next; nothing is stored."""
    filled = read_form(Form(request.request.query_params.multi_items()))
    return request.render("simple_preview.html", {"page": "simple", "preview": preview_of(filled, request.viewer)})


async def show_edit(request: PageRequest) -> Response:
    facts = await load_task(request)
    return _show_form(request, form_of(facts, request.viewer), facts)


async def save(request: PageRequest) -> Response:
    facts, filled = await load_task(request), read_form(request.form)
    before = form_of(facts, request.viewer)
    expected = int(filled.version) if filled.version.isdecimal() else None
    try:
        edits = read_edits(before, filled, facts.task, request.viewer.now)
        enabled = None if filled.enabled == before.enabled else filled.enabled
        after = await edit_and_enable(
            request.service, own_principal(request), facts, edits, enabled=enabled, expected=expected
        )
    except Refusal as error:
        if error.code == "stale_version":
            # The problem is shown; sending the form once more replaces the newer version.
            filled = filled._replace(version=before.version)
        return _show_form(request, filled, facts, error)
    undo = Undo(f"{LIST}/{facts.task.id}/edit", before.to_fields())
    return request.redirect(LIST, _receipt(request, _SAVED, after, undo))


async def toggle(request: PageRequest) -> Response:
    """Enable or disable a task. Occurrences that were missed while it was disabled stay missed."""
    facts, principal = await load_task(request), own_principal(request)
    task, wants_enabled = facts.task, request.form.text("enabled") == "1"
    if not wants_enabled:
        await pause_task(request.service, principal, task.id, DISABLED)
        undo = Undo(f"{LIST}/{task.id}/toggle", {"enabled": "1"})
        return request.back(LIST, request.notice("simple_disabled", undo=undo, task=task.name))
    after = await request.service.tasks.resume(principal, task.id)
    if after.status.state is not TaskState.ACTIVE:
        return request.back(LIST, request.notice("simple_nothing_left", task=task.name))
    return request.back(LIST, _receipt(request, _ENABLED, after, Undo(f"{LIST}/{task.id}/toggle", {"enabled": "0"})))


async def show_delete(request: PageRequest) -> Response:
    facts = await load_task(request)
    return request.render("simple_delete.html", {"page": "simple", "task": facts.task, "is_running": bool(facts.live)})


async def delete(request: PageRequest) -> Response:
    facts = await load_task(request)
    await delete_or_cancel(request.service, own_principal(request), facts.task.id)
    return request.redirect(LIST, request.notice("simple_deleted", task=facts.task.name))


# --- shared with the run history ------------------------------------------------------------------------------------------


def own_principal(request: PageRequest) -> Principal:
    """Return the viewer without admin rights: the simple view has only the viewer's own tasks."""
    return without_admin(request.viewer.principal)


async def load_task(request: PageRequest) -> Facts:
    return await get_own_task(request.service, own_principal(request), request.request.path_params["task_id"])


def make_card(facts: Facts, latest: Run | None, viewer: Viewer, names: Mapping[str, str]) -> Card:
    task, language = facts.task, viewer.language
    return Card(
        facts,
        latest,
        _badge(facts, viewer),
        kind_of(task.schedule),
        describe_core(with_names(task.schedule, names), language),
        cut(plain_text(text_of(task) or ""), _SHOWN_CHARACTERS, _SHOWN_LINES),
        _pause_text(facts, language),
        _is_locked(facts),
        _own_next(facts, viewer),
    )


def kind_of(schedule: Schedule) -> str:
    if isinstance(schedule, Once | Now):
        return "once"
    return "every" if isinstance(schedule, Every) else "rule"


def _badge(facts: Facts, viewer: Viewer) -> Sign:
    """Return the sign of the state in the words of this view: enabled and disabled."""
    state = facts.status.state
    return task_sign(state, viewer.language)._replace(
        word=TEXTS[f"simple_state_{state.value}"].in_language(viewer.language)
    )


def _own_next(facts: Facts, viewer: Viewer) -> str:
    due, zone = next_due(facts), facts.task.schedule.zone
    if due is None or zone is None or format_clock(due, viewer, zone) == format_clock(due, viewer):
        return ""
    return f"{zone} {format_day_and_clock(due, viewer, zone)}"


def _pause_text(facts: Facts, language: Language) -> str:
    pause = facts.status.pause
    return "" if pause is None or pause.note == DISABLED else pause_note(pause, language)


def _is_locked(facts: Facts) -> bool:
    """Whether the task waits for something else than its owner, such as an approval."""
    pause = facts.status.pause
    return pause is not None and pause.cause is not PauseCause.REQUESTED


def _example(request: PageRequest) -> str:
    """Return a command that creates a task over HTTP."""
    prefix = request.viewer.base.removesuffix("/scheduled-tasks/console").removesuffix("/console")
    base = str(request.request.base_url.replace(path=prefix, query="")).rstrip("/")
    body = '{"name": "demo", "schedule_type": "interval", "schedule_expr": "60", "payload": {"text": "hello"}}'
    return f"curl -X POST {base}/scheduled-tasks -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' -d '{body}'"


class _ReceiptTexts(NamedTuple):
    """Names of the texts after a change: of a task with a next instant, and of one without."""

    planned: str
    asleep: str


_CREATED: Final = _ReceiptTexts("simple_created", "simple_created_asleep")
_SAVED: Final = _ReceiptTexts("simple_saved", "simple_saved_asleep")
_ENABLED: Final = _ReceiptTexts("simple_enabled", "simple_enabled_asleep")


def _receipt(request: PageRequest, texts: _ReceiptTexts, facts: Facts, undo: Undo | None = None) -> Notice:
    """Return the notice after a change: when the task runs, in words, and the next instant in the zone of the task."""
    viewer, due = request.viewer, next_due(facts)
    zone = facts.task.schedule.zone or viewer.zone
    when = describe_core(facts.task.schedule, viewer.language)
    if due is None:
        return request.notice(texts.asleep, undo=undo, task=facts.task.name, when=when)
    return request.notice(
        texts.planned,
        undo=undo,
        task=facts.task.name,
        when=when,
        next=format_day_and_clock(due, viewer, zone),
        zone=zone,
        distance=format_distance(due, viewer),
    )


def _show_form(
    request: PageRequest, filled: SimpleForm, facts: Facts | None = None, error: Refusal | None = None
) -> Response:
    data: dict[str, Any] = {
        "page": "simple",
        "filled": filled,
        "task": None if facts is None else facts.task,
        "problem": None if error is None else problem_json(error, request.viewer.language),
        "kinds": KINDS,
        "units": tuple(UNITS),
        "preview": None if facts is None else preview_of(filled, request.viewer),
        "zones": suggested_zones(request.viewer.zone, request.viewer.language),
        "has_orchestrator": bool(request.context.settings.orchestrator),
    }
    return request.render("simple_form.html", data, 200 if error is None else status_of(error))


ROUTES: Final = (
    page(LIST, show),
    page(f"{LIST}/new", show_new),
    form(f"{LIST}/new", create),
    page(f"{LIST}/preview", preview),
    page(f"{LIST}/{{task_id}}/edit", show_edit),
    form(f"{LIST}/{{task_id}}/edit", save),
    form(f"{LIST}/{{task_id}}/toggle", toggle),
    page(f"{LIST}/{{task_id}}/delete", show_delete),
    form(f"{LIST}/{{task_id}}/delete", delete),
)
