"""Why it did, or did not, run: read from the ledger and the task, in one sentence and one fact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ..choices import Language
from ..model.change import Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.reason import Reason, sentence
from ..model.run import Run, RunState
from ..model.task import past_of
from ..schedule import next  # noqa: A004 - the product's own question
from .pile import without_repeat

_MICROSECOND: Final = timedelta(microseconds=1)


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
    Verdict.RAN: ("It ran: {state}, {lateness} after it was due.", "它运行了:{state},比到期晚 {lateness}。"),
    Verdict.RUNNING: ("It is running now.", "它正在运行。"),
    Verdict.SKIPPED: ("It was not run. {reason}", "没有运行。{reason}"),
    Verdict.WAITING: ("It is due and waits: {detail}.", "它已到期,正在等待:{detail}。"),
    Verdict.PAUSED: ("The task has been paused since {detail}.", "任务自 {detail} 起暂停。"),
    Verdict.PENDING: ("It is still to come: {detail}.", "它尚未到期:{detail}。"),
    Verdict.NOT_PLANNED: (
        "The schedule has no occurrence then; the nearest later one is {detail}.",
        "计划在那一刻没有触发;之后最近的一次是 {detail}。",
    ),
    Verdict.NOT_CREATED: ("The task was created only at {detail}.", "任务在 {detail} 才创建。"),
    Verdict.OVER: ("The task is {detail}, so nothing of it starts any more.", "任务已处于 {detail} 状态,不会再启动。"),
    Verdict.OVERDUE: (
        "It is due and has not been claimed yet: no engine is running, or all are busy.",
        "它已到期但尚未被领取:没有引擎在运行,或都在忙。",
    ),
    Verdict.FORGOTTEN: (
        "It was accounted for, but its row is older than the history that is kept.",
        "它曾有记录,但该记录已超出保留的历史范围。",
    ),
}
_WAITS: Final[dict[Stand, tuple[str, str]]] = {
    Stand.HELD: ("an earlier run of the task is still going", "该任务较早的一次运行仍在进行"),
    Stand.PARKED: ("its lane is full", "它的通道已满"),
    Stand.ASLEEP: ("the task is paused", "任务已暂停"),
    Stand.TIMED: ("it is tried again soon", "很快会再次尝试"),
    Stand.READY: ("its owner's turn comes soon", "很快轮到其所有者"),
}


class Explanation(NamedTuple):
    """`runs` are the rows that the answer rests on, oldest attempt first."""

    verdict: Verdict
    english: str
    chinese: str
    reason: Reason | None = None
    runs: tuple[Run, ...] = ()

    def in_language(self, language: Language) -> str:
        return self.english if language == "en" else self.chinese


def explain(facts: Facts, runs: Sequence[Run], at: datetime, now: datetime) -> Explanation:
    """`runs` are the ledger's rows around `at`; of those, the ones that cover it answer first."""
    rows = tuple(sorted((run for run in runs if _covers(run, at)), key=lambda run: run.attempt))
    if rows:
        return _from_row(rows)
    entry = _standing_for(facts.entries, at)
    if entry is not None:
        return _from_entry(facts, entry, now)
    return _from_schedule(facts, at, now)


def _covers(run: Run, at: datetime) -> bool:
    return run.planned == at or (run.span is not None and run.span.first <= at <= run.span.last)


def _from_row(rows: tuple[Run, ...]) -> Explanation:
    run = rows[-1]
    if run.live:
        return _told(Verdict.RUNNING, runs=rows)
    if run.state is RunState.SKIPPED or run.started is None:
        reason = run.reason or Reason.CANCELLED
        return _told(Verdict.SKIPPED, reason=reason, runs=rows)
    late = f"{(run.started - run.due).total_seconds():.3f} s"
    english, chinese = _SENTENCES[Verdict.RAN]
    why = ("", "") if run.reason is None else (" " + sentence(run.reason), sentence(run.reason, "zh"))
    return Explanation(
        Verdict.RAN,
        english.format(state=run.state.value, lateness=late) + why[0],
        chinese.format(state=run.state.value, lateness=late) + why[1],
        run.reason,
        rows,
    )


def _standing_for(entries: tuple[Entry, ...], at: datetime) -> Entry | None:
    for entry in entries:
        if entry.kind in (EntryKind.RESUME, EntryKind.DEADLINE):
            continue
        if entry.planned == at or (entry.through is not None and entry.planned <= at <= entry.through):
            return entry
    return None


def _from_entry(facts: Facts, entry: Entry, now: datetime) -> Explanation:
    if facts.standing.pause is not None:
        return _paused(facts)
    if entry.due > now:
        return _told(Verdict.PENDING, _both(entry.due.isoformat()))
    if entry.kind is EntryKind.NEXT and entry.stand in (Stand.TIMED, Stand.READY):
        return _told(Verdict.OVERDUE)
    return _told(Verdict.WAITING, _WAITS[entry.stand])


def _from_schedule(facts: Facts, at: datetime, now: datetime) -> Explanation:
    task, standing = facts.task, facts.standing
    if at < task.created:
        return _told(Verdict.NOT_CREATED, _both(task.created.isoformat()))
    if standing.pause is not None and at >= standing.pause.since:
        return _paused(facts)
    if standing.ended is not None and at >= standing.ended:
        return _told(Verdict.OVER, _both(standing.state.value), reason=standing.reason)
    endless, past = without_repeat(task.schedule), past_of(task, standing)
    following = next(endless, at - _MICROSECOND, past)
    if following != at:
        return _told(Verdict.NOT_PLANNED, _both("-" if following is None else following.isoformat()))
    if at > now:
        return _told(Verdict.PENDING, _both(at.isoformat()))
    return _told(Verdict.OVERDUE if _cursor_before(facts, at) else Verdict.FORGOTTEN)


def _cursor_before(facts: Facts, at: datetime) -> bool:
    """Whether the task's next occurrence is one that lies before `at`: then this one is in the same pile."""
    return any(entry.kind is EntryKind.NEXT and entry.planned <= at for entry in facts.entries)


def _paused(facts: Facts) -> Explanation:
    pause = facts.standing.pause
    since = "" if pause is None else pause.since.isoformat() + (f" ({pause.note})" if pause.note else "")
    return _told(Verdict.PAUSED, _both(since), reason=Reason.PAUSED)


def _both(text: str) -> tuple[str, str]:
    return text, text


def _told(
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
        chinese.format(detail=detail[1], reason=why[1]),
        reason,
        runs,
    )
