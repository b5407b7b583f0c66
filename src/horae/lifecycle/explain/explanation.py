"""Explanation of why an occurrence ran or did not: a verdict and a sentence, from ledger rows, agenda and schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ...choices import Language
from ...model.accounts.account import agent_of
from ...model.agents.agent_task import executing_agent
from ...model.agents.budget import note_in
from ...model.agents.group import folder_of_owner
from ...model.change import Facts
from ...model.entry import CLAIMABLE, CONTROL_KINDS, Entry, EntryKind, EntryState
from ...model.events.trigger_fields import reached_no_listener
from ...model.inputs.run_input import InputMode, gate_failures, is_gate_check
from ...model.lanes.node_labels import LabelPairs, format_labels, has_labels
from ...model.lanes.route import is_queue, is_route
from ...model.pauses import ALL_STOPPED_NOTE, GROUP_STOPPED_NOTE, PausedSpan, pause_note
from ...model.reason import Reason, describe_reason
from ...model.run import Origin, Run, RunState
from ...model.task import Pause, PauseCause, Task, TaskState, past_of
from ...schedule import next  # noqa: A004 - next occurrence, not the builtin
from ...state_names import state_name
from ...typography import full_width
from ..due_backlog import MICROSECOND, without_repeat
from ..instant_text import format_instant
from ..start_deadline import latest_start
from .lane import LaneWait, lane_words, rate_words
from .retry import (
    blocking_retry_words,
    describe_next,
    describe_wait,
    failing_gate_words,
    gate_retry_words,
    retry_policy_words,
)


class Verdict(StrEnum):
    RAN = "ran"
    RUNNING = "running"
    SKIPPED = "skipped"
    WAITING = "waiting"
    PAUSED = "paused"
    PENDING = "pending"
    NOT_PLANNED = "not_planned"
    NOT_CREATED = "not_created"
    OVER = "over"
    OVERDUE = "overdue"
    FORGOTTEN = "forgotten"


_SENTENCES: Final[dict[Verdict, tuple[str, str]]] = {
    Verdict.RAN: (
        "It ran: {state}. It started {lateness} after it was due.",
        "它运行了：{state}。它在到期后 {lateness}启动。",
    ),
    Verdict.RUNNING: ("It is running now.", "它正在运行。"),
    Verdict.SKIPPED: ("It was not run. {reason}", "没有运行。{reason}"),
    Verdict.WAITING: ("It is due and waits: {detail}.", "它已到期，正在等待：{detail}。"),
    Verdict.PAUSED: ("The task has been paused since {detail}.", "任务自 {detail} 起暂停。"),
    Verdict.PENDING: ("It is still to come: {detail}.", "它尚未到期：{detail}。"),
    Verdict.NOT_PLANNED: (
        "The schedule has no occurrence then; {detail}.",
        "计划在那一刻没有触发；{detail}。",
    ),
    Verdict.NOT_CREATED: ("The task was created only at {detail}.", "任务在 {detail} 才创建。"),
    Verdict.OVER: ("The task is {detail}, so nothing of it starts any more.", "任务已处于“{detail}”状态，不会再启动。"),
    Verdict.OVERDUE: (
        "It is due and has not been claimed yet: {detail}.",
        "它已到期但尚未被领取：{detail}。",
    ),
    Verdict.FORGOTTEN: (
        "It was accounted for, but its row is older than the history that is kept.",
        "它曾有记录，但该记录已超出保留的历史范围。",
    ),
}
_UNCALLED: Final = ("It ended as {state}, {lateness} after it was due.", "它以“{state}”结束，比到期晚 {lateness}。")
_TOOK_OVER: Final = (
    "Attempt {attempt} took over from attempt {before}, which was lost: {reason}",
    "第 {attempt} 次尝试接替了丢失的第 {before} 次：{reason}",
)
_RETRIED: Final = (
    "It was attempt {attempt}, the retry after attempt {before} ended as {state}.",
    "这是第 {attempt} 次尝试，即第 {before} 次以“{state}”结束后的重试。",
)
_REQUESTED: Final = (
    "Attempt {attempt} was requested after attempt {before} ended as {state}.",
    "第 {attempt} 次尝试是在第 {before} 次以“{state}”结束后按请求进行的。",
)
_RUN_ON_REQUEST: Final = (
    "It was run on request; the schedule had not run it. {reason}",
    "它是按请求运行的；计划没有运行它。{reason}",
)
_NEXT_ATTEMPT_SKIPPED: Final = ("Its next attempt was not run. {reason}", "它的下一次尝试没有运行。{reason}")
_LATER_REQUEST_SKIPPED: Final = (
    "A later request for it was not run. {reason}",
    "之后对它的请求没有运行。{reason}",
)
_AGENT_QUOTA: Final = (
    "The quota runs_per_day of '{agent}' was used up for that day (UTC); an admin can allow more.",
    "“{agent}”的配额 runs_per_day 当天（UTC）已用完；管理员可以放宽。",
)
_AGAIN: Final = ("It is tried again at {at}.", "将于 {at} 再次尝试。")
_AGAIN_DUE: Final = (
    "Its next attempt is due since {at} and waits for a node.",
    "它的下一次尝试自 {at} 起到期，正在等待节点。",
)
_AGAIN_WAITS: Final = (
    "Its next attempt is due since {at} and waits: {detail}.",
    "它的下一次尝试自 {at} 起到期，正在等待：{detail}。",
)
_AGAIN_PAUSED: Final = (
    "It is not tried again while the task is paused.",
    "任务暂停期间不会再次尝试。",
)
_SKIPPED_FROM: Final = (
    "It is skipped if it has not started by {at} (start_within).",
    "若到 {at} 仍未开始，就会被跳过（start_within）。",
)
_TOO_LATE: Final = ("It had to start before {at}.", "它必须在 {at} 之前开始。")
_NOT_AGAIN: Final = (
    "It is not run again: the guarantee is at_most_once, and it had started.",
    "它不会再次运行：保证为“至多一次”，而它已经开始。",
)
_INPUT: Final[dict[InputMode, tuple[str, str]]] = {
    "replace": ("It has its own input instead of the task's payload.", "它使用自己的输入，而不是任务的负载。"),
    "merge": ("Its input changes the task's payload.", "它的输入修改了任务的负载。"),
}
_WAIT_CAUSES: Final[dict[EntryState, tuple[str, str]]] = {
    EntryState.HELD: ("an earlier run of the task is still going", "该任务较早的一次运行仍在进行"),
    EntryState.ASLEEP: ("the task is paused", "任务已暂停"),
}


_IN_PAUSE: Final = {
    True: (
        "It was not run. The task was paused then, from {since} to {until}, and one later run makes up for all of them.",
        "没有运行。当时任务处于暂停状态（{since} 至 {until}），由之后的一次运行一并补上。",
    ),
    False: (
        "It was not run. The task was paused then, from {since} to {until}, and the resume did not make up for it.",
        "没有运行。当时任务处于暂停状态（{since} 至 {until}），恢复时没有补跑它。",
    ),
}
"""Sentences by whether the row was merged into a later run."""
_GAVE_UP: Final = ("The task has given up: nothing of it starts by itself.", "任务已放弃重试，不会再自行启动。")
_WILL_BE_SKIPPED: Final = ("It will be skipped unless that changes.", "若无变化，届时会被跳过。")
_SEE_OWNER: Final = (
    "An admin sees what is missing: horae owner show {owner}",
    "管理员可查看：horae owner show {owner}",
)


_UNCLAIMED_CAUSES: Final[dict[str, tuple[str, str]]] = {
    "unknown": ("no engine is running, or all are busy", "没有节点在运行，或都在忙"),
    "no_node": ("no engine is running", "没有节点在运行"),
    "draining": (
        "the only running node is draining and starts nothing new",
        "唯一在运行的节点正在排空，不再启动新的运行",
    ),
    "all_draining": (
        "all running nodes are draining and start nothing new",
        "在运行的节点都在排空，不再启动新的运行",
    ),
    "busy": ("no running node has had free capacity for it", "在运行的节点都没有空位"),
}
"""Cause of an unclaimed due entry, by the state of the nodes."""


_MAX_NODES_NAMED: Final = 5


class RunningNodes(NamedTuple):
    """Ids of the nodes that hold a lease: those that start runs, and those that are draining."""

    live: tuple[str, ...] = ()
    draining: tuple[str, ...] = ()
    labels: tuple[tuple[str, LabelPairs], ...] = ()
    """Name and labels of each node that starts runs."""

    @property
    def only_draining(self) -> bool:
        return bool(self.draining) and not self.live


class Explanation(NamedTuple):
    """Answer to `why`. `runs` are the rows that it is based on, oldest attempt first."""

    verdict: Verdict
    english: str
    chinese: str
    reason: Reason | None = None
    runs: tuple[Run, ...] = ()
    lane: LaneWait | None = None
    """What it waits for, if it waits for a slot of a lane."""

    @property
    def run(self) -> Run | None:
        """The row that the verdict is about: the newest attempt that began, else the newest row."""
        return _decisive_run(self.runs) if self.runs else None

    def lateness_of(self, run: Run) -> timedelta | None:
        """How long after its occurrence was due this attempt started."""
        return None if run.started is None else run.started - _occurrence_due(run, self.runs)

    def __str__(self) -> str:
        return self.english

    def in_language(self, language: Language) -> str:
        return self.english if language == "en" else self.chinese


_PAUSE_REASONS: Final = {
    PauseCause.OWNER_REVOKED: Reason.OWNER_REVOKED,
    PauseCause.QUOTA: Reason.QUOTA,
    PauseCause.AWAITING_APPROVAL: Reason.AWAITING_APPROVAL,
    PauseCause.GATE_FAILED: Reason.GATE_FAILED,
}
"""Reasons of pauses that were not requested."""
_PAUSE_REMEDIES: Final[dict[PauseCause, tuple[str, str]]] = {
    PauseCause.AWAITING_APPROVAL: (
        "Either of them approves it: horae approve {id}",
        "由二者之一批准：horae approve {id}",
    ),
    PauseCause.AGENT_STOPPED: (
        "Its agent '{agent}' was stopped. Its owner or an admin restarts it: horae agent restart {agent} --owner {owner}",
        "其智能体“{agent}”已被停止。由其所有者或管理员恢复：horae agent restart {agent} --owner {owner}",
    ),
    PauseCause.OWNER_REVOKED: (
        "After a new token, its owner or an admin restarts it: horae agent restart {agent} --owner {owner}",
        "创建新令牌后，由其所有者或管理员恢复：horae agent restart {agent} --owner {owner}",
    ),
}
"""Commands that end a pause of an agent's task which `resume` does not end."""
_STOP_REMEDIES: Final[dict[str, tuple[str, str]]] = {
    ALL_STOPPED_NOTE: (
        "All agents were stopped. An admin restarts them: horae agent restart --all",
        "所有智能体已被停止。由管理员恢复：horae agent restart --all",
    ),
    GROUP_STOPPED_NOTE: (
        "The group was stopped. An admin starts it: horae group start {folder}",
        "该群组已被停止。由管理员恢复：horae group start {folder}",
    ),
}
"""The same, by the note of the pause."""


def explain(
    facts: Facts, runs: Sequence[Run], at: datetime, now: datetime, nodes: RunningNodes | None = None
) -> Explanation:
    """Explain the occurrence at `at` from the rows in `runs` that cover it, else from the agenda, else from the schedule.

    `nodes` is None where the nodes are not known.
    """
    rows = tuple(sorted(_find_rows(facts, runs, at), key=_row_order))
    if rows:
        return _explain_rows(facts, rows, now)
    for entry in facts.entries:
        if entry.kind not in CONTROL_KINDS and _entry_covers(entry, at):
            return _explain_entry(facts, entry, at, now, nodes)
    return _explain_schedule(facts, at, now, nodes)


def _find_rows(facts: Facts, runs: Sequence[Run], at: datetime) -> list[Run]:
    """Return the rows of this instant.

    A row with a span covers its planned instants, not the time between them; the schedule that planned them is only known
    while the task has not been edited.
    """
    covering = [run for run in runs if _run_covers(run, at)]
    exact = [run for run in covering if run.planned == at]
    if len(exact) == len(covering) or facts.task.version > 1 or _is_planned(facts, at):
        return covering
    return exact


def _is_planned(facts: Facts, at: datetime) -> bool:
    task = facts.task
    return next(without_repeat(task.schedule), at - MICROSECOND, past_of(task, facts.status)) == at


def _row_order(run: Run) -> tuple[datetime, int]:
    """Rows of several origins may cover one instant: they are sorted by when they began or were skipped."""
    return run.started or run.claimed or run.ended or run.due, run.attempt


def _decisive_run(rows: Sequence[Run]) -> Run:
    begun = [run for run in rows if run.live or run.started is not None]
    return (begun or rows)[-1]


def _occurrence_due(run: Run, rows: Sequence[Run]) -> datetime:
    """Only the first attempt shows the jitter of the occurrence; later ones count from its planned instant."""
    first = min((each for each in rows if each.origin is run.origin), key=lambda each: each.attempt, default=run)
    return first.occurrence_due


def _run_covers(run: Run, at: datetime) -> bool:
    return run.planned == at or (run.span is not None and run.span.first <= at <= run.span.last)


def _entry_covers(entry: Entry, at: datetime) -> bool:
    return entry.planned == at or (entry.span is not None and entry.span.first <= at <= entry.span.last)


def _explain_rows(facts: Facts, rows: tuple[Run, ...], now: datetime) -> Explanation:
    run = _decisive_run(rows)
    attempts = tuple(each for each in rows if each.origin is run.origin and each.attempt <= run.attempt)
    if run.live:
        answer = _append(_answer(Verdict.RUNNING, runs=rows), _input_words(run))
        return _append(answer, _earlier_attempt(facts, attempts))
    if run.state is RunState.SKIPPED or run.started is None:
        answer = _answer(Verdict.SKIPPED, reason=run.reason or Reason.CANCELLED, runs=rows)
        answer = _append(_append(answer, _agent_quota(facts, run)), _target_words(run))
        answer = _append(_append(answer, retry_policy_words(facts, run)), _too_late_words(facts, run))
    else:
        answer = _explain_ran(facts, run, run.started, rows, attempts)
        if reached_no_listener(facts.task.target.kind, run.result_json):
            answer = _append(answer, ("No listener received it.", "没有监听者收到它。"))
    answer = _append(_append(answer, _input_words(run)), _skipped_beside(rows, run))
    for entry in facts.entries:
        if entry.kind is EntryKind.RETRY and (entry.planned, entry.origin) == (run.planned, run.origin):
            answer = _append(answer, _next_attempt(facts, entry, now))
            if gate_failures(entry.input):
                return _append(answer, gate_retry_words(entry))
            return _append(_append(answer, describe_wait(facts, run, entry, now)), describe_next(facts, entry, now))
    is_careful = facts.task.policies.guarantee == "at_most_once" and not is_gate_check(run.input)
    if run.state is RunState.LOST and is_careful:
        return _append(answer, _NOT_AGAIN)
    return answer


def _input_words(planned: Run | Entry) -> tuple[str, str]:
    given = planned.input
    return ("", "") if given is None or not given.is_given else _INPUT[given.mode]


def _target_words(run: Run) -> tuple[str, str]:
    """Quote the target that skipped the run itself, the gate that was closed or failed, or the numbers of a budget."""
    if run.reason is Reason.OVER_BUDGET and run.error is not None:
        return run.error, note_in("zh", run.error)
    if run.reason not in _QUOTED or run.error is None:
        return "", ""
    words = run.error.rstrip()
    ends = words.endswith((".", "!", "?", "…", "。", "！", "？"))
    return f"Its words: {words}{'' if ends else '.'}", f"原话：{words}{'' if ends else '。'}"


_QUOTED: Final = (Reason.SKIPPED_BY_TARGET, Reason.GATE_CLOSED, Reason.GATE_FAILED, Reason.GATE_CHECKED)


def _agent_quota(facts: Facts, run: Run) -> tuple[str, str]:
    """Name the quota of an agent that skipped the run. Which quota of an owner it was, only the account knows."""
    if run.reason is not Reason.AGENT_QUOTA:
        return "", ""
    agent = agent_of(facts.task) or facts.task.owner
    return _AGENT_QUOTA[0].format(agent=agent), _AGENT_QUOTA[1].format(agent=agent)


def _skipped_beside(rows: tuple[Run, ...], run: Run) -> tuple[str, str]:
    """Describe rows beside the decisive one that are skips: before it by the schedule, or after it."""
    place = rows.index(run)
    if place + 1 < len(rows):
        newest = rows[-1]
        template = _NEXT_ATTEMPT_SKIPPED if newest.origin is run.origin else _LATER_REQUEST_SKIPPED
        return _with_reason(template, newest)
    for each in rows[:place]:
        if each.started is None and each.origin is Origin.SCHEDULED and run.origin is not Origin.SCHEDULED:
            return _with_reason(_RUN_ON_REQUEST, each)
    return "", ""


def _with_reason(template: tuple[str, str], run: Run) -> tuple[str, str]:
    reason = run.reason or Reason.CANCELLED
    return template[0].format(reason=describe_reason(reason)), template[1].format(reason=describe_reason(reason, "zh"))


def _next_attempt(facts: Facts, entry: Entry, now: datetime) -> tuple[str, str]:
    """Describe the retry that the agenda holds at present."""
    at = format_instant(facts, entry.due)
    if entry.state is EntryState.ASLEEP:
        return _AGAIN_PAUSED
    if entry.due > now:
        template, detail = _AGAIN, ("", "")
    elif entry.state in CLAIMABLE:
        template, detail = _AGAIN_DUE, ("", "")
    else:
        template, detail = _AGAIN_WAITS, _wait_cause(facts, entry)
    return template[0].format(at=at, detail=detail[0]), template[1].format(at=at, detail=detail[1])


def _explain_ran(
    facts: Facts, run: Run, started: datetime, rows: tuple[Run, ...], attempts: tuple[Run, ...]
) -> Explanation:
    late = f"{(started - _occurrence_due(run, rows)).total_seconds():.3f} s"
    english, chinese = _UNCALLED if run.reason is Reason.NOT_CALLED else _SENTENCES[Verdict.RAN]
    answer = Explanation(
        Verdict.RAN,
        english.format(state=run.state.value, lateness=late),
        full_width(chinese).format(state=state_name(run.state.value, "zh"), lateness=late.replace(" s", " 秒")),
        run.reason,
        rows,
    )
    why = ("", "") if run.reason is None else (describe_reason(run.reason), describe_reason(run.reason, "zh"))
    return _append(_append(answer, _earlier_attempt(facts, attempts)), why)


def _earlier_attempt(facts: Facts, rows: tuple[Run, ...]) -> tuple[str, str]:
    """Describe how the attempt before the last one ended: the last one took over from it, was its retry or requested."""
    run = rows[-1]
    if run.attempt == 1:
        return "", ""
    if len(rows) == 1:
        return f"It was attempt {run.attempt}.", f"这是第 {run.attempt} 次尝试。"
    before = rows[-2]
    names = {"attempt": run.attempt, "before": before.attempt}
    lost = before.state is RunState.LOST
    if lost and not is_requested(facts.task, run, before):
        reason = before.reason or Reason.LEASE_LOST
        english, chinese = _TOOK_OVER
        return (
            english.format(**names, reason=describe_reason(reason)),
            chinese.format(**names, reason=describe_reason(reason, "zh")),
        )
    english, chinese = _REQUESTED if is_requested(facts.task, run, before) else _RETRIED
    return (
        english.format(**names, state=before.state.value),
        chinese.format(**names, state=state_name(before.state.value, "zh")),
    )


def is_requested(task: Task, run: Run, before: Run) -> bool:
    """Return whether an attempt was requested, and not made by the retry policy or by the recovery of a lost run.

    A request forgives all attempts before it. A lost attempt is forgiven too, but at_most_once recovers none that began;
    and an attempt whose gate failed.
    """
    if before.reason is Reason.GATE_FAILED:
        return False
    if before.state is RunState.LOST:
        return task.policies.guarantee == "at_most_once" and before.started is not None
    return run.forgiven >= before.attempt


def _append(answer: Explanation, more: tuple[str, str]) -> Explanation:
    english, chinese = more
    return answer._replace(english=f"{answer.english} {english}".rstrip(), chinese=answer.chinese + chinese)


def _explain_entry(facts: Facts, entry: Entry, at: datetime, now: datetime, nodes: RunningNodes | None) -> Explanation:
    pause = facts.status.pause
    if pause is not None and entry.state is EntryState.ASLEEP and _is_paused_at(pause, at):
        return _explain_pause(facts, pause)
    if at > now or entry.due > now:
        return _append_block(facts, _answer(Verdict.PENDING, _both(format_instant(facts, max(at, entry.due)))))
    if is_queue(entry.lane):
        waiting = _append(_answer(Verdict.WAITING, _label_cause(facts, nodes)), _input_words(entry))
        return _append_block(facts, _append(waiting, _latest_start_words(facts, entry)))
    if entry.state in CLAIMABLE:
        overdue = _append(_answer(Verdict.OVERDUE, _UNCLAIMED_CAUSES[_unclaimed_cause(nodes)]), _input_words(entry))
        return _append_block(facts, _append(overdue, _latest_start_words(facts, entry)))
    waiting = _append(_answer(Verdict.WAITING, _wait_cause(facts, entry)), _input_words(entry))
    return _append(waiting, _latest_start_words(facts, entry))


def _latest_start_words(facts: Facts, entry: Entry) -> tuple[str, str]:
    latest = latest_start(facts.task, entry)
    if latest is None:
        return "", ""
    at = format_instant(facts, latest)
    return _SKIPPED_FROM[0].format(at=at), _SKIPPED_FROM[1].format(at=at)


def _too_late_words(facts: Facts, run: Run) -> tuple[str, str]:
    """Name the instant that a skipped run has missed; a span has one for each of its occurrences."""
    within = facts.task.policies.start_within
    if run.reason is not Reason.START_DEADLINE or within is None or run.span is not None:
        return "", ""
    at = format_instant(facts, run.due + within)
    return _TOO_LATE[0].format(at=at), _TOO_LATE[1].format(at=at)


def _unclaimed_cause(nodes: RunningNodes | None) -> str:
    if nodes is None:
        return "unknown"
    if nodes.only_draining:
        return "draining" if len(nodes.draining) == 1 else "all_draining"
    return "busy" if nodes.live else "no_node"


def _append_block(facts: Facts, answer: Explanation) -> Explanation:
    """Add that a future occurrence will be skipped, where the owner or the agent is blocked."""
    if facts.block_reason is None:
        return answer
    why = _append(answer._replace(reason=facts.block_reason), _WILL_BE_SKIPPED)
    why = _append(why, (describe_reason(facts.block_reason), describe_reason(facts.block_reason, "zh")))
    english, chinese = _SEE_OWNER
    owner = facts.task.owner
    return _append(why, (english.format(owner=owner), chinese.format(owner=owner)))


def _label_cause(facts: Facts, nodes: RunningNodes | None) -> tuple[str, str]:
    """Name the labels that a due entry waits for, and what the running nodes have instead."""
    where = facts.task.policies.where
    wanted = format_labels(where)
    if nodes is None or not nodes.live:
        return f"it needs a node with {wanted}, and no node is running", f"它需要带有 {wanted} 的节点,而没有节点在运行"
    if any(has_labels(where, labels) for _, labels in nodes.labels):
        return (
            f"a running node has its labels {wanted}, and is busy, draining, or has no such target",
            f"有正在运行的节点带有其标签 {wanted},但它正忙、正在排空或没有该目标",
        )
    missing = format_labels(pair for pair in where if not any(pair in labels for _, labels in nodes.labels)) or wanted
    shown = "; ".join(f"{name}: {format_labels(labels) or '-'}" for name, labels in nodes.labels[:_MAX_NODES_NAMED])
    return (
        f"no running node has its labels {wanted} (missing: {missing}; running: {shown})",
        f"没有正在运行的节点带有其标签 {wanted}(缺少:{missing};正在运行:{shown})",
    )


def _wait_cause(facts: Facts, entry: Entry) -> tuple[str, str]:
    if entry.state is EntryState.PARKED and is_route(entry.lane):
        _, _, name = str(entry.lane).partition(":")
        return f"no running node has its target '{name}'", f"没有正在运行的节点提供其目标“{name}”"
    if entry.state is EntryState.PARKED:
        return rate_words(facts, entry) or (f"its lane '{entry.lane}' is full", f"它的通道“{entry.lane}”已满")
    return failing_gate_words(facts, entry) or blocking_retry_words(facts, entry) or _WAIT_CAUSES[entry.state]


def _explain_schedule(facts: Facts, at: datetime, now: datetime, nodes: RunningNodes | None) -> Explanation:
    """Explain an instant without a row or entry of its own: in a range or backlog, in the future, or not planned."""
    task, status = facts.task, facts.status
    if at < task.created:
        return _answer(Verdict.NOT_CREATED, _both(format_instant(facts, task.created)))
    if status.ended is not None and at >= status.ended:
        over = status.state.value, state_name(status.state.value, "zh")
        return _answer(Verdict.OVER, over, reason=status.reason)
    following = next(without_repeat(task.schedule), at - MICROSECOND, past_of(task, status))
    if following != at:
        if following is None:
            return _answer(Verdict.NOT_PLANNED, ("there is none after it", "之后也没有"))
        later = format_instant(facts, following)
        answer = _answer(Verdict.NOT_PLANNED, (f"the nearest later one is {later}", f"之后最近的一次是 {later}"))
        # A later one that falls into the pause does not run.
        pause = facts.status.pause
        return with_pause(facts, answer) if pause is not None and pause.since <= following else answer
    for entry in facts.entries:
        if _precedes(entry, at):
            return _explain_entry(facts, entry, at, now, nodes)
    if at > now:
        return _append_block(facts, _answer(Verdict.PENDING, _both(format_instant(facts, at))))
    return _answer(Verdict.FORGOTTEN)


def _precedes(entry: Entry, at: datetime) -> bool:
    """Return whether a planned instant lies in the entry's range, or at or after the next occurrence."""
    if entry.kind is EntryKind.NEXT:
        return entry.planned <= at
    return entry.through is not None and entry.planned <= at <= entry.through


def _is_paused_at(pause: Pause, at: datetime) -> bool:
    return pause.until is None or at < pause.until


def _explain_pause(facts: Facts, pause: Pause) -> Explanation:
    agent = executing_agent(facts.task)
    remedy = None if agent is None else _PAUSE_REMEDIES.get(pause.cause)
    if remedy is not None and pause.cause is PauseCause.AGENT_STOPPED:
        remedy = _STOP_REMEDIES.get(pause.note, remedy)
    end = "" if pause.until is None else format_instant(facts, pause.until)
    # The note of a pause with a remedy repeats its cause in English only.
    note, note_zh = "", ""
    if pause.note and remedy is None:
        note, note_zh = f" ({pause.note})", f"（{pause_note(pause, 'zh')}）"
    since = format_instant(facts, pause.since)
    answer = _answer(Verdict.PAUSED, (since + note, since + note_zh), reason=Reason.PAUSED)
    if end:
        answer = _append(answer, (f"It goes on at {end}.", f"它将于 {end} 恢复。"))
    reason = _PAUSE_REASONS.get(pause.cause)
    if reason is not None:
        answer = _append(answer._replace(reason=reason), (describe_reason(reason), describe_reason(reason, "zh")))
    if remedy is None:
        return answer
    owner = facts.task.owner
    names = {"id": facts.task.id, "agent": agent, "owner": owner, "folder": folder_of_owner(owner)}
    return _append(answer, (remedy[0].format(**names), remedy[1].format(**names)))


def with_pause(facts: Facts, answer: Explanation) -> Explanation:
    """Add the current pause to the answer for the newest row of a task."""
    pause = facts.status.pause
    if pause is None or answer.verdict is Verdict.PAUSED:
        return answer
    paused = _explain_pause(facts, pause)
    return _append(answer, (paused.english, paused.chinese))


def with_lane(facts: Facts, answer: Explanation, wait: LaneWait) -> Explanation:
    """Add the lane in which an entry of the occurrence waits."""
    return _append(answer, lane_words(facts, wait))._replace(lane=wait)


def with_end(facts: Facts, answer: Explanation) -> Explanation:
    """The answer for the newest row of a task that has given up: nothing follows by itself."""
    if facts.status.state is not TaskState.FAILED or answer.verdict is Verdict.OVER:
        return answer
    return _append(answer, _GAVE_UP)


def explain_paused_row(facts: Facts, answer: Explanation, pause: PausedSpan) -> Explanation:
    """Replace the sentence of a row that a resume wrote: the task was paused, the occurrence was not missed."""
    since, until = format_instant(facts, pause.since), format_instant(facts, pause.until)
    english, chinese = _IN_PAUSE[answer.reason is Reason.MERGED]
    return answer._replace(
        english=english.format(since=since, until=until), chinese=chinese.format(since=since, until=until)
    )


def _both(text: str) -> tuple[str, str]:
    return text, text


def _answer(
    verdict: Verdict,
    detail: tuple[str, str] = ("", ""),
    reason: Reason | None = None,
    runs: tuple[Run, ...] = (),
) -> Explanation:
    english, chinese = _SENTENCES[verdict]
    why = ("", "") if reason is None else (describe_reason(reason), describe_reason(reason, "zh"))
    return Explanation(
        verdict,
        english.format(detail=detail[0], reason=why[0]),
        full_width(chinese).format(detail=detail[1], reason=why[1]),
        reason,
        runs,
    )
