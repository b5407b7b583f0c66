"""Random plans over a year of virtual time: fire times, counters and states are those of the oracle, which was written from
the document alone."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.plans.codes import PlanState
from horae.model.plans.plan import Plan, policies_of, schedule_of
from horae.model.policy import Policies
from tests.sizes import sized
from tests.unit.lifecycle import plan_world
from tests.unit.lifecycle.plan_oracle import Oracle
from tests.unit.lifecycle.plan_world import Answer, PlanWorld

BEGIN = datetime(2026, 3, 1, 12, 0, 0, 250_000, UTC)
YEAR = timedelta(days=365)
STATES = {
    PlanState.QUEUED: "queued",
    PlanState.RETRYING: "queued",
    PlanState.SKIPPING: "queued",
    PlanState.ERROR: "error",
    PlanState.CLOSED: "closed",
}
UNITS = {"second": (1, 100), "minute": (1, 500), "hour": (1, 100), "day": (1, 60)}


def random_plan(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["none", "time", "second", "minute", "hour", "day", "week", "month"])
    now = int(BEGIN.timestamp())
    plan: dict[str, Any] = {"plan_type": kind, "plan_value": 0, "plan_repet": rng.choice([0, 1, 2, 5, 40])}
    plan |= {"station": "api", "command": "run", "no_keep": rng.random() < 0.5, "plan_time": 0}
    if kind in UNITS:
        low, high = UNITS[kind]
        plan["plan_value"] = rng.randint(low, high)
        if kind == "day" and rng.random() < 0.5:
            plan["plan_repet"] = -1
    elif kind == "week":
        plan |= {"plan_value": rng.randint(0, 6), "plan_repet": rng.choice([-1, 1, 7, 40])}
    elif kind == "month":
        plan |= {"plan_value": rng.randint(-31, 31), "plan_repet": rng.choice([-1, 1, 5])}
    span = {"second": 500, "minute": 20_000, "hour": 500_000}.get(kind, 5_000_000)
    if rng.random() < 0.6:
        plan["plan_time"] = now + rng.randint(-span, span)
    if kind not in ("none", "time") and rng.random() < 0.4:
        most = 6 if plan["plan_repet"] < 0 else max(plan["plan_repet"] - 1, 0)
        plan["skip_set"] = rng.choice([-1, rng.randint(0, max(0, min(most, 6)))])
    return plan


def random_station(seed: int, kind: str) -> Any:
    longest = {"second": 30.0, "minute": 2_000.0}.get(kind, 20_000.0)

    def answer(occurrence: int, attempt: int) -> Answer:
        rng = random.Random(f"{seed}/{occurrence}/{attempt}")
        is_ok = rng.random() < (0.8 if seed % 3 else 0.3)
        # No execution ends in the very instant at which the next one is due.
        takes = int(rng.random() ** 4 * longest) + rng.choice([0.1, 0.3, 0.6])
        return Answer(is_ok, timedelta(seconds=takes))

    return answer


def difference(seed: int) -> str:
    """Return what differs between the plan of a seed and its oracle; empty: nothing."""
    rng = random.Random(seed)
    plan = random_plan(rng)
    station = random_station(seed, plan["plan_type"])
    world = PlanWorld(plan, BEGIN, station)
    world.run_until(BEGIN + YEAR, most=5_000)

    def outcome(occurrence: int, attempt: int) -> tuple[bool, float]:
        answer = station(occurrence, attempt)
        return answer.is_ok, answer.takes.total_seconds()

    oracle = Oracle(plan, BEGIN.timestamp(), outcome)
    oracle.run_until((BEGIN + YEAR).timestamp())
    # An execution that goes on at the end of the year is left out.
    expected = [(at, round(start, 3)) for at, start in oracle.executions if start <= (BEGIN + YEAR).timestamp()]
    if [(at, round(start, 3)) for at, start in world.executions] != expected:
        return f"executions of {plan}: {world.executions[:9]}, {expected[:9]}"
    shown = [(STATES[each.state], *each[1:5]) for each in world.trace]
    if shown != [tuple(each) for each in oracle.trace[: len(shown)]]:
        return f"counters of {plan}: {shown[:9]}, {oracle.trace[:9]}"
    final = world.status
    if len(shown) == len(oracle.trace) and (STATES[final.state], *final[1:4]) != tuple(oracle.shown)[:4]:
        return f"end of {plan}: {final}, {oracle.shown}"
    return ""


@pytest.mark.parametrize("part", range(4))
def test_random_plans_agree_with_the_document(part: int) -> None:
    """「任务执行时间计算」, 「执行计划」, 「执行结果检查」: the oracle follows these sections and nothing else."""
    for seed in range(part, sized(400, soak=20_000), 4):
        assert difference(seed) == "", seed


def _superseded(plan: Plan) -> Policies:
    policies = policies_of(plan)
    return replace(policies, retry=replace(policies.retry, superseded_by_next=True))


def _three_executions(plan: Plan) -> Policies:
    policies = policies_of(plan)
    return replace(policies, retry=replace(policies.retry, attempts=3))


DEFECTS: dict[str, tuple[str, Any]] = {
    "the next occurrence ends a waiting retry": ("policies_of", _superseded),
    "three executions instead of four": ("policies_of", _three_executions),
    "a plan is born without a past": ("past_of_plan", lambda *_: None),
    "instants before the receipt are executed": ("begin_plan", lambda change, *_: change),
    "skips are forgotten": ("skips_of", lambda *_: 0),
    "the first delay begins at the time itself": ("schedule_of", lambda plan: schedule_of(plan, is_running=True)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, replacement = DEFECTS[defect]
    monkeypatch.setattr(plan_world, name, replacement)
    assert any(difference_or_failure(seed) for seed in range(200))


def difference_or_failure(seed: int) -> str:
    try:
        return difference(seed)
    except (Refusal, AssertionError, KeyError) as failure:
        return str(failure) or "failed"
