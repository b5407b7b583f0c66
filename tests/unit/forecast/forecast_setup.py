"""Setup of forecast tests: candidates, a forecast from a fixed start, findings by code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from horae.forecast import Candidate, Finding, Report, forecast
from horae.model.task import Target
from horae.service.tasks.task_request import Options, TaskRequest

START = datetime(2026, 6, 1, tzinfo=UTC)
"""A Monday on which no clock changes."""


def a_task(name: str, when: Any, takes: Any = None, *, lane: str | None = None, **options: Any) -> Candidate:
    wish = TaskRequest(
        name, when, Target("http", '{"url": "https://example.test"}'), lane=lane, options=Options(**options)
    )
    return Candidate(wish, takes)


def run_forecast(*tasks: Candidate | TaskRequest, span: Any = "1d", start: datetime = START, **more: Any) -> Report:
    return forecast(tasks, start=start, span=span, **more)


def find_findings(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]
