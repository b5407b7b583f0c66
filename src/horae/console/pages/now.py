"""Now page: punctuality of the last day, what needs a person, what runs and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from starlette.responses import Response

from ...model.counts import HourSummary
from ...model.run import RunState
from ...schedule.describe import describe_core
from ...service.runs.overview import Overview
from ...wire.tasks import next_due
from ..charts import BAR_GAP, BAR_WIDTH, STRIP_HEIGHT, StripInput, spark_points, stacked_bars
from ..formats import format_clock
from ..messages import TEXTS
from ..outcomes import MISSED_REASONS
from ..page import PageRequest, page
from ..viewer import Viewer

_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
OUTCOME_KINDS: Final = ("succeeded", "failed", "missed", "skipped")
_HOUR: Final = timedelta(hours=1)


async def show(request: PageRequest) -> Response:
    overview = await request.service.overview.now(request.viewer.principal)
    return request.render("now.html", _data(request.viewer, overview))


def _data(viewer: Viewer, overview: Overview) -> dict[str, Any]:
    bars = stacked_bars([_strip_input(viewer, hour) for hour in overview.hours])
    return {
        "page": "now",
        "overview": overview,
        "has_tasks": any(overview.tasks.values()),
        "lateness_points": spark_points([_milliseconds(hour.lateness.p99) for hour in overview.hours]),
        "on_time_points": spark_points(
            [hour.lateness.on_time / hour.lateness.total if hour.lateness.total else None for hour in overview.hours]
        ),
        "bars": bars,
        "hours": [(hour, count_kinds(hour.outcomes)) for hour in overview.hours],
        "kinds": OUTCOME_KINDS,
        "strip_width": len(bars) * (BAR_WIDTH + BAR_GAP),
        "strip_height": STRIP_HEIGHT,
        "upcoming": [
            (facts, next_due(facts), describe_core(facts.task.schedule, viewer.language)) for facts in overview.upcoming
        ],
    }


def count_kinds(outcomes: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of an hour by kind: succeeded, failed, missed and skipped."""
    kinds = dict.fromkeys(OUTCOME_KINDS, 0)
    for outcome, number in outcomes.items():
        state, _, reason = outcome.partition(":")
        if state == RunState.SUCCEEDED:
            kinds["succeeded"] += number
        elif state in _FAILURES:
            kinds["failed"] += number
        else:
            kinds["missed" if reason in MISSED_REASONS else "skipped"] += number
    return kinds


def _strip_input(viewer: Viewer, hour: HourSummary) -> StripInput:
    counts = count_kinds(hour.outcomes)
    span = f"{format_clock(hour.at, viewer)}–{format_clock(hour.at + _HOUR, viewer)}"
    parts = [f"{TEXTS[kind].in_language(viewer.language)} {number}" for kind, number in counts.items() if number]
    href = viewer.url("/runs", since=hour.at.isoformat(), until=(hour.at + _HOUR).isoformat())
    return StripInput(counts, f"{span}: {', '.join(parts) or '–'}", href)


def _milliseconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds() * 1_000


ROUTES: Final = (page("/", show),)
