"""Plans in the documented layout of Redis: what the layout shows of a plan, and what follows from a change by another program.

「所有可执行的计划,都必须存在于执行队列中,否则将永不执行」: what is in the layout wins over what Horae would do next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from ...errors import Refusal
from ...model.change import Change, Facts, combine_decisions
from ...model.entry import NEXT_SLOT, RESUME_SLOT, Entry, EntryKind, EntryState
from ...model.events.event import EventKind
from ...model.ids import EPOCH
from ...model.plans.codes import FrameType, PlanState, Status
from ...model.plans.layout import FoundPlan, PlanRow, ShownPlan
from ...model.plans.plan import (
    RETRYING,
    Plan,
    PlanProgress,
    encode_plan,
    plan_of,
    plan_target,
    policies_of,
    read_plan,
    schedule_of,
    skips_of,
    type_number,
)
from ...model.plans.refusals import refuse
from ...model.reason import Reason
from ...model.run import Origin, Run
from ...model.task import OPEN_STATES, PauseCause, Task, TaskState
from ...schedule.compat.zero_plan import SINGLE_TIME_TYPES
from ..agenda import entry_at, next_entry
from ..conclude import conclude
from ..control.control import cancel
from ..control.pause import pause_open_task
from ..event_rows import run_event, skip_rows, task_event
from .results import contents_of, execution_status
from .rules import is_closed, plan_status

REMOVED_NOTE: Final = "removed from plan:time:set"
ERROR_NOTE: Final = "last_state is PLAN_ERROR"
_LAST_SECOND: Final = 253_370_764_800
"""In the year 9999: no score is later."""
_SECOND: Final = timedelta(seconds=1)
_QUEUED_STATES: Final = frozenset(
    {PlanState.QUEUED, PlanState.EXECUTING, PlanState.RETRYING, PlanState.SKIPPING, PlanState.NONE}
)


# --- what the layout shows --------------------------------------------------------------------------------------------------


def render_plan(plan: Plan, facts: Facts, runs: Sequence[Run], now: datetime) -> PlanRow:
    """Return what the layout has of a plan; `runs` are the newest runs, newest first.

    A plan that is paused, in error or closed is not in the queue.
    """
    status = plan_status(plan, facts, runs, now)
    score = status.plan_time if status.state in _QUEUED_STATES else None
    shown = ShownPlan(
        "" if score is None else str(score),
        status.plan_time,
        status.real_repet,
        status.skip_set,
        status.skip_num,
        int(status.last_state),
    )
    message = _fields_of(plan, shown) | {"exec_time": status.exec_time}
    return PlanRow(score, _encode(message), _render_answers(runs), shown, is_closed(facts))


def _fields_of(plan: Plan, shown: ShownPlan) -> dict[str, Any]:
    """Return the fields of the document, without `exec_time`."""
    return {
        "plan_id": plan.plan_id,
        "request_id": plan.request_id,
        "station": plan.station,
        "caller": plan.caller,
        "description": plan.description,
        "plan_type": type_number(plan),
        "plan_value": plan.plan_value,
        "plan_repet": plan.plan_repet,
        "real_repet": shown.real_repet,
        "no_keep": plan.no_keep,
        "last_state": shown.last_state,
        "plan_time": shown.plan_time,
        "skip_set": shown.skip_set,
        "skip_num": shown.skip_num,
        "messages": [text for _, text in plan.frames],
    }


def _render_answers(runs: Sequence[Run]) -> str | None:
    """Return the answers of the newest execution that has ended; None: there is none.

    「执行结果的原始数据(说明帧 + 内容帧)的Json数组」: each answer is an array of its description frame (number of frames, status,
    frame types) and its content frames, as texts.
    """
    ended = next((run for run in runs if run.origin is Origin.SCHEDULED and run.started and run.ended), None)
    if ended is None:
        return None
    result = ended.result
    if isinstance(result, dict) and result and all(_is_vote(vote) for vote in result.values()):
        return render_votes({voter: vote for voter, vote in result.items() if vote is not None})
    contents = (ended.error,) if result is None else contents_of(result)
    return _encode([_frames_of(int(execution_status(ended)), *contents)])


def render_votes(votes: Mapping[str, Any]) -> str:
    """Return the answers of a vote, each with its voter; None: no answer yet.

    All participants are registered up front: one that has not answered is shown as running.
    """
    return _encode(
        [
            [*(_frames_of(Status.RUNNING) if vote is None else _frames_of(vote["status"], vote["content"])), voter]
            for voter, vote in votes.items()
        ]
    )


def _is_vote(value: object) -> bool:
    return value is None or (isinstance(value, dict) and value.keys() == {"status", "content"})


def _frames_of(status: int, *contents: object) -> list[str]:
    """Return the description frame and the content frames of an answer."""
    frames = [
        (FrameType.CONTENT_TEXT, each) if isinstance(each, str) else (FrameType.CONTENT_JSON, _encode(each))
        for each in contents
        if each is not None or len(contents) > 1
    ]
    description = chr(len(frames)) + chr(status) + "".join(chr(kind) for kind, _ in frames)
    return [description, *(text for _, text in frames)]


def _encode(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be stored.
    return text if text.isascii() or text.isprintable() else json.dumps(value, separators=(",", ":"))


# --- what another program has written ---------------------------------------------------------------------------------------


def read_message(name: str, plan_id: int, station: str, text: str) -> tuple[Plan, PlanProgress]:
    """Read the message of a plan of this name that another program has added; refuses what is no plan, or another one."""
    return read_plan(_load(name, plan_id, station, text), plan_id)


def _read_edited(plan: Plan, shown: ShownPlan, text: str) -> tuple[Plan, PlanProgress]:
    """Read an edited message. Fields that it leaves out stay as they were, and so do the types of frames, by their place: a
    stored message does not name them."""
    given = _fields_of(plan, shown) | _load(plan.name, plan.plan_id, plan.station, text)
    texts = given.pop("messages")
    if not isinstance(texts, list):
        return read_plan({**given, "frames": texts}, plan.plan_id)
    kinds = [kind for kind, _ in plan.frames] + [chr(FrameType.ARGUMENT)] * len(texts)
    return read_plan({**given, "frames": [list(each) for each in zip(kinds, texts, strict=False)]}, plan.plan_id)


def _load(name: str, plan_id: int, station: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _refuse(name, "its message is no JSON", "其消息不是 JSON") from None
    if not isinstance(value, dict):
        raise _refuse(name, "its message is no JSON object", "其消息不是 JSON 对象")
    is_same = value.get("plan_id") in (None, 0, "", plan_id, str(plan_id))
    if not is_same or value.get("station", station) != station:
        raise _refuse(name, "its message has another plan_id or station", "其消息中的 plan_id 或 station 与键名不同")
    return {**value, "plan_id": plan_id, "station": station}


def read_score(name: str, score: str) -> datetime:
    """Return the instant of a score, in Unix seconds."""
    seconds = float(score)
    if not -_LAST_SECOND < seconds < _LAST_SECOND:
        raise _refuse(name, f"its score {score} is no Unix time", f"其分值 {score} 不是 Unix 时间")
    return EPOCH + timedelta(seconds=seconds)


def _refuse(name: str, problem: str, problem_zh: str) -> Refusal:
    return refuse("bad_plan_layout", name=name, problem=problem, problem_zh=problem_zh)


def follow_plan(facts: Facts, plan: Plan, shown: ShownPlan, found: FoundPlan, now: datetime) -> Change:
    """Return what follows from a change of the layout by another program; refuses what cannot be read.

    A plan without a message is closed: 「取出任务,如任务无法取出,将不再做任何处理」. One without a member is paused: it may be
    put back, 「或手工修改执行计划」.
    """
    if facts.status.state not in (*OPEN_STATES, TaskState.FAILED):
        return Change()
    if found.message is None:
        return cancel(facts, now)
    edited, progress = _read_edited(plan, shown, found.message)
    instant = None if found.score is None else read_score(plan.name, found.score)
    change = _redefine(facts, plan, edited, shown, progress, now)
    pause = facts.status.pause
    if instant is None:
        stop_note = REMOVED_NOTE if shown.score else None
    elif progress.last_state == Status.PLAN_ERROR:
        # 「ZERO_STATUS_FRAME_PLANERROR_ID : 说明当前计划存在错误,移出执行队列」
        stop_note = ERROR_NOTE
    elif pause is not None and pause.cause is not PauseCause.REQUESTED:
        # Another person must act first.
        stop_note = None
    else:
        is_moved = found.score != shown.score
        return _follow_queue(facts, change, edited, shown, instant if is_moved else None, now)
    return change if stop_note is None else combine_decisions(facts, change, lambda after: _stop(after, stop_note, now))


def _follow_queue(
    facts: Facts, change: Change, edited: Plan, shown: ShownPlan, score: datetime | None, now: datetime
) -> Change:
    """Follow a plan that is in the queue. `score` None: it was not moved there, but perhaps by its `plan_time`."""
    if not shown.score:
        change = combine_decisions(facts, change, lambda after: _restart(after, now))
    at = score
    if at is None and edited.plan_time not in (0, shown.plan_time):
        at = EPOCH + edited.plan_time * _SECOND
    if at is not None:
        moved = max(at, now)
        return combine_decisions(facts, change, lambda after: _move(after, plan_of(after.task) or edited, moved, now))
    if change.task is not None and change.task.schedule != facts.task.schedule:
        return combine_decisions(facts, change, lambda after: _reschedule(after, edited, shown, now))
    return change


def quarantine_plan(facts: Facts, refusal: Refusal, now: datetime) -> Change:
    """Take a plan out of the queue whose message or score cannot be read."""
    return _stop(facts, refusal.message, now)


def _stop(facts: Facts, note: str, now: datetime) -> Change:
    """Take the plan out of the queue; one that is in error stays so."""
    if facts.status.state is not TaskState.ACTIVE:
        return Change()
    return pause_open_task(facts, now, PauseCause.REQUESTED, note)


def _restart(facts: Facts, now: datetime) -> Change:
    """Put the plan back into the queue; the occurrence with which it has failed does not count."""
    status = facts.status
    counted = max(0, status.counted - 1) if status.state is TaskState.FAILED else status.counted
    active = status._replace(state=TaskState.ACTIVE, pause=None, failures=0, reason=None, ended=None, counted=counted)
    put = [each._replace(state=EntryState.TIMED) for each in facts.entries if each.state is EntryState.ASLEEP]
    return Change(
        status=active,
        put=tuple(put),
        dropped=tuple(each.slot for each in facts.entries if each.slot == RESUME_SLOT),
        events=(task_event(EventKind.TASK_RESUMED, facts.task, now),),
    )


def _redefine(
    facts: Facts, plan: Plan, edited: Plan, shown: ShownPlan, progress: PlanProgress, now: datetime
) -> Change:
    """Return the change of the task of a plan whose fields or counters were edited; the schedule continues where it was."""
    status, task = facts.status, facts.task
    skip_set = plan.skip_set if edited.skip_set in (shown.skip_set, RETRYING) else edited.skip_set
    after = edited._replace(plan_time=plan.plan_time, skip_set=skip_set)
    is_skip_edited = (skip_set, progress.skip_num) != (plan.skip_set, shown.skip_num)
    if is_skip_edited and shown.skip_set != RETRYING and (skip_set or plan.skip_set):
        status = status._replace(skips_left=skips_of(after, progress.skip_num))
    if progress.real_repet != shown.real_repet:
        status = status._replace(counted=max(0, status.counted + progress.real_repet - shown.real_repet))
    if after == plan:
        return Change(status=None if status is facts.status else status)
    policies = policies_of(after, task.policies.timeout, task.policies.retry.backoff)
    timing = ("plan_type", "plan_value", "plan_repet")
    has_timing = any(getattr(after, name) != getattr(plan, name) for name in timing)
    task = task._replace(
        name=after.title,
        schedule=schedule_of(after, is_running=True) if has_timing else task.schedule,
        target=plan_target(after),
        payload=encode_plan(after),
        policies=policies if after.no_keep != plan.no_keep or has_timing else task.policies,
        version=task.version + 1,
    )
    return Change(task=task, status=status, events=(task_event(EventKind.TASK_EDITED, task, now),))


def _move(facts: Facts, plan: Plan, at: datetime, now: datetime) -> Change:
    """Move what comes next to this instant; later instants of a delay follow from it, those of a week or month do not."""
    retries = _retries(facts)
    if retries:
        return Change(put=tuple(each._replace(due=at) for each in retries))
    return _plan_next(facts, plan, at, now)


def _reschedule(facts: Facts, plan: Plan, shown: ShownPlan, now: datetime) -> Change:
    """Continue with an edited schedule: from the next instant, or after the one that is executed or retried."""
    begun = EPOCH + shown.plan_time * _SECOND
    is_current = _retries(facts) or any(run.origin is Origin.SCHEDULED for run in facts.live)
    following = next_entry(_task_from(facts.task, plan, begun), facts.status, begun) if is_current else None
    return _plan_next(facts, plan, max(begun, now) if following is None else following.planned, now)


def _retries(facts: Facts) -> list[Entry]:
    return [each for each in facts.entries if each.kind is EntryKind.RETRY and each.origin is Origin.SCHEDULED]


def _plan_next(facts: Facts, plan: Plan, at: datetime, now: datetime) -> Change:
    if not _has_more(facts, plan):
        # Its last occurrence is executed now, or none is left.
        return conclude(facts, Change(dropped=(NEXT_SLOT,)), now)
    passed = [each for each in facts.entries if each.kind is EntryKind.WAITING and each.origin is Origin.SCHEDULED]
    rows = skip_rows(facts, passed, Reason.CANCELLED, now)
    task = _task_from(facts.task, plan, at)
    return Change(
        task=task,
        new_runs=rows,
        put=(entry_at(task, facts.status, at),),
        dropped=tuple(each.slot for each in passed),
        events=tuple(run_event(row, now) for row in rows),
    )


def _task_from(task: Task, plan: Plan, at: datetime) -> Task:
    """Return the task whose schedule continues from this instant."""
    begun = plan._replace(plan_time=(at - EPOCH) // _SECOND)
    if plan.plan_type in ("week", "month"):
        return task
    moved = task._replace(schedule=schedule_of(begun, is_running=True), version=task.version + 1)
    return moved._replace(payload=encode_plan(begun)) if plan.plan_type in SINGLE_TIME_TYPES else moved


def _has_more(facts: Facts, plan: Plan) -> bool:
    repeat = 1 if plan.plan_type in SINGLE_TIME_TYPES else plan.plan_repet
    return repeat < 0 or facts.status.counted < max(repeat, 1)
