"""A forecast is bounded, repeatable, logs nothing, and refuses invalid requests."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from horae.errors import InvalidSchedule, InvalidTask, Refusal
from horae.forecast import MOST_ROWS, forecast
from horae.model.task import Target
from horae.service.tasks.task_request import TaskRequest
from tests.unit.forecast.forecast_setup import START, a_task, find_findings, run_forecast

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulate.md"


def test_forecast_stops_at_its_row_limit() -> None:
    report = run_forecast(a_task("often", "every 1s", 0.5), span="30d", most=500)
    assert not report.complete
    assert report.runs == 500
    assert report.until == START + timedelta(seconds=500)
    (finding,) = find_findings(report, "stopped_early")
    assert "2026-06-01 00:08:20 UTC" in finding.in_language("en").message


def test_skips_count_towards_the_row_limit() -> None:
    report = run_forecast(a_task("often", "every 1s", "1h"), span="30d", most=200)
    assert (report.runs, report.skipped) == (1, 199)


def test_progress_is_reported() -> None:
    heard: list[tuple[float, datetime]] = []
    run_forecast(a_task("it", "every 1h"), span="2d", progress=lambda share, at: heard.append((share, at)))
    assert heard == sorted(heard)
    assert heard[-1] == (1.0, START + timedelta(days=2))
    assert len(heard) == 100


def test_equal_requests_have_equal_reports() -> None:
    tasks = [a_task(f"t{number}", f"every {number + 3}m with jitter up to 2m", "3m", lane="one") for number in range(5)]
    assert run_forecast(*tasks, span="6h") == run_forecast(*tasks, span="6h")


def test_forecast_without_tasks() -> None:
    report = run_forecast()
    assert (report.runs, report.tasks, report.busiest_minute, report.findings) == (0, (), None, ())


def test_task_request_without_duration_uses_the_default() -> None:
    wish = TaskRequest("it", "every 1h", Target("command", "{}"))
    report = run_forecast(wish, takes="10m")
    assert report.tasks[0].takes == timedelta(minutes=10)


def test_two_requests_with_one_key_are_two_tasks() -> None:
    wish = TaskRequest("it", "every 1h", Target("command", "{}"), key="same")
    assert [task.ran for task in run_forecast(wish, wish).tasks] == [24, 24]


def test_the_report_is_json_and_every_field_of_it_is_documented() -> None:
    start = datetime(2026, 3, 28, tzinfo=UTC)
    report = run_forecast(
        a_task("nightly", "30 2 * * *", "20m", lane="one"),
        a_task("slow", "every 1m", "90s", lane="one"),
        start=start,
        span="2d",
        zone="Europe/Berlin",
    )
    told = report.to_json()
    assert json.loads(json.dumps(told)) == told
    assert told["tasks"][1]["skipped"].keys() <= {"overlap", "merged", "stale", "missed_skipped"}
    document = DOCUMENT.read_text(encoding="utf-8")
    assert {key for key in _keys(told) if f'"{key}"' not in document and f"`{key}`" not in document} == set()


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) - {"overlap", "merged"} | {key for each in value.values() for key in _keys(each)}
    return {key for each in value for key in _keys(each)} if isinstance(value, list) else set()


async def test_forecast_can_be_called_from_a_coroutine() -> None:
    report = await asyncio.to_thread(forecast, [a_task("it", "every 1h")], start=START, span="1d")
    outcome = report.runs
    assert outcome == 24


def test_forecast_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Logs of an engine on another thread are not suppressed."""
    log = logging.getLogger("horae")

    def speak(_share: float, _at: datetime) -> None:
        other_thread = Thread(target=log.warning, args=("other thread",))
        other_thread.start()
        other_thread.join()

    with caplog.at_level(logging.DEBUG, "horae"):
        report = run_forecast(a_task("long", "0 * * * *", "20m", max_duration="10m"), span="4h", progress=speak)
    assert report.tasks[0].cut_short > 0, "of which an engine would speak"
    assert {record.message for record in caplog.records} == {"other thread"}
    assert log.filters == []


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ({"start": datetime(2026, 6, 1)}, "naive_instant"),
        ({"span": "0s"}, "bad_duration"),
        ({"span": timedelta(days=4000)}, "bad_duration"),
        ({"span": "soon"}, "bad_duration"),
        ({"takes": -1}, "bad_duration"),
        ({"takes": timedelta(days=31)}, "bad_duration"),
        ({"lanes": {"narrow": 0}}, "bad_number"),
        ({"capacity": 0}, "bad_number"),
        ({"most": MOST_ROWS + 1}, "bad_number"),
    ],
)
def test_invalid_forecast_requests_are_refused(question: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidTask) as error:
        run_forecast(a_task("it", "every 1h"), **question)
    assert error.value.code == code


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(Refusal):
        run_forecast(a_task("it", "every 1h"), zone="Mars/Olympus")


def test_refusal_of_a_task_request_names_the_task() -> None:
    with pytest.raises(InvalidSchedule) as error:
        run_forecast(a_task("fine", "every 1h"), a_task("odd", "every blue moon"))
    assert error.value.__notes__ == ["This was task number 2, 'odd'."]
