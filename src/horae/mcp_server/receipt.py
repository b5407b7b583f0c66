"""What was understood, said back: the meaning, the zone, the next times in it and in UTC, and what may surprise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from ..model.change import Facts
from ..model.task import GOING, PauseCause, Task, TaskState, past_of
from ..schedule import Past, Schedule, iterate
from ..schedule.compat import Note
from ..schedule.describe import sentence
from ..schedule.lint import lint
from ..schedule.preview import Fire, fires_in
from ..schedule.warnings import ScheduleWarning
from ..service.advisories import Advisory
from ..service.assumed_zone import needs_zone
from ..service.gate import digest_of
from ..wire.moments import local, utc
from ..wire.review import review_of
from .call import Call, Said
from .lines import plain
from .words import AT_ONCE, IN_ZONE, NEXT, NEXT_OF, NO_ENGINE, NOT_ACTIVE, NOTE, NOTHING_NEXT, WAITS_FOR_APPROVAL, Words

FIRES: Final = 3
_FIRES_IN_LINE: Final = 2
_TRUE_OF_ALL: Final = ("anchored",)
"""Worth explaining when somebody asks, not worth repeating each time."""


class Receipt(NamedTuple):
    """`fires` are the next ones; `warnings` pairs of a code and a sentence."""

    means: str
    zone: str
    fires: list[Fire]
    warnings: list[tuple[str, str]]
    at_once: bool
    now: datetime

    def values(self, call: Call) -> dict[str, Any]:
        return {
            "means": self.means,
            "zone": self.zone,
            "next_runs": [fire_json(each, self.now, call) for each in self.fires],
            "warnings": [{"code": code, "message": message} for code, message in self.warnings],
        }

    def told(self, call: Call, words: Words, **facts: object) -> str:
        notes = "".join(NOTE.told(call.language, note=message) for _, message in self.warnings)
        next_ones = self.next_line(call)
        return words.told(call.language, means=self._understood(call), next=next_ones, notes=notes, **facts)

    def _understood(self, call: Call) -> str:
        """With its zone, which most sentences name themselves."""
        named = self.zone in self.means
        return self.means if named else IN_ZONE.told(call.language, means=self.means, zone=self.zone)

    def next_line(self, call: Call) -> str:
        if not self.fires:
            return (AT_ONCE if self.at_once else NOTHING_NEXT).told(call.language)
        told = [fire_line(each, self.now, call) for each in self.fires[:_FIRES_IN_LINE]]
        return NEXT.told(call.language, fires=", ".join(told))


def fire_json(fire: Fire, now: datetime, call: Call) -> dict[str, str | None]:
    return {
        "at": utc(fire.utc),
        "at_local": local(fire.utc, fire.zone),
        "relative": fire.relative(now, call.language),
    }


def fire_line(fire: Fire, now: datetime, call: Call) -> str:
    there = fire.local.replace(tzinfo=None, microsecond=0).isoformat(" ", "seconds" if fire.local.second else "minutes")
    moment = fire.utc.replace(tzinfo=None, microsecond=0).isoformat(timespec="minutes") + "Z"
    return NEXT_OF.told(
        call.language, local=there, zone=fire.zone, relative=fire.relative(now, call.language), utc=moment
    )


def receipt_of(call: Call, facts: Facts, notes: Sequence[Note] = (), number: int = FIRES) -> Receipt:
    """Of a task that is there, or that would be."""
    task, standing, now = facts.task, facts.standing, call.clock.now()
    fires = islice(iterate(task.schedule, now, past_of(task, standing)), number) if standing.state in GOING else ()
    return _receipt(call, task.schedule, list(fires), notes, now)._replace(at_once=_at_once(facts))


def _at_once(facts: Facts) -> bool:
    return facts.standing.state is TaskState.ACTIVE and facts.task.schedule.kind in ("now", "once")


def preview_of(
    call: Call, schedule: Schedule, number: int, notes: Sequence[str] = (), theirs: Sequence[Note] = ()
) -> Receipt:
    """Of a schedule without any task, as if it were made now."""
    now = call.clock.now()
    fires = list(islice(iterate(schedule, now, Past(anchor=now)), number))
    return _receipt(call, schedule, fires, theirs, now, tuple(notes))


def _receipt(
    call: Call,
    schedule: Schedule,
    instants: list[datetime],
    notes: Sequence[Note],
    now: datetime,
    read: tuple[str, ...] = (),
) -> Receipt:
    zone = schedule.zone or "UTC"
    warnings = [_told(call, each) for each in lint(schedule, now, notes=read) if each.code not in _TRUE_OF_ALL]
    warnings += [(each.code, each.english if call.language == "en" else each.chinese) for each in notes]
    means = plain(sentence(schedule, call.language))
    at_once = schedule.kind in ("now", "once")
    return Receipt(means, zone, fires_in(zone, instants), warnings, at_once, now)


def _told(call: Call, warning: ScheduleWarning) -> tuple[str, str]:
    return warning.code, warning.in_language(call.language)


def with_assumed_zone(call: Call, said: Said, receipt: Receipt) -> Receipt:
    """Say where the zone comes from, if nobody named one and another zone would give other instants."""
    assumed, when = call.house.assumed, said.get("when")
    if assumed is None or "zone" in said or said.get("schedule_type") == "interval":
        return receipt
    if isinstance(when, str) and not needs_zone(when, receipt.now):
        return receipt
    return receipt._replace(warnings=[_told(call, assumed.warning()), *receipt.warnings])


async def with_cautions(call: Call, receipt: Receipt, facts: Facts, advisories: Sequence[Advisory] = ()) -> Receipt:
    """What keeps a task from running though its schedule is fine: a person's approval, or that no engine is there;
    and `advisories` about its target."""
    found = [*((each.code, each.in_language(call.language)) for each in advisories), *receipt.warnings]
    if awaits_approval(facts):
        found.insert(0, ("awaiting_approval", WAITS_FOR_APPROVAL.told(call.language, id=facts.task.id)))
    elif facts.standing.state is not TaskState.ACTIVE:
        found.insert(0, ("not_active", NOT_ACTIVE.told(call.language, state=facts.standing.state.value)))
    if call.house.anybody is not None and not await call.house.anybody():
        found.append(("no_engine", NO_ENGINE.told(call.language)))
    return receipt._replace(warnings=found)


def approval_of(call: Call, facts: Facts) -> dict[str, Any]:
    """Whether a person has to look at it first, and the digest of exactly what they would approve."""
    waits = awaits_approval(facts)
    return {
        "awaiting_approval": waits,
        "approval_digest": digest_of(facts.task) if waits else None,
        "review": list(review_of(facts.task, call.language).lines) if waits else None,
    }


def awaits_approval(facts: Facts) -> bool:
    pause = facts.standing.pause
    return pause is not None and pause.cause is PauseCause.AWAITING_APPROVAL


def task_row(call: Call, facts: Facts, upcoming: datetime | None) -> dict[str, Any]:
    """One task in a list: enough to choose by, and no more."""
    task: Task = facts.task
    return {
        "id": task.id,
        "name": task.name,
        "state": facts.standing.state.value,
        "means": sentence(task.schedule, call.language),
        "zone": task.schedule.zone,
        "next": utc(upcoming),
        "next_local": local(upcoming, task.schedule.zone),
        "key": task.key,
        "awaiting_approval": awaits_approval(facts),
        "last_result": facts.standing.last_result,
    }
