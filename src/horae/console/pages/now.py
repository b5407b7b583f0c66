"""Now page: punctuality of the last day, what needs a person, what runs, what comes next, and the last outage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...model.change import Facts
from ...model.counts import HourSummary
from ...model.run import Run, RunState
from ...schedule import After
from ...schedule.after import with_names
from ...schedule.describe import describe_core
from ...service.runs.overview import Need, NeedKind, Overview, RunningDetail
from ...service.runs.planned import PlannedCounts
from ...wire.tasks.task import next_due
from ..charts import BAR_GAP, BAR_WIDTH, STRIP_HEIGHT, StripInput, spark_points, stacked_bars
from ..formats import format_clock
from ..messages import TEXTS
from ..outcomes import MISSED_REASONS, Sign
from ..page import PageRequest, form, page
from ..shared_fragments import share_fragment
from ..viewer import Viewer

_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
OUTCOME_KINDS: Final = ("succeeded", "failed", "missed", "skipped")
PLANNED: Final = "planned"
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_STEP: Final = timedelta(minutes=5)
_STEPS: Final = 12
_SOON: Final = timedelta(minutes=15)
_SIGNS: Final[dict[NeedKind, tuple[str, str]]] = {
    NeedKind.FAILED: ("✕", "bad"),
    NeedKind.FAILING: ("✕", "bad"),
    NeedKind.ORPHANED: ("⊘", "warn"),
    NeedKind.AWAITING_APPROVAL: ("◇", "odd"),
    NeedKind.PREDECESSOR_DELETED: ("⊘", "warn"),
    NeedKind.GATE_FAILED: ("⊘", "warn"),
    NeedKind.STRANDED: ("△", "warn"),
    NeedKind.OVERDUE: ("△", "warn"),
    NeedKind.OWNER_REVOKED: ("⊘", "warn"),
}


class NeedRow(NamedTuple):
    """A task that needs a person: its sign, and the last error of the task, if it has one."""

    need: Need
    sign: Sign
    error: str


class UpcomingRow(NamedTuple):
    """The next occurrence of a task. `zone` is the task's, where it differs from the viewer's."""

    facts: Facts
    due: datetime
    when: str
    zone: str | None
    is_soon: bool


class RunningRow(NamedTuple):
    run: Run
    detail: RunningDetail


async def show(request: PageRequest) -> Response:
    return await share_fragment(request, _show) if request.parts else await _show(request)


async def _show(request: PageRequest) -> Response:
    principal, service, now = request.viewer.principal, request.service, request.viewer.now
    overview = await service.overview.now(principal)
    planned = await service.planned.per_hour(principal, now, now + _DAY)
    minute = now.replace(second=0, microsecond=0)
    soon = await service.planned.per_period(principal, [minute + _STEP * place for place in range(_STEPS + 1)])
    names = await request.service.tasks.predecessor_names(
        request.viewer.principal, [facts.task for facts in overview.upcoming]
    )
    return request.render("now.html", _data(request.viewer, overview, planned, soon, names))


async def run_missed(request: PageRequest) -> Response:
    """Run what a task missed in an outage: the latest occurrence, or all of them in order."""
    task_id, is_all = request.form.text("task"), request.form.text("which") == "all"
    latest = request.form.instant("latest")
    first = request.form.instant("first") if is_all else latest
    facts = await request.service.tasks.backfill(request.viewer.principal, task_id, first, latest)
    text = "outage_running_all" if is_all else "outage_running_latest"
    return request.redirect("/", request.notice(text, name=facts.task.name))


async def dismiss_outage(request: PageRequest) -> Response:
    await request.service.outage_reviews.dismiss(request.viewer.principal, request.form.instant("until"))
    return request.redirect("/", request.notice("outage_dismissed"))


def _data(
    viewer: Viewer, overview: Overview, planned: PlannedCounts, soon: PlannedCounts, names: Mapping[str, str]
) -> dict[str, Any]:
    hours = strip_hours(overview.hours, planned)
    bars = stacked_bars([_strip_input(viewer, at, counts) for at, counts in hours])
    return {
        "page": "now",
        "overview": overview,
        "review": overview.outage,
        "has_tasks": any(overview.tasks.values()),
        "needs": [_need_row(viewer, need) for need in overview.needs],
        "needs_total": sum(overview.needs_counts.values()),
        "failing": overview.needs_counts.get(NeedKind.FAILING, 0),
        "running": [RunningRow(run, overview.running_details[run.id]) for run in overview.running],
        "upcoming": [
            row for row in (_upcoming_row(viewer, facts, names) for facts in overview.upcoming) if row is not None
        ],
        "lateness_points": spark_points([_milliseconds(hour.lateness.p99) for hour in overview.hours]),
        "on_time_points": spark_points(
            [hour.lateness.on_time / hour.lateness.total if hour.lateness.total else None for hour in overview.hours]
        ),
        "due_next_hour": soon.total,
        "next_hour_points": spark_points([float(period.number) for period in soon.periods]) if soon.total else "",
        "is_plan_partial": planned.is_partial,
        "bars": bars,
        "hours": hours,
        "now_x": (len(overview.hours) - 1) * (BAR_WIDTH + BAR_GAP) + BAR_WIDTH + BAR_GAP / 2,
        "kinds": (*OUTCOME_KINDS, PLANNED),
        "strip_width": len(bars) * (BAR_WIDTH + BAR_GAP),
        "strip_height": STRIP_HEIGHT,
    }


def _need_row(viewer: Viewer, need: Need) -> NeedRow:
    word = TEXTS[f"need_{need.kind.value}"].in_language(viewer.language)
    error = (need.facts.status.last_result or "").partition("\n")[0]
    is_failure = need.kind in (NeedKind.FAILED, NeedKind.FAILING)
    return NeedRow(need, Sign(*_SIGNS[need.kind], word), error if is_failure else "")


def _upcoming_row(viewer: Viewer, facts: Facts, names: Mapping[str, str]) -> UpcomingRow | None:
    due, schedule = next_due(facts), facts.task.schedule
    if due is None:
        return None
    zone = schedule.zone if schedule.zone != viewer.zone and not isinstance(schedule, After) else None
    when = describe_core(with_names(schedule, names), viewer.language)
    return UpcomingRow(facts, due, when, zone, due - viewer.now <= _SOON)


def count_kinds(outcomes: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of an hour by kind: succeeded, failed, missed and skipped."""
    kinds = dict.fromkeys((*OUTCOME_KINDS, PLANNED), 0)
    for outcome, number in outcomes.items():
        state, _, reason = outcome.partition(":")
        if state == RunState.SUCCEEDED:
            kinds["succeeded"] += number
        elif state in _FAILURES:
            kinds["failed"] += number
        else:
            kinds["missed" if reason in MISSED_REASONS else "skipped"] += number
    return kinds


def strip_hours(past: Sequence[HourSummary], planned: PlannedCounts) -> list[tuple[datetime, dict[str, int]]]:
    """Return the counts of each hour by kind, past and planned; the current hour has both."""
    hours = {hour.at: count_kinds(hour.outcomes) for hour in past}
    for period in planned.periods:
        hours.setdefault(period.since, count_kinds({}))[PLANNED] = period.number
    return list(hours.items())


def _strip_input(viewer: Viewer, at: datetime, counts: Mapping[str, int]) -> StripInput:
    span = f"{format_clock(at, viewer)}–{format_clock(at + _HOUR, viewer)}"
    parts = [f"{TEXTS[kind].in_language(viewer.language)} {number}" for kind, number in counts.items() if number]
    if at > viewer.now:
        href = viewer.url("/calendar", view="day", date=f"{at.astimezone(viewer.tz):%Y-%m-%d}")
    else:
        href = viewer.url("/runs", since=at.isoformat(), until=(at + _HOUR).isoformat())
    return StripInput(counts, f"{span}: {', '.join(parts) or '–'}", href, at > viewer.now)


def _milliseconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds() * 1_000


ROUTES: Final = (page("/", show), form("/outage/run", run_missed), form("/outage/dismiss", dismiss_outage))
