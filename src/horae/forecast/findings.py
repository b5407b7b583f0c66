"""Findings of a forecast: code, severity, sentence and hint for each problem in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ..choices import Language
from ..errors import Sentence
from ..model.reason import Reason
from ..model.task import Task
from ..schedule.describe.chinese import describe_duration as duration_zh
from ..schedule.describe.english import describe_duration as duration_en
from ..schedule.preview import make_fires
from .finding_messages import SENTENCES
from .report import ClockHit, Finding, LaneForecast, Report, Severity, TaskForecast

CROWD: Final = 10
"""Tasks due in one second from which a finding is made."""
_NAMED: Final = 5
_NOTICEABLE: Final = timedelta(milliseconds=100)
_LONG: Final = timedelta(minutes=1)
_RANK: Final[dict[Severity, int]] = {"problem": 0, "warning": 1, "info": 2}


def add_findings(report: Report, made: tuple[Task | None, ...]) -> Report:
    """Return the report with its findings, the most severe first."""
    found = [*_about_all(report)]
    for lane in report.lanes:
        found += _about_lane(report, lane)
    for forecast, task in zip(report.tasks, made, strict=True):
        found += _about_task(report, forecast, task)
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


# --- one task ------------------------------------------------------------------------------------------------------


def _about_task(report: Report, forecast: TaskForecast, task: Task | None) -> Iterator[Finding]:
    def found(key: str, severity: Severity, **facts: object) -> Finding:
        return _make_finding(key, severity, forecast.name, None, facts)

    if task is None:
        yield found("never_fires", "problem")
        return
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
    yield _finding_of_all(
        "lane_full",
        "warning" if lost or lane.longest_wait >= _LONG else "info",
        lane=lane.name,
        limit=lane.limit,
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
