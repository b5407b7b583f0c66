"""Usage of runs: sums of the reports of an agent, which may be forged, and their record."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from horae.model.agents.usage import (
    MAX_COST_MICROS,
    MAX_TOKENS,
    NO_USAGE,
    USAGE_KIND,
    USAGE_RETENTION,
    RunUsage,
    add_report,
    to_micros,
    usage_from,
    usage_write,
)

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_reports_of_turns_are_added() -> None:
    usage = add_report(NO_USAGE, input_tokens=100, output_tokens=20, cost=0.25, model="small")
    usage = add_report(usage, input_tokens=1, output_tokens=2, cost=0.5)
    assert usage == RunUsage(101, 22, 750_000, "small", 2)
    assert usage.tokens == 123
    assert usage.cost == 0.75


def test_values_that_were_not_reported_stay_unknown() -> None:
    usage = add_report(NO_USAGE)
    assert usage == RunUsage(turns=1)
    assert usage.tokens is None
    assert usage.cost is None
    assert add_report(usage, output_tokens=3).tokens == 3


@pytest.mark.parametrize("forged", [-1, True, "5", 1.5, math.nan, math.inf, None, [1]])
def test_forged_count_is_not_counted(forged: Any) -> None:
    usage = add_report(RunUsage(7, 7), input_tokens=forged, output_tokens=forged)
    assert (usage.input_tokens, usage.output_tokens) == (7, 7)


@pytest.mark.parametrize("forged", [-0.01, True, "5", math.nan, math.inf, -math.inf, None])
def test_forged_cost_is_not_counted(forged: Any) -> None:
    assert add_report(RunUsage(cost_micros=7), cost=forged).cost_micros == 7


def test_huge_reports_are_bounded() -> None:
    usage = add_report(NO_USAGE, input_tokens=10**400, cost=1e300)
    usage = add_report(usage, input_tokens=10**400, cost=1e300)
    assert usage.input_tokens == MAX_TOKENS
    assert usage.cost_micros == MAX_COST_MICROS
    assert to_micros(10**400) == MAX_COST_MICROS


def test_cost_is_rounded_up_to_millionths() -> None:
    assert to_micros(2.1) == 2_100_000
    assert to_micros(0.0000001) == 1
    assert to_micros(0) == 0


def test_model_is_short_printable_text() -> None:
    assert add_report(NO_USAGE, model="a\x1b[31mb" + "c" * 200).model == "a[31mb" + "c" * 94
    assert add_report(RunUsage(model="known"), model="\n").model == "known"
    assert add_report(NO_USAGE, model=5).model is None


def test_record_keeps_the_usage_with_its_run() -> None:
    usage = RunUsage(1, None, 5, "small", 3)
    write = usage_write("run_1", "group:family", usage, NOW, replacing=2)
    assert (write.record.kind, write.record.key, write.record.owner) == (USAGE_KIND, "run_1", "group:family")
    assert write.replacing == 2
    assert write.record.expires == NOW + USAGE_RETENTION
    assert usage_from(write.record) == usage
