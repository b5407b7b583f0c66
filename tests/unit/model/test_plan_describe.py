"""Sentences about plans in both languages, and the counters of Zero's page."""

from __future__ import annotations

import pytest

from horae.model.plans.codes import PlanState
from horae.model.plans.describe import counter_text, describe_plan
from horae.model.plans.plan import Plan

NOON = 1_772_366_400
"""2026-03-01 12:00:00 UTC."""


@pytest.mark.parametrize(
    ("plan", "english", "chinese"),
    [
        (Plan(1, "a", "none"), "at once", "立即执行。"),
        (
            Plan(1, "a", "time", plan_time=NOON),
            "at 2026-03-01 12:00:00 UTC, missed times are skipped",
            "在 2026-03-01 12:00:00 UTC 执行，错过的时间跳过。",
        ),
        (
            Plan(1, "a", "minute", 1, -1, no_keep=True),
            "every minute, without end, missed times are caught up",
            "每 1 分钟执行一次，一直重复，错过的时间逐一补上。",
        ),
        (
            Plan(1, "a", "day", 2, 3),
            "every 2 days, 3 times, missed times are skipped",
            "每 2 天执行一次，共 3 次，错过的时间跳过。",
        ),
        (
            Plan(1, "a", "week", 0, 1, NOON),
            "every Sunday at 12:00:00 UTC, once",
            "每周日 12:00:00 UTC 执行，共 1 次。",
        ),
        (
            Plan(1, "a", "month", 31, 2, NOON),
            "every month on day 31 at 12:00:00 UTC, 2 times",
            "每月31 号 12:00:00 UTC 执行，共 2 次。",
        ),
        (
            Plan(1, "a", "month", 0, -1, NOON),
            "every month on the last day at 12:00:00 UTC, without end",
            "每月最后一天 12:00:00 UTC 执行，一直重复。",
        ),
        (
            Plan(1, "a", "month", -1, -1, NOON),
            "every month 1 day before the last day at 12:00:00 UTC, without end",
            "每月最后一天之前 1 天 12:00:00 UTC 执行，一直重复。",
        ),
        (
            Plan(1, "a", "month", -2, -1, NOON),
            "every month 2 days before the last day at 12:00:00 UTC, without end",
            "每月最后一天之前 2 天 12:00:00 UTC 执行，一直重复。",
        ),
    ],
)
def test_sentences(plan: Plan, english: str, chinese: str) -> None:
    assert describe_plan(plan, "en") == english
    assert describe_plan(plan, "zh") == chinese


@pytest.mark.parametrize(
    ("state", "skip_set", "skip_num", "text"),
    [
        (PlanState.ERROR, -2, 3, "Error(3)"),
        (PlanState.RETRYING, -2, 1, "Retry(1/3)"),
        (PlanState.SKIPPING, -1, 4, "Pause(4)"),
        (PlanState.SKIPPING, 3, 1, "Skip(1/3)"),
        (PlanState.QUEUED, 0, 2, "Overdue(2)"),
        (PlanState.QUEUED, 0, 0, ""),
    ],
)
def test_counters(state: PlanState, skip_set: int, skip_num: int, text: str) -> None:
    assert counter_text(state, skip_set, skip_num) == text
