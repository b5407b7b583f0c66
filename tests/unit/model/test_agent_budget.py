"""Budgets: reservation, settlement, days of a zone, texts, and limits as callers write them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model.agents.budget import (
    FLOOR,
    NOTHING,
    Amounts,
    Budget,
    BudgetLimits,
    Reservation,
    Shortage,
    adjust,
    begin_day,
    budget_from,
    budget_record,
    day_in,
    describe_shortage,
    end_of_day,
    estimate,
    find_overdraft,
    format_amount,
    limits_json,
    note_in,
    parse_budget,
    read_limits,
    release,
    reserve,
    settle,
)
from horae.model.agents.usage import NO_USAGE, RunUsage

TODAY = date(2026, 3, 1)


def a_budget(tokens: int | None = None, cost: int | None = None, runs: int | None = None) -> Budget:
    return Budget("family", "group:family", BudgetLimits(tokens, cost, runs), TODAY)


def reserved(budget: Budget, run: str) -> Budget:
    after = reserve(budget, run)
    assert isinstance(after, Budget)
    return after


# --- reservation -------------------------------------------------------------------------------------------------


def test_reservation_holds_room_until_it_is_settled() -> None:
    budget = reserved(a_budget(tokens=1_500), "run_1")
    assert reserve(budget, "run_2") == Shortage("tokens", 0, 1_000, 1_500, 1_000)
    budget = settle(budget, "run_1", RunUsage(100, 50))
    assert budget.used == Amounts(150, FLOOR.cost, 1)
    assert reserved(budget, "run_2").reserved.tokens == 1_000


def test_second_reservation_of_a_run_changes_nothing() -> None:
    budget = reserved(a_budget(runs=1), "run_1")
    assert reserve(budget, "run_1") == budget


def test_runs_of_a_day_are_counted() -> None:
    budget = a_budget(runs=2)
    for number in range(2):
        budget = settle(reserved(budget, f"run_{number}"), f"run_{number}", NO_USAGE)
    assert reserve(budget, "run_3") == Shortage("runs", 2, 0, 2, 1)


def test_estimate_is_the_highest_of_the_last_runs() -> None:
    budget = a_budget(tokens=100_000)
    for number, tokens in enumerate((9_000, 5_000, 4_000, 3_000, 2_500, 2_000)):
        budget = settle(reserved(budget, str(number)), str(number), RunUsage(tokens, cost_micros=0))
    assert estimate(budget).tokens == 5_000
    assert estimate(a_budget()) == FLOOR


def test_estimate_is_at_most_the_limit_so_that_a_small_budget_allows_a_run() -> None:
    budget = a_budget(tokens=10)
    assert reserved(budget, "run_1").reserved.tokens == 10
    spent = settle(reserved(budget, "run_1"), "run_1", RunUsage(1))
    assert isinstance(reserve(spent, "run_2"), Shortage)


def test_budget_of_zero_allows_nothing() -> None:
    assert reserve(a_budget(cost=0), "run_1") == Shortage("cost", 0, 0, 0, 0)


def test_usage_beyond_the_reservation_is_seen_while_the_run_is_live() -> None:
    budget = reserved(reserved(a_budget(tokens=5_000), "run_1"), "run_2")
    budget = adjust(budget, "run_1", RunUsage(3_000))
    assert budget.reserved.tokens == 4_000
    assert find_overdraft(budget) is None
    budget = adjust(budget, "run_1", RunUsage(4_500))
    assert find_overdraft(budget) == Shortage("tokens", 0, 5_500, 5_000, 0)
    assert adjust(budget, "run_1", RunUsage(1)) == budget


# --- settlement --------------------------------------------------------------------------------------------------


def test_unreported_amounts_are_charged_as_reserved() -> None:
    budget = settle(reserved(a_budget(tokens=5_000), "run_1"), "run_1", NO_USAGE)
    assert budget.used == FLOOR
    assert budget.recent == (Amounts(0, 0, 1),)


def test_model_without_a_price_is_charged_at_least_as_reserved() -> None:
    budget = reserved(a_budget(cost=10_000_000), "run_1")
    floor = FLOOR.cost
    assert settle(budget, "run_1", RunUsage(1, 1, 5, unpriced="new")).used.cost == floor
    assert settle(budget, "run_1", RunUsage(1, 1, floor + 5, unpriced="new")).used.cost == floor + 5
    assert settle(budget, "run_1", RunUsage(1, 1, 5)).used.cost == 5


def test_settlement_is_idempotent() -> None:
    budget = settle(reserved(a_budget(tokens=5_000), "run_1"), "run_1", RunUsage(5, 5, 5))
    assert settle(budget, "run_1", RunUsage(5, 5, 5)) == budget


def test_dead_run_is_charged_what_it_is_known_to_have_used() -> None:
    budget = reserved(reserved(a_budget(tokens=5_000), "run_1"), "run_2")
    after = release(budget, "run_1", RunUsage(40))
    assert after.used == Amounts(40, 0, 1)
    assert [each.run for each in after.reservations] == ["run_2"]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["reserve", "settle", "release"]), st.integers(0, 3_000))),
    st.integers(0, 10_000),
)
def test_reservations_never_exceed_the_limit(steps: list[tuple[int, str, int]], limit: int) -> None:
    budget = a_budget(tokens=limit, runs=4)
    for number, step, tokens in steps:
        run = f"run_{number}"
        if step == "reserve":
            after = reserve(budget, run)
            if any(each.run == run for each in budget.reservations):
                assert after == budget
            elif isinstance(after, Budget):
                assert after.used.plus(after.reserved).tokens <= limit
                assert after.used.plus(after.reserved).runs <= 4
                budget = after
        elif step == "settle":
            budget = settle(budget, run, RunUsage(tokens))
        else:
            known = any(each.run == run for each in budget.reservations)
            budget = release(budget, run, RunUsage(tokens)) if known else budget
        assert min(*budget.used, *budget.reserved) >= 0


# --- days --------------------------------------------------------------------------------------------------------


def test_next_day_clears_what_was_used_and_keeps_live_reservations() -> None:
    budget = reserved(settle(reserved(a_budget(runs=2), "run_1"), "run_1", NO_USAGE), "run_2")
    tomorrow = begin_day(budget, date(2026, 3, 2))
    assert tomorrow.used == NOTHING
    assert tomorrow.reserved.runs == 1
    assert begin_day(tomorrow, TODAY) == tomorrow


def test_day_is_that_of_the_zone() -> None:
    evening = datetime(2026, 3, 1, 17, tzinfo=UTC)
    assert day_in("UTC", evening) == TODAY
    assert day_in("Asia/Shanghai", evening) == date(2026, 3, 2)
    assert end_of_day("UTC", evening) == datetime(2026, 3, 2, tzinfo=UTC)
    assert end_of_day("Asia/Shanghai", evening) == datetime(2026, 3, 2, 16, tzinfo=UTC)


def test_day_without_midnight_begins_after_the_gap() -> None:
    # In Beirut the clock goes from midnight of the last Sunday in March to 01:00.
    at = end_of_day("Asia/Beirut", datetime(2024, 3, 30, 12, tzinfo=UTC))
    assert at == datetime(2024, 3, 30, 22, tzinfo=UTC)
    assert day_in("Asia/Beirut", at) == date(2024, 3, 31)


# --- texts -------------------------------------------------------------------------------------------------------


def test_note_has_the_numbers_in_both_languages() -> None:
    until = datetime(2026, 3, 1, 16, tzinfo=UTC)
    note = describe_shortage(Shortage("tokens", 199_500, 0, 200_000, 1_000), "family", until, "Asia/Shanghai")
    assert note == (
        "Budget of 'family', tokens per day: 199,500 used, 0 reserved, 200,000 allowed, about 1,000 needed. "
        "The next day begins at 2026-03-02 00:00 (Asia/Shanghai)."
    )
    assert note_in("en", note) == note
    assert note_in("zh", note) == (
        "“family”的每日预算（token 数）：已用 199,500，预留 0，上限 200,000，约需 1,000。"
        "新的一天从 2026-03-02 00:00 (Asia/Shanghai) 开始。"
    )
    own = describe_shortage(Shortage("cost", 2_500_000, 0, 2_500_000, 1), None, until, "UTC")
    assert "Budget of the task, cost per day: $2.50 used, $0.00 reserved, $2.50 allowed, about $0.000001" in own
    assert note_in("zh", own).startswith("该任务的每日预算（费用）：已用 $2.50")
    assert note_in("zh", "another text") == "another text"


def test_amounts_are_formatted_for_people() -> None:
    assert format_amount("runs", 1_200) == "1,200"
    assert format_amount("cost", 1_234_500_000) == "$1,234.50"


# --- limits ------------------------------------------------------------------------------------------------------


def test_limits_as_a_caller_writes_them() -> None:
    values = parse_budget(("tokens=200_000/day", "Cost = $2.5 / day", "runs=none"))
    assert values == {"tokens": 200_000, "cost": 2.5, "runs": None}
    limits = read_limits(values, BudgetLimits(runs=5))
    assert limits == BudgetLimits(200_000, 2_500_000, None)
    assert limits_json(limits) == {"tokens": 200_000, "cost": 2.5, "runs": None}
    assert limits_json(BudgetLimits()) == {"tokens": None, "cost": None, "runs": None}
    assert read_limits({}, limits) == limits


@pytest.mark.parametrize("text", ["tokens", "tokens=", "=5", "tokens=5/hour", "tokens=many", "tokens=1 2"])
def test_other_text_is_no_budget(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_budget((text,))
    assert refused.value.code == "bad_budget"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (5, "bad_policy"),
        ({"minutes": 5}, "bad_choice"),
        ({"tokens": -1}, "bad_number"),
        ({"tokens": 2.5}, "bad_number"),
        ({"tokens": True}, "bad_number"),
        ({"tokens": "5"}, "bad_number"),
        ({"tokens": 10**12}, "bad_number"),
        ({"cost": -0.5}, "bad_number"),
        ({"cost": float("nan")}, "bad_number"),
        ({"cost": float("inf")}, "bad_number"),
        ({"cost": 1e300}, "bad_number"),
        ({"runs": 100_000}, "bad_number"),
    ],
)
def test_bad_limit_is_refused(values: Any, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_limits(values)
    assert refused.value.code == code


def test_record_keeps_the_whole_budget() -> None:
    budget = Budget(
        "family",
        "group:family",
        BudgetLimits(5, None, 7),
        TODAY,
        Amounts(1, 2, 3),
        (Reservation("run_1", Amounts(4, 5, 6)),),
        (Amounts(7, 8, 9),),
        TODAY,
        3,
    )
    assert budget_from(budget_record(budget)) == budget
    assert budget_from(budget_record(budget._replace(notice_day=None))).notice_day is None
