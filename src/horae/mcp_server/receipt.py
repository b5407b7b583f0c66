"""Receipts of the tools: what a schedule was understood as, its zone, the next fires in it and in UTC, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from ..errors import InvalidSchedule
from ..message import Message
from ..model.accounts.principal import Scope
from ..model.change import Facts
from ..model.pauses import pause_note
from ..model.task import OPEN_STATES, PauseCause, Task, TaskState, past_of
from ..schedule import After, Past, Schedule, iterate
from ..schedule.after import with_names
from ..schedule.compat import Note
from ..schedule.describe import describe_schedule
from ..schedule.lint import lint
from ..schedule.preview import Fire, make_fires
from ..schedule.text.request import parse_when
from ..schedule.warnings import ScheduleWarning
from ..service.accounts.approval_policy import digest_of
from ..service.tasks.advisories import Advisory
from ..service.tasks.default_zone import needs_zone
from ..service.tasks.functions.functions import start_command
from ..service.tasks.quotas import used_up_advisories
from ..state_names import state_name
from ..wire.instants import local, utc
from ..wire.tasks.review import review_of
from .call import Arguments, Call
from .lines import shorten_line, to_single_line
from .messages import (
    AT_ONCE,
    IN_ZONE,
    LIST_MARK,
    NEXT,
    NEXT_OF,
    NO_ENGINE,
    NOT_ACTIVE,
    NOTE,
    NOTHING_NEXT,
    PAUSE_REASON,
    PAUSED_NOW,
    PAUSED_UNTIL,
    RUNS_AFTER,
    WAITS_AND_WOULD,
    WAITS_FOR_APPROVAL,
    WOULD_COME,
    WOULD_COME_APPROVED,
)

SHOWN_FIRES: Final = 3
_FIRES_IN_LINE: Final = 2
_HOLD_CODES: Final = frozenset({"awaiting_approval", "not_active"})
_HIDDEN_WARNINGS: Final = ("anchored",)
"""True of every interval: explained on request, not repeated each time."""


class Receipt(NamedTuple):
    """`fires` are the next ones; `warnings` are pairs of code and sentence.

    `held_task` is set if nothing runs although the schedule has times; `fires_if_resumed` are the fires if the task
    were not held.
    """

    means: str
    zone: str
    fires: list[Fire]
    warnings: list[tuple[str, str]]
    at_once: bool
    now: datetime
    fires_if_resumed: Sequence[Fire] = ()
    held_task: Facts | None = None
    is_chained: bool = False
    """It runs after other tasks, so its schedule has no times and no zone."""

    def to_json(self, call: Call) -> dict[str, Any]:
        return {
            "means": self.means,
            "zone": self.zone,
            "next_runs": [fire_json(each, self.now, call) for each in self.fires],
            "next_if_resumed": [fire_json(each, self.now, call) for each in self.fires_if_resumed],
            "warnings": [{"code": code, "message": message} for code, message in self.warnings],
        }

    def render(self, call: Call, words: Message, **facts: object) -> str:
        # The reason for the hold is part of the line of next fires; do not repeat it.
        shown_warnings = [message for code, message in self.warnings if code not in _HOLD_CODES]
        notes = "".join(NOTE.in_language(call.language, note=message) for message in shown_warnings)
        next_line = self.next_line(call)
        return words.in_language(
            call.language, means=self._meaning_with_zone(call), next=next_line, notes=notes, **facts
        )

    def _meaning_with_zone(self, call: Call) -> str:
        """Return the meaning, with the zone where the sentence does not name it."""
        names_zone = self.zone in self.means or self.is_chained
        return self.means if names_zone else IN_ZONE.in_language(call.language, means=self.means, zone=self.zone)

    def next_line(self, call: Call) -> str:
        if self.held_task is not None:
            return self._held_line(call, self.held_task)
        if self.is_chained:
            return RUNS_AFTER.in_language(call.language)
        if not self.fires:
            return (AT_ONCE if self.at_once else NOTHING_NEXT).in_language(call.language)
        return NEXT.in_language(call.language, fires=self._fires_line(call, self.fires))

    def _fires_line(self, call: Call, fires: Sequence[Fire], limit: int = _FIRES_IN_LINE) -> str:
        return LIST_MARK.in_language(call.language).join(fire_line(each, self.now, call) for each in fires[:limit])

    def _held_line(self, call: Call, held: Facts) -> str:
        """Return one sentence: nothing runs, why, and when it would run."""
        pause, awaits = held.status.pause, awaits_approval(held)
        would = WOULD_COME_APPROVED if awaits else WOULD_COME
        fires = self._fires_line(call, self.fires_if_resumed, 1)
        shown = would.in_language(call.language, fires=fires) if fires else ""
        if awaits:
            return call.render(WAITS_AND_WOULD, id=held.task.id, would=shown)
        said = "" if pause is None else shorten_line(pause_note(pause, call.language))
        note = PAUSE_REASON.in_language(call.language, reason=said) if said else ""
        if pause is not None and pause.until is not None and self.fires:
            until = format_moment(pause.until, self.zone)
            after = self._fires_line(call, self.fires, 1)
            return PAUSED_UNTIL.in_language(call.language, reason=note, until=until, fires=after)
        return PAUSED_NOW.in_language(call.language, reason=note, would=shown)


def fire_json(fire: Fire, now: datetime, call: Call) -> dict[str, str | None]:
    return {
        "at": utc(fire.utc),
        "at_local": local(fire.utc, fire.zone),
        "relative": fire.relative(now, call.language),
    }


def fire_line(fire: Fire, now: datetime, call: Call) -> str:
    local_text = fire.local.replace(tzinfo=None, microsecond=0).isoformat(
        " ", "seconds" if fire.local.second else "minutes"
    )
    utc_text = fire.utc.replace(tzinfo=None, microsecond=0).isoformat(timespec="minutes") + "Z"
    return NEXT_OF.in_language(
        call.language, local=local_text, zone=fire.zone, relative=fire.relative(now, call.language), utc=utc_text
    )


def format_moment(at: datetime, zone: str | None) -> str:
    """Format as `2026-11-18 09:00 +08:00`, with seconds where there are any."""
    shown = local(at, zone) or ""
    return f"{shown[:10]} {shown[11:16] if at.second == 0 else shown[11:19]} {shown[-6:]}"


def receipt_of(
    call: Call, facts: Facts, notes: Sequence[Note] = (), number: int = SHOWN_FIRES, when: object = None
) -> Receipt:
    """Build the receipt of an existing task, or of one that would be created; `when` is the text of its schedule."""
    task, status, now = facts.task, facts.status, call.clock.now()
    is_held = status.state is TaskState.PAUSED
    until = None if status.pause is None else status.pause.until
    after = max(now, until) if is_held and until is not None else now
    fires = list(_next_fires(facts, after, number)) if not is_held or until is not None else []
    receipt = _build_receipt(call, task.schedule, fires, notes, now, _reading_notes(when, task.schedule.zone, now))
    is_chained = isinstance(task.schedule, After) and status.state in OPEN_STATES
    receipt = receipt._replace(at_once=_is_due_at_once(facts), is_chained=is_chained)
    if status.state not in OPEN_STATES:
        # This warning is about a task that is created now.
        receipt = receipt._replace(warnings=[each for each in receipt.warnings if each[0] != "in_the_past"])
    if not is_held:
        return receipt
    would = make_fires(receipt.zone, list(_next_fires(facts, now, number)))
    return receipt._replace(held_task=facts, fires_if_resumed=would)


def _reading_notes(when: object, zone: str | None, now: datetime) -> tuple[str, ...]:
    try:
        return parse_when(when, zone=zone, now=now).notes if isinstance(when, str | list) else ()
    except InvalidSchedule:
        # The text was clear when the task was created, and its time has passed since.
        return ()


def _next_fires(facts: Facts, after: datetime, number: int) -> Iterable[datetime]:
    if facts.status.state not in OPEN_STATES:
        return ()
    return islice(iterate(facts.task.schedule, after, past_of(facts.task, facts.status)), number)


def _is_due_at_once(facts: Facts) -> bool:
    return facts.status.state is TaskState.ACTIVE and facts.task.schedule.kind in ("now", "once")


def preview_of(
    call: Call, schedule: Schedule, number: int, notes: Sequence[str] = (), dialect_notes: Sequence[Note] = ()
) -> Receipt:
    """Build the receipt of a schedule without a task, as if it were created now."""
    now = call.clock.now()
    fires = list(islice(iterate(schedule, now, Past(anchor=now)), number))
    return _build_receipt(call, schedule, fires, dialect_notes, now, tuple(notes))


def _build_receipt(
    call: Call,
    schedule: Schedule,
    instants: list[datetime],
    notes: Sequence[Note],
    now: datetime,
    reading_notes: tuple[str, ...] = (),
) -> Receipt:
    zone = schedule.zone or "UTC"
    warnings = [
        _warning_pair(call, each)
        for each in lint(schedule, now, notes=reading_notes)
        if each.code not in _HIDDEN_WARNINGS
    ]
    warnings += [(each.code, each.english if call.language == "en" else each.chinese) for each in notes]
    means = to_single_line(describe_schedule(schedule, call.language))
    at_once = schedule.kind in ("now", "once")
    return Receipt(means, zone, make_fires(zone, instants), warnings, at_once, now)


def _warning_pair(call: Call, warning: ScheduleWarning) -> tuple[str, str]:
    return warning.code, warning.in_language(call.language)


def with_assumed_zone(call: Call, arguments: Arguments, receipt: Receipt) -> Receipt:
    """Add a warning about the assumed zone if the call names none and another zone would give other instants."""
    assumed, when = call.context.assumed, arguments.get("when")
    if assumed is None or "zone" in arguments or arguments.get("schedule_type") == "interval":
        return receipt
    if isinstance(when, str) and not needs_zone(when, receipt.now):
        return receipt
    return receipt._replace(warnings=[_warning_pair(call, assumed.warning()), *receipt.warnings])


async def with_warnings(call: Call, receipt: Receipt, facts: Facts, advisories: Sequence[Advisory] = ()) -> Receipt:
    """Add what keeps a task from running although its schedule is fine: a pending approval, a pause, no live node; and
    `advisories` about its target."""
    known = (*used_up_advisories(facts), *advisories)
    target_warnings = [(each.code, call.complete(each.in_language(call.language))) for each in known]
    warnings = [*target_warnings, *receipt.warnings]
    if awaits_approval(facts):
        warnings.insert(0, ("awaiting_approval", call.render(WAITS_FOR_APPROVAL, id=facts.task.id)))
    elif facts.status.state is not TaskState.ACTIVE:
        warnings.insert(
            0,
            (
                "not_active",
                NOT_ACTIVE.in_language(call.language, state=state_name(facts.status.state.value, call.language)),
            ),
        )
    if isinstance(facts.task.schedule, After):
        receipt = receipt._replace(means=await _chain_meaning(call, facts.task))
    if call.context.has_engine is not None and not await call.context.has_engine():
        warnings.append(("no_engine", await no_engine_warning(call, facts)))
    return receipt._replace(warnings=warnings)


async def _chain_meaning(call: Call, task: Task) -> str:
    named = with_names(task.schedule, await predecessor_names(call, task))
    return to_single_line(describe_schedule(named, call.language))


async def predecessor_names(call: Call, *tasks: Task) -> dict[str, str]:
    """Return the names of the tasks that these run after; also for a caller that may write but not read, who named them."""
    reader = call.principal._replace(scopes=call.principal.scopes | {Scope.READ})
    return await call.service.tasks.predecessor_names(reader, tasks)


async def no_engine_warning(call: Call, facts: Facts) -> str:
    """Return the warning that no node is alive, with the command that starts one for this task."""
    missing = (await call.service.functions.load()).missing(facts.task.target)
    command = "horae up" if missing is None else start_command(missing.source)
    return call.render(NO_ENGINE, command=command)


def approval_json(call: Call, facts: Facts) -> dict[str, Any]:
    """Return whether the task awaits approval, and the digest and review of exactly what would be approved."""
    awaits = awaits_approval(facts)
    return {
        "awaiting_approval": awaits,
        "approval_digest": digest_of(facts.task) if awaits else None,
        "review": list(review_of(facts.task, call.language).lines) if awaits else None,
    }


def awaits_approval(facts: Facts) -> bool:
    pause = facts.status.pause
    return pause is not None and pause.cause is PauseCause.AWAITING_APPROVAL


def list_zone(call: Call) -> str:
    """Return the caller's zone: lists show all times in it."""
    return call.principal.zone or "UTC"


def task_row(call: Call, facts: Facts, upcoming: datetime | None, names: Mapping[str, str]) -> dict[str, Any]:
    """Encode one task of a list: only the fields needed to choose one."""
    task: Task = facts.task
    return {
        "id": task.id,
        "name": task.name,
        "state": facts.status.state.value,
        "means": describe_schedule(with_names(task.schedule, names), call.language),
        "zone": task.schedule.zone,
        "next": utc(upcoming),
        "next_local": local(upcoming, list_zone(call)),
        "key": task.key,
        "awaiting_approval": awaits_approval(facts),
        "last_result": facts.status.last_result,
    }
