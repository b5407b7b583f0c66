"""Findings of a forecast: code, severity, sentence and hint, in English and Chinese, for each problem in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..choices import Language
from ..errors import Sentence
from ..model.reason import Reason
from ..model.task import Task
from ..plural import apply_number_agreement
from ..schedule import After
from ..schedule.describe.chinese import describe_duration as duration_zh
from ..schedule.describe.english import describe_duration as duration_en
from ..schedule.preview import make_fires
from ..typography import full_width
from .prepared_tasks import PreparedTask, PreparedTasks
from .report import ClockHit, Finding, LaneForecast, Report, Severity, TaskForecast


class FindingSentence(NamedTuple):
    """`code` is stable for programs; several sentences may share one."""

    code: str
    message_en: str
    hint_en: str
    message_zh: str
    hint_zh: str

    def message(self, language: Language, facts: Mapping[str, object]) -> str:
        return (
            apply_number_agreement(self.message_en, facts) if language == "en" else full_width(self.message_zh)
        ).format_map(facts)

    def hint(self, language: Language, facts: Mapping[str, object]) -> str:
        return (
            apply_number_agreement(self.hint_en, facts) if language == "en" else full_width(self.hint_zh)
        ).format_map(facts)


SENTENCES: Final[dict[str, FindingSentence]] = {
    "overlaps_skipped": FindingSentence(
        "overlaps",
        "{task}: {skipped} of {planned} are skipped because the run before is still going ({takes} each), first at {first}.",
        "Run it less often, make it shorter, or choose overlap 'queue' or 'parallel'.",
        "{task}:{planned} 次中有 {skipped} 次因上一次仍在运行而跳过(每次 {takes}),最早在 {first}。",
        "请降低频率、缩短运行时间,或选择重叠策略 queue 或 parallel。",
    ),
    "overlaps_pile_up": FindingSentence(
        "overlaps",
        "{task}: it cannot keep up ({takes} each); {waiting} of {planned} still wait at the end.",
        "Run it less often, make it shorter, or choose overlap 'parallel' or 'skip'.",
        "{task}:来不及执行(每次 {takes});到最后 {planned} 次中仍有 {waiting} 次在等待。",
        "请降低频率、缩短运行时间,或选择重叠策略 parallel 或 skip。",
    ),
    "overlaps": FindingSentence(
        "overlaps",
        "{task}: {count} of {planned} come due while the run before is still going ({takes} each), first at {first}.",
        "Its overlap policy '{policy}' takes care of that; check that this is what you want.",
        "{task}:{planned} 次中有 {count} 次到期时上一次仍在运行(每次 {takes}),最早在 {first}。",
        "其重叠策略 {policy} 会处理;请确认这符合预期。",
    ),
    "lane_full": FindingSentence(
        "lane_full",
        "Lane {lane} (limit {limit}) is full {share} of the time: up to {wanted} want it at once, and the longest wait is {longest}.",
        "Raise its limit, spread its tasks over time, or make them shorter.",
        "通道 {lane}(上限 {limit})有 {share} 的时间是满的:最多同时有 {wanted} 个需要它,最长等待 {longest}。",
        "请提高上限、把任务错开,或缩短运行时间。",
    ),
    "lane_rate": FindingSentence(
        "lane_rate",
        "The rate of lane {lane} ({rate}) delays starts: up to {wanted} want it at once, and the longest wait is {longest}.",
        "Raise its rate, or spread its tasks over time.",
        "通道 {lane} 的速率({rate})推迟了启动:最多同时有 {wanted} 个需要它,最长等待 {longest}。",
        "请提高速率,或把任务错开。",
    ),
    "capacity": FindingSentence(
        "capacity",
        "More comes due than the {capacity} runs that one node carries at once: some start up to {late} late.",
        "Raise the capacity, add a node, or spread the tasks over time.",
        "到期的任务超过一个节点可同时执行的 {capacity} 个:有的最多晚 {late} 才开始。",
        "请提高容量、增加节点,或把任务错开。",
    ),
    "crowded": FindingSentence(
        "crowded",
        "{count} tasks come due in the same second, at {at}: {names}.",
        "Spread them: add 'with jitter up to 5m' to their schedules.",
        "{count} 个任务在同一秒到期,时间 {at}:{names}。",
        "请错开它们:在计划后加上“with jitter up to 5m”。",
    ),
    "never_fires": FindingSentence(
        "never_runs",
        "{task}: it has no occurrence left, and would be refused.",
        "Check its start, end and repeat; `horae explain SCHEDULE` shows what it means.",
        "{task}:不会再有任何一次触发,创建时会被拒绝。",
        "请检查它的起止时间和重复次数;`horae explain SCHEDULE` 会说明其含义。",
    ),
    "never_started": FindingSentence(
        "never_runs",
        "{task}: it never runs here, because the tasks that it runs after do not end in the way that its links ask for.",
        "Every run of a forecast succeeds, so links on 'failed' start nothing; look at its links and its predecessors.",
        "{task}:在预演中从不运行,因为它所依赖的任务没有以其链接要求的方式结束。",
        "预演中每次运行都成功,因此条件为 failed 的链接不会触发;请检查它的链接和前置任务。",
    ),
    "predecessors_absent": FindingSentence(
        "predecessors_absent",
        "{task}: it runs after tasks that are no part of the forecast ({names}); their ends start nothing here.",
        "Simulate them together: in one file, or from a store in which they are active.",
        "{task}:它所依赖的任务不在预演之中({names});这里没有由它们触发的运行。",
        "请把它们放在一起预演:写在同一个文件里,或在存储中保持启用。",
    ),
    "gates_open": FindingSentence(
        "assumed",
        "The gates of {count} tasks count as open each time: {names}.",
        "A forecast calls no gate; expect fewer runs where gates close.",
        "{count} 个任务的门控一律视为打开:{names}。",
        "预演不会调用门控;门控关闭时实际运行会更少。",
    ),
    "labels_met": FindingSentence(
        "assumed",
        "Nodes with the required labels count as running, with room, for {count} tasks: {names}.",
        "`horae nodes` shows the labels of the nodes that run.",
        "假定有满足标签要求且有空位的节点,涉及 {count} 个任务:{names}。",
        "`horae nodes` 会显示运行中节点的标签。",
    ),
    "never_begins": FindingSentence(
        "never_runs",
        "{task}: it comes due {planned} times and never runs ({reasons}).",
        "Look at its lane and its policies.",
        "{task}:到期 {planned} 次,但从未运行({reasons})。",
        "请检查它的通道和策略。",
    ),
    "not_in_span": FindingSentence(
        "never_runs",
        "{task}: it does not run until {until}; its next time is {upcoming}.",
        "Look at a longer time to see it run.",
        "{task}:到 {until} 为止不会运行;下一次是 {upcoming}。",
        "请预演更长的时间。",
    ),
    "too_long": FindingSentence(
        "timeout",
        "{task}: a run takes {takes} and is stopped after {most}, so it never succeeds.",
        "Raise its max_duration, or make it shorter.",
        "{task}:一次运行需要 {takes},但 {most} 后就会被停止,因此永远不会成功。",
        "请提高 max_duration,或缩短运行时间。",
    ),
    "timeout": FindingSentence(
        "timeout",
        "{task}: a run takes {takes}, and its timeout is {timeout} of silence.",
        "Raise its timeout, or let it give signs of life while it works.",
        "{task}:一次运行需要 {takes},而无响应超时为 {timeout}。",
        "请提高 timeout,或让它在运行中定期报告进展。",
    ),
    "clock_gap": FindingSentence(
        "clock_gap",
        "",
        "Choose another time of day, or say with 'gap' what is to happen: next, shift or skip.",
        "",
        "请换一个时刻,或用 gap 指定处理方式:next、shift 或 skip。",
    ),
    "clock_fold": FindingSentence(
        "clock_fold",
        "",
        "Choose another time of day, or say with 'fold' what is to happen: first, last or both.",
        "",
        "请换一个时刻,或用 fold 指定处理方式:first、last 或 both。",
    ),
    "stopped_early": FindingSentence(
        "stopped_early",
        "There was more to run than a forecast takes: after {rows} runs and skips it got to {until}.",
        "Look at a shorter time, or at fewer tasks.",
        "要运行的内容超出预演的上限:经过 {rows} 次运行和跳过,预演到 {until} 为止。",
        "请预演更短的时间或更少的任务。",
    ),
}


CROWD: Final = 10
"""Tasks due in one second from which a finding is made."""
_NAMED: Final = 5
_NOTICEABLE: Final = timedelta(milliseconds=100)
_LONG: Final = timedelta(minutes=1)
_RANK: Final[dict[Severity, int]] = {"problem": 0, "warning": 1, "info": 2}


def add_findings(report: Report, made: tuple[Task | None, ...], prepared: PreparedTasks) -> Report:
    """Return the report with its findings, the most severe first."""
    found = [*_about_all(report), *_about_assumptions(prepared)]
    for lane in report.lanes:
        found += _about_lane(report, lane)
    for forecast, task, each in zip(report.tasks, made, prepared.tasks, strict=True):
        found += _about_task(report, forecast, task, each)
    return replace(report, findings=tuple(sorted(found, key=lambda each: _RANK[each.severity])))


def _about_all(report: Report) -> Iterator[Finding]:
    if not report.complete:
        yield _finding_of_all(
            "stopped_early", "warning", until=_time(report.until, report.zone), rows=report.runs + report.skipped
        )
    late = max((task.capacity_wait_max for task in report.tasks), default=timedelta(0))
    if late >= _NOTICEABLE:
        yield _finding_of_all("capacity", "warning", capacity=report.capacity, late=late)
    second = report.busiest_second
    if second is not None and len(second.tasks) >= CROWD:
        yield _finding_of_all(
            "crowded",
            "info",
            count=len(second.tasks),
            at=_time(second.at, report.zone),
            names=_names([name for name, _ in second.tasks]),
        )


def _about_assumptions(prepared: PreparedTasks) -> Iterator[Finding]:
    for key, names in (("gates_open", prepared.gated), ("labels_met", prepared.placed)):
        if names:
            yield _finding_of_all(key, "info", count=len(names), names=_names(list(names)))


# --- one task ------------------------------------------------------------------------------------------------------


def _about_task(report: Report, forecast: TaskForecast, task: Task | None, prepared: PreparedTask) -> Iterator[Finding]:
    def found(key: str, severity: Severity, **facts: object) -> Finding:
        return _make_finding(key, severity, forecast.name, None, facts)

    if prepared.absent:
        yield found("predecessors_absent", "warning", names=_names(list(prepared.absent)))
    if task is None:
        if prepared.after is None:
            yield found("never_fires", "problem")
        elif not prepared.absent:
            yield found("never_started", "info")
        return
    if isinstance(task.schedule, After) and not forecast.planned:
        yield found("never_started", "info")
    yield from _about_runs(report, forecast, found)
    yield from _about_overlaps(forecast, task, found)
    yield from _about_time(forecast, task, found)
    yield from (_about_clock(forecast, hit) for hit in forecast.clock_changes)


def _about_runs(report: Report, forecast: TaskForecast, found: Callable[..., Finding]) -> Iterator[Finding]:
    if forecast.ran:
        return
    if forecast.planned:
        reasons = ", ".join(sorted({*forecast.skipped, *(("waiting",) if forecast.waiting else ())}))
        yield found("never_begins", "problem", planned=forecast.planned, reasons=reasons)
    elif forecast.upcoming is not None:
        until, upcoming = _time(report.until, forecast.zone), _time(forecast.upcoming, forecast.zone)
        yield found("not_in_span", "info", until=until, upcoming=upcoming)


def _about_overlaps(forecast: TaskForecast, task: Task, found: Callable[..., Finding]) -> Iterator[Finding]:
    if not forecast.overlaps:
        return
    facts: dict[str, object] = {
        "count": forecast.overlaps,
        "planned": forecast.planned,
        "takes": forecast.takes,
        "first": _time(forecast.overlap_examples[0].planned, forecast.zone),
        "policy": task.policies.overlap,
        "skipped": forecast.skipped.get(Reason.OVERLAP, 0),
        "waiting": forecast.waiting,
    }
    if facts["skipped"]:
        yield found("overlaps_skipped", "warning", **facts)
    elif forecast.waiting and task.policies.overlap == "queue_all":
        yield found("overlaps_pile_up", "warning", **facts)
    else:
        yield found("overlaps", "info", **facts)


def _about_time(forecast: TaskForecast, task: Task, found: Callable[..., Finding]) -> Iterator[Finding]:
    policies = task.policies
    if policies.max_duration is not None and forecast.takes > policies.max_duration:
        yield found("too_long", "problem", takes=forecast.takes, most=policies.max_duration)
    elif forecast.takes > policies.timeout:
        yield found("timeout", "warning", takes=forecast.takes, timeout=policies.timeout)


def _about_clock(forecast: TaskForecast, hit: ClockHit) -> Finding:
    code = f"clock_{hit.kind}"
    severity: Severity = "warning" if hit.effect in ("dropped", "both") else "info"
    sentences: dict[Language, Sentence] = {
        language: Sentence(f"{forecast.name}: {sentence}", SENTENCES[code].hint(language, {}))
        for language, sentence in hit.sentences.items()
    }
    return Finding(code, severity, forecast.name, None, sentences)


# --- one lane ------------------------------------------------------------------------------------------------------


def _about_lane(report: Report, lane: LaneForecast) -> Iterator[Finding]:
    if lane.longest_wait < _NOTICEABLE:
        return
    lost = any(task.waiting or task.skipped for task in report.tasks if task.lane == lane.name)
    # Slots of a limit that were never all in use delayed nothing, so the rate did.
    is_rate = lane.rate is not None and lane.full_share == 0
    yield _finding_of_all(
        "lane_rate" if is_rate else "lane_full",
        "warning" if lost or lane.longest_wait >= _LONG else "info",
        lane=lane.name,
        limit=lane.limit,
        rate=lane.rate,
        share=f"{lane.full_share:.1%}",
        wanted=lane.peak_wanted,
        longest=lane.longest_wait,
    )


# --- words ---------------------------------------------------------------------------------------------------------


def _finding_of_all(key: str, severity: Severity, lane: str | None = None, **facts: object) -> Finding:
    return _make_finding(key, severity, None, lane, facts)


def _make_finding(
    key: str, severity: Severity, task: str | None, lane: str | None, facts: Mapping[str, object]
) -> Finding:
    entry = SENTENCES[key]
    values = {**facts, "task": task, "lane": lane}
    english, chinese = _describe_durations(values, duration_en), _describe_durations(values, duration_zh)
    sentences: dict[Language, Sentence] = {
        "en": Sentence(entry.message("en", english), entry.hint("en", english)),
        "zh": Sentence(entry.message("zh", chinese), entry.hint("zh", chinese)),
    }
    return Finding(entry.code, severity, task, lane, sentences)


def _describe_durations(facts: dict[str, object], duration: Callable[[timedelta], str]) -> dict[str, object]:
    return {name: duration(_rounded(fact)) if isinstance(fact, timedelta) else fact for name, fact in facts.items()}


def _rounded(length: timedelta) -> timedelta:
    """Round to seconds from 10 s on, else to milliseconds."""
    if length >= timedelta(seconds=10):
        return timedelta(seconds=round(length.total_seconds()))
    return timedelta(milliseconds=round(length / timedelta(milliseconds=1)))


def _time(at: datetime, zone: str) -> str:
    local = make_fires(zone, [at])[0].local
    return f"{local:%Y-%m-%d %H:%M:%S} {zone}" if local.second else f"{local:%Y-%m-%d %H:%M} {zone}"


def _names(names: list[str]) -> str:
    """The first names, and the number of the rest."""
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown}, … (+{len(names) - _NAMED})"
