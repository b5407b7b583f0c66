"""Prints a task after its creation, and in `horae show`: schedule, next fires, target and policies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from ...choices import Language
from ...lifecycle.due_backlog import MICROSECOND
from ...model.change import Facts
from ...model.lanes.node_labels import format_labels
from ...model.policy import Missed, Policies
from ...model.task import OPEN_STATES, Target, Task, TaskStatus, past_of
from ...schedule import After, Every, Schedule, iterate
from ...schedule.after import with_names
from ...schedule.any_of import parts_of
from ...schedule.describe import describe_schedule
from ...schedule.preview import Fire, make_fires
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import Advisory
from ...wire.instants import local, utc
from ...wire.tasks.review import Review
from ...wire.tasks.targets import target_json
from ...wire.tasks.task import definition_json
from ..messages import messages
from .formats import duration_message, exact_duration
from .printer import Printer, json_text
from .readiness import advisory_text
from .schedule_text import fire_lines
from .styled_text import Cell, StyledText

FIRES: Final = 3
_SECOND: Final = timedelta(seconds=1)


def fires_of(task: Task, status: TaskStatus, now: datetime, number: int = FIRES) -> list[Fire]:
    """Return the next fires, none before `now`."""
    instants = islice(iterate(task.schedule, now, past_of(task, status)), number)
    return make_fires(task.schedule.zone or "UTC", instants)


def fires_if_resumed(facts: Facts, now: datetime, number: int = FIRES) -> list[Fire]:
    """Return the next fires as if the task were not paused; for a pause with an end, those after it."""
    pause = facts.status.pause
    after = now if pause is None or pause.until is None else max(now, pause.until - MICROSECOND)
    return fires_of(facts.task, facts.status, after, number)


def fires_to_come(facts: Facts, now: datetime, number: int = FIRES) -> list[Fire]:
    """Return the next fires; none for a task that has ended, or is paused without an end."""
    status = facts.status
    is_held = status.pause is not None and status.pause.until is None
    return [] if is_held or status.state not in OPEN_STATES else fires_if_resumed(facts, now, number)


def fires_json(fires: Sequence[Fire]) -> list[dict[str, Any]]:
    return [{"at": utc(fire.utc), "at_local": local(fire.utc, fire.zone)} for fire in fires]


def show_schedule(
    out: Printer,
    facts: Facts,
    now: datetime,
    number: int = FIRES,
    *,
    made: bool = False,
    names: Mapping[str, str] | None = None,
) -> None:
    """Print the description and the next fires, or those after a resume. `made`: the task was just created, so an
    occurrence that was due at once may have run already. `names`: those of the tasks that it runs after, by id."""
    task, status = facts.task, facts.status
    out.row(out.translate(messages.WHEN), describe_schedule(with_names(task.schedule, names or {}), out.language))
    if isinstance(task.schedule, After):
        return
    fires = fires_to_come(facts, now, number)
    heading = None
    if status.pause is not None and status.pause.until is not None:
        heading = out.translate(messages.AFTER_PAUSE)
    elif status.pause is not None:
        fires = fires_if_resumed(facts, now, number)
        heading = out.translate(messages.IF_RESUMED if fires else messages.NOTHING_WHILE_PAUSED)
    elif not fires and facts.live and not made:
        heading = out.translate(messages.RUNNING_NOW)
    elif not fires:
        waits = made or (bool(facts.entries) and status.state in OPEN_STATES)
        at_once = task.schedule.kind in ("now", "once") and waits
        heading = out.translate(messages.AT_ONCE if at_once else messages.NOTHING_LEFT)
    now = now.replace(microsecond=0)
    shown = [_as_fine_as(task.schedule, fire) for fire in fires]
    lines = fire_lines(shown, now, out, skipped=status.skips_left)
    for place, line in enumerate([*([] if heading is None else [heading]), *lines]):
        out.row(out.translate(messages.NEXT) if place == 0 else "", line)
    if isinstance(task.schedule, Every) and task.schedule.since == "end":
        out.row("", out.translate(messages.ESTIMATE))


def _as_fine_as(schedule: Schedule, fire: Fire) -> Fire:
    """Return the fire to the second; to the millisecond if the interval is shorter than a second."""
    if not any(isinstance(part, Every) and part.interval < _SECOND for part in parts_of(schedule)):
        return whole_seconds(fire)
    rest = fire.utc.microsecond // 1000 * 1000
    return Fire(fire.utc.replace(microsecond=rest), fire.local.replace(microsecond=rest), fire.zone)


def whole_seconds(fire: Fire) -> Fire:
    return Fire(fire.utc.replace(microsecond=0), fire.local.replace(microsecond=0), fire.zone)


def show_declared(out: Printer, task: Task, declared: Sequence[str]) -> None:
    """Print the fields that came from the declaration of the task's function, with their values."""
    if not declared:
        return
    shape = definition_json(task)
    values = {**shape, **{f"policies.{name}": value for name, value in shape["policies"].items()}}
    policies = task.policies
    lengths = {
        "timeout": policies.timeout,
        "max_duration": policies.max_duration,
        "start_within": policies.start_within,
    }
    values |= {
        f"policies.{name}": duration_message(exact_duration(each)).in_language(out.language)
        for name, each in lengths.items()
        if each is not None
    }
    if task.policies.guarantee == "at_most_once" and task.policies.retry.attempts != 1:
        # at_most_once never retries, so the declared number has no effect.
        declared = [name for name in declared if name != "policies.retry"]
    comma = ", " if out.language == "en" else "，"
    fields = comma.join(_field(out.language, name.removeprefix("policies."), values[name]) for name in declared)
    out.row(
        out.translate(messages.DECLARED),
        out.translate(messages.BY_FUNCTION, fields=fields, name=shape["target"]["name"]),
    )


def _field(language: Language, name: str, value: Any) -> str:
    """Return name and value of a field; of a policy with several parts, the main one."""
    if name == "retry":
        attempts = value["attempts"]
        name, value = "retries", messages.FOR_EVER.in_language(language) if attempts is None else str(attempts - 1)
    if name == "missed":
        value = value["mode"] if language == "en" else messages.MISSED_MODES[value["mode"]].zh
    elif name in ("overlap", "guarantee"):
        value = (messages.OVERLAPS | messages.GUARANTEES)[value].in_language(language)
    label = messages.POLICY_FIELDS[name].in_language(language) if name in messages.POLICY_FIELDS else name
    return f"{label} {value if isinstance(value, str) else json_text(value)}"


def show_warnings(out: Printer, warnings: Sequence[ScheduleWarning | Advisory]) -> None:
    for warning in warnings:
        out.warn(advisory_text(out, warning, out.language))


def _retries(policies: Policies, language: Language) -> str:
    """Return the retries that take place: none for `at_most_once`, whatever number was chosen."""
    if policies.guarantee == "at_most_once":
        return messages.NO_RETRIES.in_language(language)
    attempts = policies.retry.attempts
    return messages.RETRIES.in_language(language, number=messages.FOR_EVER if attempts is None else attempts - 1)


def policies_line(policies: Policies, language: Language) -> str:
    """Return the policies that every task has, and those of the others that were chosen."""
    line = messages.POLICIES.in_language(
        language,
        missed=missed_line(policies.missed, language),
        overlap=messages.OVERLAPS[policies.overlap],
        retries=_retries(policies, language),
        timeout=duration_message(exact_duration(policies.timeout)),
    )
    return " · ".join([line, *_chosen_policies(policies, language)])


def _chosen_policies(policies: Policies, language: Language) -> Iterator[str]:
    if policies.gate is not None:
        yield messages.GATED.in_language(language, gate=target_line(Target(policies.gate.kind, policies.gate.spec)))
    if policies.start_within is not None:
        length = duration_message(exact_duration(policies.start_within))
        yield messages.START_WITHIN.in_language(language, length=length)
    if policies.where:
        yield messages.RUNS_WHERE.in_language(language, labels=format_labels(policies.where))
    if policies.notify is not None:
        separator = ", " if language == "en" else "、"
        to, on = (separator.join(each) for each in (policies.notify.to, policies.notify.on))
        yield messages.NOTIFIES.in_language(language, to=to, on=on)


def more_policies_line(policies: Policies, language: Language) -> str:
    return messages.MORE_POLICIES.in_language(
        language,
        give_up=messages.NEVER if policies.give_up_after is None else policies.give_up_after,
        guarantee=messages.GUARANTEES[policies.guarantee],
        priority=policies.priority,
        longest=messages.NO_LIMIT
        if policies.max_duration is None
        else duration_message(exact_duration(policies.max_duration)),
    )


def missed_line(missed: Missed, language: Language) -> str:
    mode = messages.MISSED_MODES[missed.mode]
    if missed.within is None or missed.mode == "skip":
        return mode.in_language(language)
    return messages.WITHIN.in_language(language, mode=mode, length=duration_message(exact_duration(missed.within)))


def target_line(target: Target) -> str:
    """Return the target in one line: its kind and main value, such as URL, command or function name."""
    spec = target_json(target)
    match spec["kind"]:
        case "http":
            text = f"{spec.get('method', 'POST')} {spec.get('url')}"
        case "command":
            text = shlex.join(map(str, spec.get("argv", ())))
        case "function":
            text = str(spec.get("name"))
        case "event":
            text = str(spec["say"]) if spec.get("say") is not None else str(spec.get("topic"))
        case "agent":
            budget = ", ".join(f"{name}={limit}/day" for name, limit in (spec.get("budget") or {}).items())
            text = f"{spec.get('group')} ({spec.get('context_mode', 'isolated')}){budget and f', {budget}'}"
        case _:
            text = json_text({key: each for key, each in spec.items() if key != "kind"})
    return f"{spec['kind']}: {text}"


def review_cells(review: Review) -> Iterator[Cell]:
    for warning in review.warnings:
        yield ("  ", StyledText(f"! {warning}", "bad"))
    for line in review.lines[len(review.warnings) :]:
        yield f"  {line}"
