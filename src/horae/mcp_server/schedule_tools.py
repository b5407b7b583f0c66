"""Tools that make and change tasks, and one that only says what a schedule would mean."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..errors import Refusal
from ..model.change import Facts
from ..model.record import Writing
from ..model.refusals import refuse as refuse_task
from ..model.task import Task, TaskState
from ..schedule import Schedule, to_json
from ..schedule.compat import Note
from ..schedule.describe import sentence
from ..schedule.text import read
from ..service.tasks.edits import Edited
from ..service.tasks.functions import Resolved, function_of
from ..service.tasks.task_request import Wish, read_when
from ..wire.instants import local, utc
from ..wire.tasks import definition_json, read_edits, read_task, short_target, task_json
from .arguments import needed
from .call import Call, Said, Told
from .elicitation import choices_of
from .lines import brief, listed
from .messages import CHANGED, FIRES_CHANGED, LIST_MARK, MEANS, SAME, SCHEDULED, UNDERSTOOD_MANY, WOULD_BE, Words
from .receipt import approval_of, preview_of, receipt_of, with_assumed_zone, with_cautions
from .refusals import refuse
from .task_arguments import id_of, usual_name, when_of, work_of, zone_of

PREVIEWED: Final = 5


class Made(NamedTuple):
    facts: Facts
    change: str
    dry_run: bool


async def schedule_task(call: Call, said: Said) -> Told:
    """A task from two sentences; with a key, the one that has it is changed instead."""
    resolved, notes = await _wished(call, said)
    wish = resolved.wish
    made = await _tried(call, wish) if said.get("dry_run") else await _made(call, wish)
    receipt = receipt_of(call, made.facts, notes, when=said.get("when"))
    receipt = await with_cautions(call, receipt, made.facts, resolved.warnings)
    receipt = with_assumed_zone(call, said, receipt)
    data = {
        "task": _task(call, made),
        "change": made.change,
        "declared": resolved.declared_in(made.facts.task.schedule),
        "dry_run": made.dry_run,
        **approval_of(call, made.facts),
        **receipt.values(call),
    }
    task = made.facts.task
    return Told(data, receipt.told(call, _headline(made), name=brief(task.name), id=task.id))


async def _wished(call: Call, said: Said) -> tuple[Resolved, tuple[Note, ...]]:
    work = work_of(said)
    zone = zone_of(call, said) if "zone" in said else await _declared_zone(call, work) or zone_of(call, said)
    when, notes = when_of(said, zone, call.who.owner)
    if when is None:
        raise refuse_task("missing_field", name="when")
    if not work.keys() - {"payload"}:
        raise refuse_task("missing_field", name="do")
    shape: dict[str, Any] = {"name": said.get("name") or usual_name(work), "when": when, "zone": zone, **work}
    if "key" in said:
        shape["key"] = said["key"]
    if "if_late" in said:
        shape["policies"] = {"missed": said["if_late"]}
    must_have_zone(call, read_when(when, zone, call.clock.now()))
    resolved = await call.service.resolve(call.who, read_task(shape))
    if "zone" not in said and zone is not None and zone != call.who.zone:
        resolved = resolved._replace(declared=("zone", *resolved.declared))
    return resolved, notes


async def _declared_zone(call: Call, work: dict[str, Any]) -> str | None:
    """The zone that the function declares, which counts before the owner's."""
    if "function" not in work:
        return None
    name = function_of(short_target("function", work["function"]))
    known = (await call.service.functions.load()).find(name or "")
    return None if known is None else known.registration.defaults.zone


def must_have_zone(call: Call, schedule: Schedule) -> None:
    """Nobody's wall clock is guessed: the deployment's own zone is not the one of the person who is served."""
    if schedule.zone is None:
        raise refuse("zone_needed", owner=call.who.owner)


async def _made(call: Call, wish: Wish) -> Made:
    tasks = call.service.tasks
    before = None if wish.key is None else (await tasks.rehearse(call.who, wish))[0]
    task = await tasks.create(call.who, wish)
    return Made(await tasks.get(call.who, task.id), _change(before, task), dry_run=False)


async def _tried(call: Call, wish: Wish) -> Made:
    """Refused as it would be refused; nothing is written."""
    if wish.key is not None:
        before, after = await call.service.tasks.rehearse(call.who, wish)
        if before is not None:
            return Made(before._replace(task=after), _change(before, after), dry_run=True)
    seen: list[Facts] = []

    def look(made: Sequence[Facts]) -> tuple[Writing, ...]:
        seen[:] = made
        return ()

    await call.service.rehearsal.tasks.create(call.who, wish, beside=look)
    return Made(seen[0], "new", dry_run=True)


def _change(before: Facts | None, after: Task) -> str:
    if before is None:
        return "new"
    return "same" if before.task.version == after.version else "changed"


def _task(call: Call, made: Made) -> dict[str, Any]:
    shape = task_json(made.facts, call.language)
    # Nobody can ask for what is not there: a task that was only tried has no id.
    return {**shape, "id": None} if made.dry_run and made.change == "new" else shape


def _headline(made: Made) -> Words:
    if made.dry_run:
        return WOULD_BE
    return {"new": SCHEDULED, "changed": CHANGED, "same": SAME}[made.change]


async def update_task(call: Call, said: Said) -> Told:
    """Only what is said changes; what that does to the times ahead is told."""
    found = await call.service.tasks.named(call.who, id_of(said))
    shape, notes = _edits(call, said, found.task)
    dry_run, edits = bool(said.get("dry_run")), read_edits(shape)
    done = await call.service.tasks.edit(call.who, found.task.id, edits, expected=said.get("version"), dry_run=dry_run)
    facts = found._replace(task=done.after) if dry_run else await call.service.tasks.get(call.who, found.task.id)
    advisories = await call.service.review(call.who, done, edits)
    receipt = await with_cautions(call, receipt_of(call, facts, notes, when=said.get("when")), facts, advisories)
    changed = _changed(done)
    data = {
        "before": definition_json(done.before),
        "task": task_json(facts, call.language),
        "changed": changed,
        "removed": _times(done.fires.removed, done.before),
        "added": _times(done.fires.added, done.after),
        "dry_run": dry_run,
        **approval_of(call, facts),
        **receipt.values(call),
    }
    words = WOULD_BE if dry_run else CHANGED if changed else SAME
    return Told(
        data, receipt.told(call, words, name=brief(done.after.name), id=found.task.id) + _fires(call, done, facts)
    )


def _edits(call: Call, said: Said, task: Task) -> tuple[dict[str, Any], tuple[Note, ...]]:
    there = task.schedule.zone or call.who.zone
    when, notes = when_of(said, zone_of(call, said) if "zone" in said else there, call.who.owner)
    shape: dict[str, Any] = {**work_of(said)}
    if when is not None:
        shape["when"] = when
    if "zone" in said:
        shape["zone"] = zone_of(call, said)
    if "name" in said:
        shape["name"] = said["name"]
    if "if_late" in said:
        shape["policies"] = {"missed": said["if_late"]}
    if not shape:
        raise refuse_task("missing_field", name="when / do / name / zone / if_late")
    return shape, notes


def _changed(done: Edited) -> list[str]:
    before, after = definition_json(done.before), definition_json(done.after)
    return [name for name in before if before[name] != after[name]]


def _times(instants: tuple[datetime, ...], task: Task) -> list[dict[str, str | None]]:
    return [{"at": utc(each), "at_local": local(each, task.schedule.zone)} for each in instants]


def _fires(call: Call, done: Edited, facts: Facts) -> str:
    """Of a paused task nothing comes, whatever its schedule is."""
    is_moved = bool(done.fires.removed or done.fires.added)
    return FIRES_CHANGED.told(call.language) if is_moved and facts.standing.state is TaskState.ACTIVE else ""


async def preview_schedule(call: Call, said: Said) -> Told:
    """What a schedule means and when it fires; what can be meant in several ways is told with all of them."""
    zone, text = zone_of(call, said), needed(said, "when")
    try:
        reading = read(text, zone=zone, now=call.clock.now())
    except Refusal as refusal:
        choices = choices_of(refusal, said)
        if choices is None:
            raise
        return _many(call, choices.values, zone)
    must_have_zone(call, reading.schedule)
    receipt = with_assumed_zone(call, said, preview_of(call, reading.schedule, PREVIEWED, reading.notes))
    data = {**receipt.values(call), "schedule": to_json(reading.schedule), "choices": []}
    return Told(data, receipt.told(call, MEANS))


def _many(call: Call, texts: tuple[str, ...], zone: str | None) -> Told:
    choices = [{"when": each, "means": _meaning(call, each, zone)} for each in texts]
    data = {"means": None, "zone": zone, "next_runs": [], "warnings": [], "schedule": None, "choices": choices}
    shown = LIST_MARK.told(call.language).join(f'"{each}"' for each in texts)
    return Told(data, listed(UNDERSTOOD_MANY.told(call.language, choices=shown), [], call.language))


def _meaning(call: Call, text: str, zone: str | None) -> str | None:
    try:
        return sentence(read(text, zone=zone, now=call.clock.now()).schedule, call.language)
    except Refusal:
        # It is still not clear: that is told when it is chosen.
        return None
