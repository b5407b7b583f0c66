"""Tools that hold a task, let it go on, end it, or run it once more."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ..errors import NotFound
from ..model.change import Facts
from ..model.run import Run
from ..service.moments import coming_moment
from ..wire.moments import local
from ..wire.runs import run_json
from ..wire.tasks import task_json
from .call import Call, Said, Told
from .lines import brief
from .receipt import approval_of, receipt_of, with_cautions
from .running import run_line
from .spelling import id_of
from .words import CANCELLED, PAUSED, RESUMED, RUN_ASKED, STILL_GOING, UNTIL

_FIRST_LOOK_SECONDS: Final = 0.05
_LAST_LOOK_SECONDS: Final = 1.0
"""Who waits for long looks less and less often."""


async def pause_task(call: Call, said: Said) -> Told:
    found = await call.service.tasks.named(call.who, id_of(said))
    until = _until(call, said, found)
    facts = await call.service.tasks.pause(call.who, found.task.id, note=said.get("reason", ""), until=until)
    shown = "" if until is None else UNTIL.told(call.language, until=local(until, found.task.schedule.zone))
    line = PAUSED.told(call.language, name=brief(facts.task.name), id=facts.task.id, until=shown)
    return Told({"task": task_json(facts, call.language)}, line)


def _until(call: Call, said: Said, facts: Facts) -> datetime | None:
    if "until" not in said:
        return None
    zone = facts.task.schedule.zone or call.who.zone or "UTC"
    return coming_moment(said["until"], zone, call.clock.now())


async def resume_task(call: Call, said: Said) -> Told:
    found = await call.service.tasks.named(call.who, id_of(said))
    facts = await call.service.tasks.resume(call.who, found.task.id, said.get("missed", "skip"))
    receipt = await with_cautions(call, receipt_of(call, facts), facts)
    data = {
        "task": task_json(facts, call.language),
        **approval_of(call, facts),
        **receipt.values(call),
    }
    return Told(data, receipt.told(call, RESUMED, name=brief(facts.task.name), id=facts.task.id))


async def cancel_task(call: Call, said: Said) -> Told:
    found = await call.service.tasks.named(call.who, id_of(said))
    facts = await call.service.tasks.cancel(call.who, found.task.id)
    line = CANCELLED.told(call.language, name=brief(facts.task.name), id=facts.task.id)
    return Told({"task": task_json(facts, call.language)}, line)


async def run_task_now(call: Call, said: Said) -> Told:
    """One more run, beside the schedule; with `wait_seconds`, its end when it comes in that time."""
    found = await call.service.tasks.named(call.who, id_of(said))
    run_id = await call.service.tasks.run_now(call.who, found.task.id)
    seconds: int = said.get("wait_seconds", 0)
    run = await _ended(call, run_id, seconds) if seconds else None
    task = found.task
    data: dict[str, Any] = {
        "task_id": task.id,
        "run_id": run_id,
        "ended": run is not None and not run.live,
        "run": None if run is None else run_json(run, task.name, task.schedule.zone, call.language),
    }
    if run is not None and not run.live:
        return Told(data, run_line(call, run, task.name))
    words = STILL_GOING if seconds else RUN_ASKED
    line = words.told(call.language, name=brief(task.name), id=task.id, run=run_id, seconds=seconds)
    return Told(data, line)


async def _ended(call: Call, run_id: str, seconds: float) -> Run | None:
    """The run when it has ended, or as it stands when the time is over; None: it has not begun."""
    end, pause = call.clock.steady() + seconds, _FIRST_LOOK_SECONDS
    while True:
        run = await _run(call, run_id)
        left = end - call.clock.steady()
        if left <= 0 or (run is not None and not run.live):
            return run
        await call.clock.pause(min(pause, left))
        pause = min(2 * pause, _LAST_LOOK_SECONDS)


async def _run(call: Call, run_id: str) -> Run | None:
    try:
        return await call.service.runs.get(call.who, run_id)
    except NotFound:
        # Its row is written when a node claims it.
        return None
