"""Explanation of why an occurrence ran or did not: a verdict and a sentence, from ledger rows, agenda and schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from ..choices import Language
from ..model.accounts.agent_label import agent_of
from ..model.change import Facts
from ..model.entry import CLAIMABLE, Entry, EntryKind, Stand
from ..model.events.delivery_count import reached_no_listener
from ..model.paused_stretch import PausedStretch
from ..model.reason import Reason, sentence
from ..model.route import is_route
from ..model.run import Run, RunState
from ..model.state_names import state_word
from ..model.task import Pause, PauseCause, past_of
from ..schedule import next  # noqa: A004 - next occurrence, not the builtin
from ..schedule.preview import fires_in
from ..typography import full_width
from .due_backlog import MICROSECOND, without_repeat

_NO_OCCURRENCE: Final = (EntryKind.RESUME, EntryKind.DEADLINE)


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
    Verdict.RAN: ("It ran: {state}, {lateness} after it was due.", "它运行了：{state}，比到期晚 {lateness}。"),
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
_TOOK_OVER: Final = (
    "Attempt {attempt} took over from attempt {before}, which was lost: {reason}",
    "第 {attempt} 次尝试接替了丢失的第 {before} 次：{reason}",
)
_RETRIED: Final = (
    "It was attempt {attempt}, the retry after attempt {before} ended as {state}.",
    "这是第 {attempt} 次尝试，即第 {before} 次以“{state}”结束后的重试。",
)
_NOT_AGAIN: Final = (
    "It is not run again: the guarantee is at_most_once, and it had started.",
    "它不会再次运行：保证为“至多一次”，而它已经开始。",
)
_WAIT_CAUSES: Final[dict[Stand, tuple[str, str]]] = {
    Stand.HELD: ("an earlier run of the task is still going", "该任务较早的一次运行仍在进行"),
    Stand.ASLEEP: ("the task is paused", "任务已暂停"),
}


_IN_PAUSE: Final = {
    True: (
        "It was not run. The task was paused then, from {since} to {until}, and one later run stands for the whole stretch.",
        "没有运行。当时任务处于暂停状态（{since} 至 {until}），由之后的一次运行代表整段。",
    ),
    False: (
        "It was not run. The task was paused then, from {since} to {until}, and the resume did not make up for it.",
        "没有运行。当时任务处于暂停状态（{since} 至 {until}），恢复时没有补跑它。",
    ),
}
"""Sentences by whether the row was merged into a later run."""
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


class RunningNodes(NamedTuple):
    """Ids of the nodes that hold a lease: those that start runs, and those that are draining."""

    live: tuple[str, ...] = ()
    draining: tuple[str, ...] = ()

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

    def __str__(self) -> str:
        return self.english

    def in_language(self, language: Language) -> str:
        return self.english if language == "en" else self.chinese


_PAUSE_REASONS: Final = {
    PauseCause.OWNER_REVOKED: Reason.OWNER_REVOKED,
    PauseCause.QUOTA: Reason.QUOTA,
    PauseCause.AWAITING_APPROVAL: Reason.AWAITING_APPROVAL,
}
"""Reasons of pauses that were not requested."""
_PAUSE_REMEDIES: Final[dict[PauseCause, tuple[str, str]]] = {
    PauseCause.AWAITING_APPROVAL: (
        "Either of them approves it: horae approve {id}",
        "由二者之一批准：horae approve {id}",
    ),
    PauseCause.AGENT_STOPPED: (
        "Its agent '{agent}' was stopped. Its owner or an admin lets it go on: horae agent restart {agent} --owner {owner}",
        "其智能体“{agent}”已被停止。由其所有者或管理员恢复：horae agent restart {agent} --owner {owner}",
    ),
    PauseCause.OWNER_REVOKED: (
        "After a new token, its owner or an admin lets it go on: horae agent restart {agent} --owner {owner}",
        "创建新令牌后，由其所有者或管理员恢复：horae agent restart {agent} --owner {owner}",
    ),
}
"""Commands that end a pause of an agent's task which `resume` does not end."""


def explain(
    facts: Facts, runs: Sequence[Run], at: datetime, now: datetime, nodes: RunningNodes | None = None
) -> Explanation:
    """Explain the occurrence at `at` from the rows in `runs` that cover it, else from the agenda, else from the schedule.

    `nodes` is None where the nodes are not known.
    """
    rows = tuple(sorted((run for run in runs if _run_covers(run, at)), key=lambda run: run.attempt))
    if rows:
        return _explain_rows(facts, rows)
    for entry in facts.entries:
        if entry.kind not in _NO_OCCURRENCE and _entry_covers(entry, at):
            return _explain_entry(facts, entry, at, now, nodes)
    return _explain_schedule(facts, at, now, nodes)


def _run_covers(run: Run, at: datetime) -> bool:
    return run.planned == at or (run.span is not None and run.span.first <= at <= run.span.last)


def _entry_covers(entry: Entry, at: datetime) -> bool:
    return entry.planned == at or (entry.span is not None and entry.span.first <= at <= entry.span.last)


def _explain_rows(facts: Facts, rows: tuple[Run, ...]) -> Explanation:
    run = rows[-1]
    if run.live:
        return _append(_answer(Verdict.RUNNING, runs=rows), _earlier_attempt(rows))
    if run.state is RunState.SKIPPED or run.started is None:
        answer = _answer(Verdict.SKIPPED, reason=run.reason or Reason.CANCELLED, runs=rows)
    else:
        answer = _explain_ran(run, run.started, rows)
        if reached_no_listener(facts.task.target.kind, run.result_json):
            answer = answer._replace(
                english=f"{answer.english} No listener received it.", chinese=f"{answer.chinese}没有监听者收到它。"
            )
    for entry in facts.entries:
        if entry.kind is EntryKind.RETRY and (entry.planned, entry.origin) == (run.planned, run.origin):
            retry_time = _format_instant(facts, entry.due)
            return _append(answer, (f"It is tried again at {retry_time}.", f"将于 {retry_time} 再次尝试。"))
    if run.state is RunState.LOST and facts.task.policies.guarantee == "at_most_once":
        return _append(answer, _NOT_AGAIN)
    return answer


def _explain_ran(run: Run, started: datetime, rows: tuple[Run, ...]) -> Explanation:
    # Only the first attempt shows the jitter of the occurrence.
    due = rows[0].occurrence_due
    late = f"{(started - due).total_seconds():.3f} s"
    english, chinese = _SENTENCES[Verdict.RAN]
    answer = Explanation(
        Verdict.RAN,
        english.format(state=run.state.value, lateness=late),
        full_width(chinese).format(state=state_word(run.state.value, "zh"), lateness=late.replace(" s", " 秒")),
        run.reason,
        rows,
    )
    why = ("", "") if run.reason is None else (sentence(run.reason), sentence(run.reason, "zh"))
    return _append(_append(answer, _earlier_attempt(rows)), why)


def _earlier_attempt(rows: tuple[Run, ...]) -> tuple[str, str]:
    """Return the sentence about the previous attempt: the last one took over from it, or was its retry."""
    run = rows[-1]
    if run.attempt == 1:
        return "", ""
    if len(rows) == 1:
        return f"It was attempt {run.attempt}.", f"这是第 {run.attempt} 次尝试。"
    before = rows[-2]
    facts = {"attempt": run.attempt, "before": before.attempt}
    if before.state is RunState.LOST:
        reason = before.reason or Reason.LEASE_LOST
        english, chinese = _TOOK_OVER
        return (
            english.format(**facts, reason=sentence(reason)),
            chinese.format(**facts, reason=sentence(reason, "zh")),
        )
    english, chinese = _RETRIED
    return (
        english.format(**facts, state=before.state.value),
        chinese.format(**facts, state=state_word(before.state.value, "zh")),
    )


def _append(answer: Explanation, more: tuple[str, str]) -> Explanation:
    english, chinese = more
    return answer._replace(english=f"{answer.english} {english}".rstrip(), chinese=answer.chinese + chinese)


def _explain_entry(facts: Facts, entry: Entry, at: datetime, now: datetime, nodes: RunningNodes | None) -> Explanation:
    pause = facts.standing.pause
    if pause is not None and entry.stand is Stand.ASLEEP and _is_paused_at(pause, at):
        return _explain_pause(facts, pause)
    if at > now or entry.due > now:
        return _append_block(facts, _answer(Verdict.PENDING, _both(_format_instant(facts, max(at, entry.due)))))
    if entry.stand in CLAIMABLE:
        return _append_block(facts, _answer(Verdict.OVERDUE, _UNCLAIMED_CAUSES[_unclaimed_cause(nodes)]))
    return _answer(Verdict.WAITING, _wait_cause(entry))


def _unclaimed_cause(nodes: RunningNodes | None) -> str:
    if nodes is None:
        return "unknown"
    if nodes.only_draining:
        return "draining" if len(nodes.draining) == 1 else "all_draining"
    return "busy" if nodes.live else "no_node"


def _append_block(facts: Facts, answer: Explanation) -> Explanation:
    """Add that a future occurrence will be skipped, where the owner or the agent is blocked."""
    if facts.barred is None:
        return answer
    why = _append(answer._replace(reason=facts.barred), _WILL_BE_SKIPPED)
    why = _append(why, (sentence(facts.barred), sentence(facts.barred, "zh")))
    english, chinese = _SEE_OWNER
    owner = facts.task.owner
    return _append(why, (english.format(owner=owner), chinese.format(owner=owner)))


def _wait_cause(entry: Entry) -> tuple[str, str]:
    if entry.stand is Stand.PARKED and is_route(entry.lane):
        _, _, name = str(entry.lane).partition(":")
        return f"no running node has its target '{name}'", f"没有正在运行的节点提供其目标“{name}”"
    if entry.stand is Stand.PARKED:
        return f"its lane '{entry.lane}' is full", f"它的通道“{entry.lane}”已满"
    return _WAIT_CAUSES[entry.stand]


def _explain_schedule(facts: Facts, at: datetime, now: datetime, nodes: RunningNodes | None) -> Explanation:
    """Explain an instant without a row or entry of its own: in a range or backlog, in the future, or not planned."""
    task, status = facts.task, facts.standing
    if at < task.created:
        return _answer(Verdict.NOT_CREATED, _both(_format_instant(facts, task.created)))
    if status.ended is not None and at >= status.ended:
        over = status.state.value, state_word(status.state.value, "zh")
        return _answer(Verdict.OVER, over, reason=status.reason)
    following = next(without_repeat(task.schedule), at - MICROSECOND, past_of(task, status))
    if following != at:
        if following is None:
            return _answer(Verdict.NOT_PLANNED, ("there is none after it", "之后也没有"))
        later = _format_instant(facts, following)
        return _answer(Verdict.NOT_PLANNED, (f"the nearest later one is {later}", f"之后最近的一次是 {later}"))
    for entry in facts.entries:
        if _precedes(entry, at):
            return _explain_entry(facts, entry, at, now, nodes)
    if at > now:
        return _append_block(facts, _answer(Verdict.PENDING, _both(_format_instant(facts, at))))
    return _answer(Verdict.FORGOTTEN)


def _precedes(entry: Entry, at: datetime) -> bool:
    """Return whether a planned instant lies in the entry's range, or at or after the next occurrence."""
    if entry.kind is EntryKind.NEXT:
        return entry.planned <= at
    return entry.through is not None and entry.planned <= at <= entry.through


def _is_paused_at(pause: Pause, at: datetime) -> bool:
    return pause.until is None or at < pause.until


def _explain_pause(facts: Facts, pause: Pause) -> Explanation:
    agent = agent_of(facts.task)
    remedy = None if agent is None else _PAUSE_REMEDIES.get(pause.cause)
    end = "" if pause.until is None else _format_instant(facts, pause.until)
    # The note of a pause with a remedy repeats its cause in English only.
    note, note_zh = (f" ({pause.note})", f"（{pause.note}）") if pause.note and remedy is None else ("", "")
    since = _format_instant(facts, pause.since)
    answer = _answer(Verdict.PAUSED, (since + note, since + note_zh), reason=Reason.PAUSED)
    if end:
        answer = _append(answer, (f"It goes on at {end}.", f"它将于 {end} 恢复。"))
    reason = _PAUSE_REASONS.get(pause.cause)
    if reason is not None:
        answer = _append(answer._replace(reason=reason), (sentence(reason), sentence(reason, "zh")))
    if remedy is None:
        return answer
    names = {"id": facts.task.id, "agent": agent, "owner": facts.task.owner}
    return _append(answer, (remedy[0].format(**names), remedy[1].format(**names)))


def with_pause(facts: Facts, answer: Explanation) -> Explanation:
    """Add the current pause to the answer for the newest row of a task."""
    pause = facts.standing.pause
    if pause is None or answer.verdict is Verdict.PAUSED:
        return answer
    paused = _explain_pause(facts, pause)
    return _append(answer, (paused.english, paused.chinese))


def skipped_in_pause(facts: Facts, answer: Explanation, pause: PausedStretch) -> Explanation:
    """Replace the sentence of a row that a resume wrote: the task was paused, the occurrence was not missed."""
    since, until = _format_instant(facts, pause.since), _format_instant(facts, pause.until)
    english, chinese = _IN_PAUSE[answer.reason is Reason.MERGED]
    return answer._replace(
        english=english.format(since=since, until=until), chinese=chinese.format(since=since, until=until)
    )


def _format_instant(facts: Facts, at: datetime) -> str:
    """Format an instant in the task's zone with its offset, with seconds only where they are not zero."""
    local = fires_in(facts.task.schedule.zone or "UTC", [at])[0].local
    text = local.isoformat(" ", "seconds" if local.second or local.microsecond else "minutes")
    return f"{text[:-6]} {text[-6:]}"


def _both(text: str) -> tuple[str, str]:
    return text, text


def _answer(
    verdict: Verdict,
    detail: tuple[str, str] = ("", ""),
    reason: Reason | None = None,
    runs: tuple[Run, ...] = (),
) -> Explanation:
    english, chinese = _SENTENCES[verdict]
    why = ("", "") if reason is None else (sentence(reason), sentence(reason, "zh"))
    return Explanation(
        verdict,
        english.format(detail=detail[0], reason=why[0]),
        full_width(chinese).format(detail=detail[1], reason=why[1]),
        reason,
        runs,
    )
