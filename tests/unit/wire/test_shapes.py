"""Runs, lines, explanations, overviews, events and bulk reports as JSON: complete and exact."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.lifecycle.explain.explanation import Explanation, Verdict
from horae.model.events.event import NumberedEvent
from horae.model.outcome import Failed
from horae.model.reason import Reason
from horae.model.run import Run, RunState, Span
from horae.ports.journal import Line, NumberedLine
from horae.ports.store import TaskFilter
from horae.service.runs.outages import Outage
from horae.service.tasks.task_request import Options
from horae.stores.sql.reads.status import PossibleLoss
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND, a_run, a_task, an_ended_run, an_event
from horae.wire.instants import local, milliseconds, utc
from horae.wire.overview import bulk_json, event_json, overview_json
from horae.wire.runs import line_json, run_json, why_json
from horae.wire.shapes.commands import POSSIBLE_LOSS
from tests.unit.service.service_harness import ADA, ROOT, ServiceHarness

instants = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))


def travelled(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def test_schema_lists_every_possible_loss() -> None:
    assert POSSIBLE_LOSS["enum"] == [each.value for each in PossibleLoss]


@given(instants)
def test_an_instant_is_exact_in_both_directions(at: datetime) -> None:
    told = utc(at)
    assert told is not None
    assert told.endswith("Z")
    assert datetime.fromisoformat(told) == at
    for zone in ("Asia/Tokyo", "America/New_York", None):
        there = local(at, zone)
        assert there is not None
        assert datetime.fromisoformat(there) == at


def test_instants_have_milliseconds_or_microseconds_where_there_are_any() -> None:
    assert utc(NOON) == "2026-03-01T12:00:00.000Z"
    assert utc(NOON + timedelta(microseconds=1_000)) == "2026-03-01T12:00:00.001Z"
    assert utc(NOON + timedelta(microseconds=1)) == "2026-03-01T12:00:00.000001Z"
    assert [utc(None), local(None, "UTC"), milliseconds(None)] == [None, None, None]
    assert local(NOON, "Asia/Shanghai") == "2026-03-01T20:00:00.000+08:00"


@pytest.mark.parametrize(
    ("length", "number"),
    [(SECOND, 1_000), (timedelta(0), 0), (timedelta(microseconds=1_500), 1.5), (-SECOND, -1_000)],
)
def test_lengths_are_milliseconds_and_whole_where_they_are_whole(length: timedelta, number: float) -> None:
    found = milliseconds(length)
    assert (found, type(found)) == (number, type(number))


def test_run_json_has_lateness_and_task() -> None:
    task = a_task()
    run = an_ended_run(
        task, started=NOON + timedelta(milliseconds=3), ended=NOON + SECOND, result_json='{"sum":3}', lanes=("press",)
    )
    told = run_json(run, "water", "Asia/Tokyo")
    assert (told["task"], told["zone"], told["planned_local"]) == (
        "water",
        "Asia/Tokyo",
        "2026-03-01T21:00:00.000+09:00",
    )
    assert (told["lateness_ms"], told["duration_ms"], told["result"]) == (3, 997, {"sum": 3})
    assert (told["first"], told["last"], told["count"]) == (told["planned"], told["planned"], 1)
    assert (told["lanes"], told["because"], told["asked_to_end"]) == (["press"], None, None)
    assert travelled(told) == told


def test_span_json_has_count_and_reason() -> None:
    span = Span(NOON - HOUR, NOON, 61)
    row = a_run(a_task(), state=RunState.SKIPPED, reason=Reason.PAUSED, span=span, started=None, node=None)
    told, chinese = run_json(row), run_json(row, language="zh")
    assert (told["first"], told["last"], told["count"]) == (utc(span.first), utc(span.last), 61)
    assert (told["reason"], told["because"]) == ("paused", "The task was paused at that time.")
    assert chinese["because"] != told["because"]
    assert (told["lateness_ms"], told["duration_ms"], told["result"]) == (None, None, None)


def test_truncated_result_is_rendered_as_text() -> None:
    run = an_ended_run(a_task(), result_json='{"sum":[1,2,')
    assert run_json(run)["result"] == '{"sum":[1,2,'
    assert run_json(a_run(a_task(), cancel=Reason.CANCELLED))["asked_to_end"] == "cancelled"


def test_line_event_and_outage_json() -> None:
    assert line_json(NumberedLine(7, Line("run_1", NOON, "info", "浇花"))) == {
        "number": 7,
        "run_id": "run_1",
        "at": "2026-03-01T12:00:00.000Z",
        "level": "info",
        "text": "浇花",
    }
    task = a_task()
    told = event_json(NumberedEvent(9, an_event(task, run_id="run_1", detail="because")))
    assert (told["number"], told["type"], told["task_id"], told["detail"]) == (9, "task.edited", task.id, "because")
    explanation = Explanation(Verdict.SKIPPED, "It was not run.", "没有运行。", Reason.STALE, (an_ended_run(task),))
    outage = Outage(NOON, NOON + HOUR, clean=False)
    why = why_json(explanation, utc(NOON), "water", "UTC", "zh", outage)
    assert (why["verdict"], why["sentence"], why["reason"]) == ("skipped", "没有运行。", "stale")
    assert why["outage"] == {"since": utc(NOON), "until": utc(NOON + HOUR), "clean": False}
    assert [run["task"] for run in why["runs"]] == ["water"]
    assert why_json(explanation._replace(reason=None), None, "water", None, "en")["outage"] is None
    assert travelled(why) == why


async def test_overview_and_bulk_report_json() -> None:
    harness = ServiceHarness()
    task = await harness.add(options=Options(retries=0, give_up_after=1), lane="press")
    await harness.add("every 30m", name="next")
    harness.advance(31 * MINUTE)
    await harness.claim()
    await harness.run_due(29 * MINUTE, Failed("no"))
    told = travelled(overview_json(await harness.service.overview.now(ROOT)))
    assert told["tasks"] == {"active": 1, "paused": 0, "completed": 0, "failed": 1, "cancelled": 0}
    assert told["last_24h"]["outcomes"]["failed"] == told["last_24h"]["started"] == 1
    assert (told["last_24h"]["on_time"], told["last_24h"]["lateness_p50_ms"]) == (1.0, 0)
    assert [(need["kind"], need["task_id"], need["last_result"]) for need in told["needs_you"]] == [
        ("failed", task.id, "no")
    ]
    assert [(each["task"], each["due_local"]) for each in told["next"]] == [("next", "2026-03-01T13:30:00.000+00:00")]
    assert told["nodes"][0]["id"] == "node-1"
    assert [run["state"] for run in told["running"]] == ["running"]
    report = await harness.service.bulk.each(ADA, TaskFilter(), lambda each: harness.tasks.delete(ADA, each.id))
    bulk = travelled(bulk_json(report, "zh"))
    assert (bulk["matched"], bulk["done"]) == (2, 1)
    assert [each["code"] for each in bulk["refused"]] == ["still_running"]
    assert bulk["refused"][0]["detail"] != bulk_json(report)["refused"][0]["detail"]


def test_run_json_has_the_same_fields_in_every_state() -> None:
    task = a_task()
    runs: list[Run] = [a_run(task, state=state) for state in RunState]
    assert len({tuple(run_json(run)) for run in runs}) == 1
