"""Gates as docs/behaviour.md describes them, through the library in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from horae import Context, Fail, Horae, InvalidTask, Refusal, Retry, Skip, after
from horae.model.accounts.principal import LOCAL
from horae.model.change import Facts
from horae.model.gate import GATE_DATA_BYTES, GATE_STATE_BYTES, GATE_STATE_KIND, MAX_GATE_FAILURES
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import PauseCause, TaskState
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import NOON, render_ledger

OPEN = {"run": True}
CLOSED = {"run": False, "reason": "nothing new"}


class World:
    """A task `work` with a gate: `answers` are the verdicts of the gate, in order, the last one again and again."""

    def __init__(self, *answers: Any, when: Any = "0 * * * *", **policies: Any) -> None:
        self.app = Horae("memory://", zone="UTC")
        self.answers = list(answers)
        self.states: list[Any] = []
        """States that the gate was given."""
        self.gates: list[Any] = []
        """Data that the target was given."""
        self.target: Callable[[Context], Any] = lambda _ctx: None
        self.reached = 0

        async def check(state: Any = None) -> Any:
            self.reached += 1
            self.states.append(state)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, BaseException):
                raise answer
            return await answer() if callable(answer) else answer

        async def work(ctx: Context) -> Any:
            self.gates.append(ctx.gate)
            return self.target(ctx)

        self.check = self.app.task(name="check")(check)
        self.work = self.app.task(when, name="work", gate=policies.pop("gate", self.check), **policies)(work)

    def travel(self) -> TimeTravel:
        return TimeTravel(self.app, NOON, zone="UTC")


def ledger(time: TimeTravel, world: World) -> list[str]:
    return render_ledger(time, time.run(world.app.get("work")))


def state_of(time: TimeTravel, world: World) -> str | None:
    task = time.run(world.app.get("work"))
    record = time.run(world.app.store.get_record(GATE_STATE_KIND, task.id))
    return None if record is None else record.body


async def sleep_an_hour() -> Any:
    await asyncio.sleep(3600)  # noqa: TID251 - virtual time


def test_open_gate_gives_its_data_to_the_target() -> None:
    world = World({"run": True, "data": {"mails": [1, 2]}})
    with world.travel() as time:
        time.travel("1h1m")
        assert ledger(time, world) == ["13:00 succeeded"]
        assert world.gates == [{"mails": [1, 2]}]


def test_wake_agent_is_another_name_of_run() -> None:
    world = World({"wakeAgent": True, "data": 7}, {"wakeAgent": False})
    with world.travel() as time:
        time.travel("2h1m")
        assert ledger(time, world) == ["13:00 succeeded", "14:00 skipped gate_closed"]
        assert world.gates == [7]


def test_closed_gate_skips_the_run_with_its_words() -> None:
    world = World(CLOSED, give_up_after=1)
    with world.travel() as time:
        time.travel("3h1m")
        assert ledger(time, world) == [f"{hour}:00 skipped gate_closed" for hour in (13, 14, 15)]
        task = time.run(world.app.get("work"))
        assert [run.error for run in time.runs(task)] == ["nothing new"] * 3
        assert "Its words: nothing new" in str(time.run(task.why()))
        facts = time.run(world.app.service.tasks.get(world.app.who, task.id))
        assert (facts.status.state, facts.status.failures) == (TaskState.ACTIVE, 0)
        assert world.gates == []


def test_skip_of_a_gate_function_closes_it() -> None:
    world = World(Skip("quiet"))
    with world.travel() as time:
        time.travel("1h1m")
        assert ledger(time, world) == ["13:00 skipped gate_closed"]


def test_failing_gate_backs_off_and_its_stretch_is_one_row() -> None:
    world = World(*[ValueError("boom")] * 6, OPEN, give_up_after=1)
    with world.travel() as time:
        time.travel("1h1m")
        task = time.run(world.app.get("work"))
        why = str(time.run(task.why()))
        assert "boom" in why
        assert "failed 1 time in a row" in why
        time.travel("4h")
        runs = sorted(time.runs(task), key=lambda run: (run.planned, run.attempt))
        waits = [later.due - earlier.ended for earlier, later in pairwise(runs[:7]) if earlier.ended]
        assert waits == [timedelta(minutes=minutes) for minutes in (2, 4, 8, 16, 32, 60)]
        assert [(run.attempt, run.reason) for run in runs[:6]] == [(n, Reason.GATE_FAILED) for n in range(1, 7)]
        assert (runs[6].state, runs[6].tries) == (RunState.SUCCEEDED, 1)
        stretch = runs[7]
        assert (stretch.state, stretch.reason) == (RunState.SKIPPED, Reason.GATE_FAILED)
        assert stretch.span is not None
        assert stretch.span.count == 2
        assert [run.state for run in runs[8:]] == [RunState.SUCCEEDED, RunState.SUCCEEDED]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (sleep_an_hour, "no answer within 30 s"),
        (None, "no verdict"),
        ("hello", "no verdict"),
        ({"data": 1}, "not true or false"),
        ({"run": 1}, "not true or false"),
        ({"run": True, "data": "x" * (GATE_DATA_BYTES - 40)}, ""),
        ({"run": True, "data": "x" * GATE_DATA_BYTES}, "too large"),
        ({"run": True, "state": "x" * GATE_STATE_BYTES}, f"at most {GATE_STATE_BYTES} are allowed"),
    ],
    ids=["timeout", "nothing", "text", "no run", "number", "largest", "data too large", "state too large"],
)
def test_answers_that_are_no_verdict(answer: Any, words: str) -> None:
    world = World(answer)
    with world.travel() as time:
        time.travel("1h1m")
        (run,) = time.runs(time.run(world.app.get("work")))
        assert run.state is (RunState.SKIPPED if words else RunState.SUCCEEDED)
        assert words in (run.error or "")
        assert run.reason is (Reason.GATE_FAILED if words else None)


async def open_slowly() -> Any:
    await asyncio.sleep(20)  # noqa: TID251 - virtual time
    return OPEN


async def work_for_an_hour() -> None:
    await asyncio.sleep(3600)  # noqa: TID251 - virtual time


def test_answer_beyond_the_quota_of_the_owner_is_no_verdict() -> None:
    world = World({"run": True, "data": "x" * 100})
    with world.travel() as time:
        time.run(world.app.service.accounts.put(LOCAL, "local", quotas={"gate_bytes": 50}))
        time.travel("1h1m")
        (run,) = time.runs(time.run(world.app.get("work")))
        assert (run.reason, world.gates) == (Reason.GATE_FAILED, [])
        assert "horae owner set local --quota gate_bytes=102" in str(run.error)
        time.run(world.app.service.accounts.put(LOCAL, "local", quotas={"gate_bytes": 102}))
        time.travel("2m")
        assert world.gates == ["x" * 100]


def test_gate_may_take_longer_than_the_silence_of_the_target() -> None:
    world = World(open_slowly, timeout="5s")
    with world.travel() as time:
        time.travel("1h1m")
        assert ledger(time, world) == ["13:00 succeeded"]


def test_timeout_of_the_target_begins_when_the_gate_is_open() -> None:
    world = World(open_slowly, timeout="5s", retries=0)
    late = world.app.task("0 * * * *", name="late", gate=world.check, timeout="5s", retries=0)(work_for_an_hour)
    with world.travel() as time:
        time.travel("1h1m")
        (run,) = time.runs(time.run(world.app.get(late.name)))
        assert run.state is RunState.TIMED_OUT
        assert run.ended is not None
        assert run.ended - run.planned == timedelta(seconds=25)


def test_task_is_paused_after_eight_failures_and_resumes_with_a_fresh_counter() -> None:
    world = World(ValueError("boom"))
    with world.travel() as time:
        time.travel("6h")
        task = time.run(world.app.get("work"))
        facts = time.run(world.app.service.tasks.get(world.app.who, task.id))
        assert facts.status.pause is not None
        assert facts.status.pause.cause is PauseCause.GATE_FAILED
        assert "boom" in facts.status.pause.note
        assert facts.status.failures == 0
        assert world.reached == MAX_GATE_FAILURES
        stretch = [run for run in time.runs(task) if run.span is not None]
        assert [(run.reason, run.span.count) for run in stretch if run.span] == [(Reason.GATE_FAILED, 3)]
        assert "gate failed" in str(time.run(task.why()))
        time.run(task.resume())
        time.travel("1h")
        assert world.reached > MAX_GATE_FAILURES
        facts = time.run(world.app.service.tasks.get(world.app.who, task.id))
        assert facts.status.state is TaskState.ACTIVE


def test_retry_of_the_target_keeps_the_verdict() -> None:
    world = World({"run": True, "data": "first", "state": 1}, {"run": True, "data": "second", "state": 2})
    failures = [Retry("30s"), Retry("30s")]

    def target(_ctx: Context) -> None:
        if failures:
            raise failures.pop()

    world.target = target
    with world.travel() as time:
        time.travel("1h50m")
        assert world.gates == ["first"] * 3
        assert world.reached == 1
        assert state_of(time, world) == "1"


def test_state_is_kept_after_a_success_and_after_a_closed_gate() -> None:
    world = World({"run": True, "state": {"n": 1}}, {"run": False, "state": {"n": 2}}, OPEN)
    with world.travel() as time:
        time.travel("3h1m")
        assert world.states == [None, {"n": 1}, {"n": 2}]
        assert state_of(time, world) == '{"n":2}'


def test_state_of_a_run_that_failed_is_dropped() -> None:
    world = World({"run": True, "state": 1}, OPEN)

    def target(_ctx: Context) -> None:
        raise Fail("it broke")

    world.target = target
    with world.travel() as time:
        time.travel("2h1m")
        assert world.states == [None, None]
        assert state_of(time, world) is None


def test_state_is_deleted_with_its_task() -> None:
    world = World({"run": False, "state": 1})
    with world.travel() as time:
        time.travel("1h1m")
        task = time.run(world.app.get("work"))
        assert state_of(time, world) == "1"
        time.run(world.app.service.tasks.delete(world.app.who, task.id))
        assert time.run(world.app.store.get_record(GATE_STATE_KIND, task.id)) is None


def test_gate_without_state_keeps_none() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="check")(lambda: {"run": True, "state": 1})
    app.task("0 * * * *", name="work", overlap="parallel", gate={"function": "check", "state": False})(lambda: None)
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        task = time.run(app.get("work"))
        assert render_ledger(time, task) == ["13:00 succeeded"]
        assert time.run(app.store.get_record(GATE_STATE_KIND, task.id)) is None


async def test_state_and_parallel_runs_are_refused() -> None:
    async with Horae("memory://", zone="UTC", engine=False) as app:
        with pytest.raises(InvalidTask, match="overlap is parallel"):
            await app.schedule({"say": "hi"}, "every 1h", overlap="parallel", gate={"command": ["true"]})


def test_at_most_once_tries_a_failed_gate_again() -> None:
    world = World(ValueError("boom"), OPEN, guarantee="at_most_once")
    with world.travel() as time:
        time.travel("1h5m")
        assert ledger(time, world) == ["13:00 skipped gate_failed", "13:00 succeeded"]


def test_requested_run_asks_the_gate_too() -> None:
    world = World(CLOSED)
    with world.travel() as time:
        task = time.run(world.app.get("work"))
        time.run(task.run_now())
        time.travel("1m")
        assert ledger(time, world) == ["12:00 skipped gate_closed"]


def test_requested_run_starts_while_the_gate_of_the_schedule_fails() -> None:
    world = World(ValueError("boom"), OPEN, ValueError("boom"))
    with world.travel() as time:
        time.travel("1h1m")
        time.run(time.run(world.app.get("work")).run_now())
        time.travel("10s")
        assert RunState.SUCCEEDED in {run.state for run in time.runs(time.run(world.app.get("work")))}


def test_backfill_runs_one_by_one_through_the_gate() -> None:
    world = World(OPEN, ValueError("boom"), OPEN)
    with world.travel() as time:
        task = time.run(world.app.get("work"))
        time.run(task.backfill(datetime(2026, 3, 1, 8, 30, tzinfo=UTC), datetime(2026, 3, 1, 11, 30, tzinfo=UTC)))
        time.travel("1m")
        states = [run.state for run in time.runs(task)]
        assert states.count(RunState.SUCCEEDED) == 1
        assert states.count(RunState.SKIPPED) == 1
        time.travel("2m")
        assert [run.state for run in time.runs(task)].count(RunState.SUCCEEDED) == 3


def test_closed_gate_of_a_link_starts_no_successor() -> None:
    world = World(CLOSED, when=after("first"))
    ran: list[str] = []
    world.app.task("0 * * * *", name="first")(lambda: None)
    world.app.task(after("work"), name="last")(lambda: ran.append("last"))
    with world.travel() as time:
        time.travel("1h1m")
        assert ledger(time, world) == ["13:00 skipped gate_closed"]
        assert ran == []


def test_chained_occurrence_is_skipped_while_the_gate_fails() -> None:
    world = World(ValueError("boom"), ValueError("boom"), OPEN, when=after("first"))
    world.app.task("*/5 * * * *", name="first")(lambda: None)
    with world.travel() as time:
        time.travel("13m")
        reasons = [(run.state, run.reason) for run in time.runs(time.run(world.app.get("work")))]
        assert (RunState.SUCCEEDED, None) in reasons
        assert reasons.count((RunState.SKIPPED, Reason.GATE_FAILED)) == 3


def test_node_killed_during_the_gate_asks_it_again() -> None:
    world = World(sleep_an_hour, OPEN)
    with world.travel() as time:
        time.travel("1h10s")
        time.crash()
        time.travel("2m")
        time.restart()
        time.travel("1m")
        assert ledger(time, world) == ["13:00 lost lease_lost", "13:00 succeeded"]


def test_at_most_once_survives_the_death_of_its_node_during_the_gate() -> None:
    world = World(sleep_an_hour, OPEN, guarantee="at_most_once")
    with world.travel() as time:
        time.travel("1h10s")
        assert ledger(time, world) == ["13:00 claimed"]
        time.crash()
        time.travel("2m")
        time.restart()
        time.travel("1m")
        assert ledger(time, world) == ["13:00 lost lease_lost", "13:00 succeeded"]
        assert len(world.gates) == 1


def test_at_most_once_is_lost_when_its_node_dies_after_the_gate() -> None:
    world = World(OPEN, guarantee="at_most_once")
    world.app.task("0 * * * *", name="long", gate=world.check, guarantee="at_most_once")(work_for_an_hour)
    with world.travel() as time:
        time.travel("1h10s")
        time.crash()
        time.travel("2m")
        time.restart()
        time.travel("1m")
        assert render_ledger(time, time.run(world.app.get("long"))) == ["13:00 lost lease_lost"]


def test_at_most_once_with_a_closed_gate_has_not_started() -> None:
    world = World({"run": False, "state": 1}, {"run": True}, guarantee="at_most_once")
    with world.travel() as time:
        time.travel("2h1m")
        assert ledger(time, world) == ["13:00 skipped gate_closed", "14:00 succeeded"]
        closed, opened = sorted(time.runs(time.run(world.app.get("work"))), key=lambda run: run.planned)
        assert closed.started is None
        assert opened.started is not None
        assert opened.started - opened.planned < timedelta(seconds=1)
        assert world.states == [None, 1]


def facts_of(time: TimeTravel, world: World) -> Facts:
    return time.run(world.app.service.tasks.get(world.app.who, time.run(world.app.get("work")).id))


def check_gate(time: TimeTravel, world: World) -> Run:
    handle = time.run(time.run(world.app.get("work")).run_now(gate_only=True))
    time.travel("1m")
    return time.run(handle.get())


@pytest.mark.parametrize("guarantee", ["at_least_once", "at_most_once"])
def test_check_of_a_gate_shows_its_verdict_and_changes_nothing(guarantee: str) -> None:
    opening = {"run": True, "data": [1], "state": 5, "reason": "one mail"}
    answers = (opening, CLOSED, ValueError("boom"), sleep_an_hour, OPEN)
    world = World(*answers, guarantee=guarantee)
    with world.travel() as time:
        before = facts_of(time, world)
        opened, closed, failed, silent = (check_gate(time, world) for _ in range(4))
        assert {run.reason for run in (opened, closed, failed, silent)} == {Reason.GATE_CHECKED}
        assert silent.error == "it gave no answer within 30 s"
        assert opened.result == {"run": True, "reason": "one mail", "state": 5, "data": [1]}
        assert (closed.result["run"], closed.error) == (False, "nothing new")
        assert failed.result is None
        assert (failed.error or "").startswith("ValueError: boom")
        assert world.states == [None] * 4
        assert world.gates == []
        assert state_of(time, world) is None
        assert facts_of(time, world) == before
        assert "check of the gate" in str(time.run(time.run(world.app.get("work")).why()))
        time.travel("1h")
        assert len(world.gates) == 1


def test_check_of_a_gate_and_a_run_do_not_wait_for_each_other() -> None:
    world = World(open_slowly, open_slowly, {"run": True, "data": "work"}, when="* * * * *")
    with world.travel() as time:
        time.travel("55s")
        task = time.run(world.app.get("work"))
        check = time.run(task.run_now(gate_only=True))
        time.travel("1s")
        request = time.run(task.run_now())
        time.travel("1s")
        assert time.run(check.get()).state is time.run(request.get()).state is RunState.RUNNING
        time.travel("1m")
        assert time.run(check.get()).reason is Reason.GATE_CHECKED
        assert time.run(request.get()).state is RunState.SUCCEEDED


def test_check_of_a_gate_during_its_back_off_leaves_it_alone() -> None:
    world = World(ValueError("boom"), OPEN, ValueError("boom"))
    with world.travel() as time:
        time.travel("1h10s")
        before = facts_of(time, world)
        assert check_gate(time, world).result["run"] is True
        assert facts_of(time, world).entries == before.entries
        time.travel("2m")
        assert [run.reason for run in time.runs(time.run(world.app.get("work")))].count(Reason.GATE_FAILED) == 2


def test_check_of_a_gate_whose_node_died_is_not_repeated() -> None:
    world = World(sleep_an_hour, OPEN)
    with world.travel() as time:
        task = time.run(world.app.get("work"))
        handle = time.run(task.run_now(gate_only=True))
        time.travel("10s")
        time.crash()
        time.travel("2m")
        time.restart()
        time.travel("1m")
        assert ledger(time, world) == ["12:00 lost lease_lost"]
        with pytest.raises(Refusal, match="lost"):
            time.run(handle.retry())
        assert world.gates == []


def test_requests_for_checks_of_a_gate_are_bounded_and_a_removed_gate_calls_nothing() -> None:
    world = World(OPEN)
    with world.travel() as time:
        task = time.run(world.app.schedule({"say": "hi"}, "in 1d", gate=world.check))
        time.crash()
        handle = time.run(task.run_now(gate_only=True))
        with pytest.raises(Refusal, match="requested already"):
            time.run(task.run_now(gate_only=True))
        time.run(task.run_now())
        time.run(task.edit(gate="never"))
        time.restart()
        time.travel("1m")
        run = time.run(handle.get())
        assert (run.reason, run.error) == (Reason.GATE_CHECKED, "the task has no gate any more")
        assert len([run for run in time.runs(task) if run.state is RunState.SUCCEEDED]) == 1
        with pytest.raises(Refusal, match="no gate to check"):
            time.run(task.run_now(gate_only=True))


def test_run_cancelled_during_the_gate_ends() -> None:
    world = World(sleep_an_hour, OPEN)
    with world.travel() as time:
        time.travel("1h10s")
        (run,) = time.runs(time.run(world.app.get("work")))
        time.run(world.app.service.runs.cancel(world.app.who, run.id))
        time.travel("20s")
        assert ledger(time, world) == ["13:00 cancelled cancelled"]
        assert world.gates == []


def test_edit_that_removes_the_gate_lets_the_task_go_on() -> None:
    world = World(ValueError("boom"), when="*/5 * * * *")
    with world.travel() as time:
        time.travel("6m")
        task = time.run(world.app.get("work"))
        time.run(task.edit(gate="never"))
        time.travel("10m")
        assert RunState.SUCCEEDED in {run.state for run in time.runs(task)}
