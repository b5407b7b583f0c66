"""The runner: an outcome always, deadlines by silence, ends when asked to, and what is let go of is never settled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any, cast

import pytest

from horae.engine import watch as watch_module
from horae.engine.carried import Carried
from horae.engine.engine import Engine
from horae.lifecycle.recover import release
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded, Waiting
from horae.model.principal import LOCAL
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import Target, Task
from horae.ports.target import Invocation
from horae.service.tasks import Tasks
from horae.simulation.virtual import VirtualClock
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from tests.unit.engine.stage import (
    SETTINGS,
    Door,
    Obedient,
    add,
    an_engine,
    as_store,
    endless,
    runs_of,
    until,
    virtually,
)

Act = Callable[[Invocation], Awaitable[Outcome]]


async def carried_once(clock: VirtualClock, act: Act, seconds: float = 1_000, **policies: Any) -> Run:
    """One task, one attempt, from its instant to its row."""
    store = Door()
    engine = an_engine(store, Obedient(act), clock)
    task = await add(store, NOON, clock.now(), guarantee="at_most_once", **policies)
    await engine.start()
    await clock.pause(seconds)
    await engine.stop()
    (run,) = await runs_of(store, task)
    return run


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Succeeded('"done"'), RunState.SUCCEEDED),
        (Failed("broken"), RunState.FAILED),
        (Skipped("nothing new"), RunState.SKIPPED),
        (Waiting(NOON + HOUR), RunState.WAITING),
    ],
)
def test_what_the_target_says_is_recorded(outcome: Outcome, state: RunState) -> None:
    async def act(_: Invocation) -> Outcome:
        return outcome

    async def scene(clock: VirtualClock) -> Run:
        return await carried_once(clock, act, seconds=1)

    assert virtually(scene).state is state


@pytest.mark.parametrize("error", [ValueError("no such thing"), SystemExit(3), asyncio.CancelledError()])
def test_a_target_that_raises_has_failed(error: BaseException) -> None:
    async def act(_: Invocation) -> Outcome:
        raise error

    async def scene(clock: VirtualClock) -> Run:
        return await carried_once(clock, act, seconds=1)

    run = virtually(scene)
    assert (run.state, run.reason) == (RunState.FAILED, Reason.TARGET_FAILED)
    assert run.error is not None
    assert str(error) in run.error


def test_a_target_that_answers_nonsense_has_failed() -> None:
    async def act(_: Invocation) -> Outcome:
        return cast("Outcome", None)

    async def scene(clock: VirtualClock) -> Run:
        return await carried_once(clock, act, seconds=1)

    run = virtually(scene)
    assert (run.state, run.error) == (RunState.FAILED, "the target answered with NoneType, which is no outcome")


def test_a_kind_of_target_that_nobody_knows() -> None:
    async def scene(clock: VirtualClock) -> Run:
        store = Door()
        engine = Engine(as_store(store), {}, clock, SETTINGS, version="1", home="here/1")
        task = await add(store, NOON, clock.now(), guarantee="at_most_once")
        await engine.start()
        await clock.pause(1)
        await engine.stop()
        (run,) = await runs_of(store, task)
        return run

    run = virtually(scene)
    assert (run.state, run.reason) == (RunState.FAILED, Reason.TARGET_UNKNOWN)


# --- deadlines -----------------------------------------------------------------------------------------------------------


def test_silence_is_a_timeout_to_the_second() -> None:
    async def scene(clock: VirtualClock) -> Run:
        return await carried_once(clock, endless, timeout=30 * SECOND)

    run = virtually(scene)
    assert (run.state, run.reason, run.error) == (RunState.TIMED_OUT, Reason.DEADLINE, "silent for 30 s")
    assert run.ended == NOON + 30 * SECOND


@pytest.mark.parametrize("sign", ["heartbeat", "progress"])
def test_signs_of_life_move_the_deadline(sign: str) -> None:
    async def scene(clock: VirtualClock) -> Run:
        async def act(invocation: Invocation) -> Outcome:
            for _ in range(4):
                await clock.pause(20)
                if sign == "heartbeat":
                    invocation.heartbeat()
                else:
                    invocation.progress(0.5, "halfway")
                assert invocation.deadline == clock.now() + 30 * SECOND
            await endless(invocation)
            return Succeeded()

        return await carried_once(clock, act, timeout=30 * SECOND)

    run = virtually(scene)
    assert (run.state, run.ended) == (RunState.TIMED_OUT, NOON + (4 * 20 + 30) * SECOND)


def test_the_whole_is_bounded_whatever_it_says() -> None:
    async def scene(clock: VirtualClock) -> Run:
        async def act(invocation: Invocation) -> Outcome:
            while True:
                await clock.pause(1)
                invocation.heartbeat()

        return await carried_once(clock, act, timeout=30 * SECOND, max_duration=MINUTE)

    run = virtually(scene)
    assert (run.state, run.ended, run.error) == (RunState.TIMED_OUT, NOON + MINUTE, "not over after 60 s")


def test_deadlines_that_differ_are_all_kept() -> None:
    async def scene(clock: VirtualClock) -> dict[float, float]:
        store = Door()
        engine = an_engine(store, Obedient(endless), clock)
        tasks = {}
        for seconds in (50, 7, 400, 7, 90):
            task = await add(store, NOON, clock.now(), guarantee="at_most_once", timeout=seconds * SECOND)
            tasks[task.id] = seconds
        await engine.start()
        await clock.pause(500)
        await engine.stop()
        return {
            tasks[run.task_id]: (run.ended - NOON).total_seconds()
            for run in await runs_of(store)
            if run.ended is not None
        }

    assert virtually(scene) == {50: 50, 7: 7, 400: 400, 90: 90}


def test_one_timer_watches_over_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(clock: VirtualClock) -> int:
        looks = 0
        look = watch_module.Watch._look

        def counted(watch: watch_module.Watch) -> None:
            nonlocal looks
            looks += 1
            look(watch)

        monkeypatch.setattr(watch_module.Watch, "_look", counted)
        store = Door()
        engine = an_engine(store, Obedient(endless), clock)
        for _ in range(100):
            await add(store, NOON, clock.now(), guarantee="at_most_once", timeout=30 * SECOND)
        await engine.start()
        await clock.pause(40)
        assert engine.runner.going == 0
        await engine.stop()
        return looks

    assert virtually(scene) <= 2


@pytest.mark.parametrize("policies", [{"timeout": 10 * SECOND}, {"timeout": MINUTE, "max_duration": 10 * SECOND}])
def test_what_ignores_its_deadline_is_asked_again_and_again_without_a_spin(policies: dict[str, timedelta]) -> None:
    async def scene(clock: VirtualClock) -> tuple[Run, int]:
        asked = 0

        async def act(_: Invocation) -> Outcome:
            nonlocal asked
            end = clock.steady() + 200
            while clock.steady() < end:
                try:
                    await clock.pause(end - clock.steady())
                except asyncio.CancelledError:
                    asked += 1
            return Succeeded('"all the same"')

        return await carried_once(clock, act, seconds=1_000, **policies), asked

    run, asked = virtually(scene)
    assert asked == 1 + int(190 / policies["timeout"].total_seconds())
    # What it finished, it finished: nobody else could know better.
    assert (run.state, run.result) == (RunState.SUCCEEDED, '"all the same"')


def test_what_cleans_up_after_its_deadline_is_left_to_it_when_others_time_out() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, cleaned = Door(), list[float]()

        async def act(invocation: Invocation) -> Outcome:
            try:
                await endless(invocation)
            finally:
                await clock.pause(20)
                cleaned.append(clock.steady())
            return Succeeded()

        engine = an_engine(store, Obedient(act), clock)
        for start in (0, 5, 10):
            await add(store, NOON + start * SECOND, clock.now(), guarantee="at_most_once", timeout=30 * SECOND)
        await engine.start()
        await clock.pause(100)
        await engine.stop()
        assert cleaned == [50, 55, 60]
        assert {run.state for run in await runs_of(store)} == {RunState.TIMED_OUT}

    virtually(scene)


def test_what_breaks_because_of_its_deadline_has_timed_out() -> None:
    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        except asyncio.CancelledError:
            raise ConnectionError("in the middle of it") from None
        return Succeeded()

    async def scene(clock: VirtualClock) -> Run:
        return await carried_once(clock, act)

    run = virtually(scene)
    assert (run.state, run.error) == (RunState.TIMED_OUT, "ConnectionError: in the middle of it")


# --- ends when asked to --------------------------------------------------------------------------------------------------


async def cancelled_after(
    clock: VirtualClock, act: Act, seconds: float, patience: float = 1_000
) -> tuple[Run, Obedient, Engine]:
    store, target = Door(), Obedient(act)
    engine = an_engine(store, target, clock)
    task = await add(store, NOON, clock.now())
    await engine.start()
    await clock.pause(seconds)
    tasks = Tasks(as_store(store), clock, told=lambda _due: engine.ring())
    await tasks.cancel(LOCAL, task.id)
    await clock.pause(patience)
    await engine.stop()
    (run,) = await runs_of(store, task)
    return run, target, engine


def test_a_cancelled_run_ends_at_once() -> None:
    async def scene(clock: VirtualClock) -> Run:
        return (await cancelled_after(clock, endless, seconds=10))[0]

    run = virtually(scene)
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.CANCELLED)
    assert run.ended is not None
    assert run.ended - NOON < 10 * SECOND + timedelta(seconds=0.1)


def test_a_run_that_cleans_up_is_asked_only_once() -> None:
    """Orders are repeated with every renewal; a second cancellation would break the cleaning up."""

    async def scene(clock: VirtualClock) -> Run:
        async def act(invocation: Invocation) -> Outcome:
            try:
                await endless(invocation)
            finally:
                await clock.pause(60)
                cleaned.append(clock.now())
            return Succeeded()

        return (await cancelled_after(clock, act, seconds=1))[0]

    cleaned: list[Any] = []
    run = virtually(scene)
    assert run.state is RunState.CANCELLED
    assert len(cleaned) == 1


def test_a_cancelled_run_that_succeeds_all_the_same_has_succeeded() -> None:
    async def scene(clock: VirtualClock) -> Run:
        async def act(invocation: Invocation) -> Outcome:
            while not invocation.cancelled:
                try:
                    await clock.pause(1)
                except asyncio.CancelledError:
                    break
            assert invocation.cancelled
            return Succeeded('"just in time"')

        return (await cancelled_after(clock, act, seconds=1))[0]

    run = virtually(scene)
    assert (run.state, run.result) == (RunState.SUCCEEDED, '"just in time"')


def test_what_a_target_wants_done_at_its_end_is_done_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def broken() -> None:
        raise OSError("nothing to kill")

    async def act(invocation: Invocation) -> Outcome:
        invocation.on_cancel(broken)
        invocation.on_cancel(lambda: done.append("before"))
        try:
            await endless(invocation)
        finally:
            invocation.on_cancel(lambda: done.append("after"))
        return Succeeded()

    async def scene(clock: VirtualClock) -> Run:
        return (await cancelled_after(clock, act, seconds=1))[0]

    with caplog.at_level(logging.ERROR, logger="horae"):
        run = virtually(scene)
    assert (run.state, done) == (RunState.CANCELLED, ["before", "after"])
    assert "nothing to kill" in caplog.text


def test_a_run_that_is_cancelled_before_its_first_step_is_settled() -> None:
    """A job that was never begun would just vanish when it is cancelled."""

    async def scene(clock: VirtualClock) -> None:
        store, target = Door(), Obedient()
        engine = an_engine(store, target, clock)
        task = await add(store, NOON + SECOND, clock.now())
        await engine.start()
        await clock.pause(0.5)
        carry = engine.runner.carry

        def carry_and_end(claims: Any) -> None:
            carry(claims)
            for _, run in claims:
                engine.runner.end(run.id, Reason.CANCELLED)

        engine.dispatcher._runner.carry = carry_and_end  # type: ignore[method-assign]
        await clock.pause(5)
        assert engine.runner.going == 0
        await engine.stop()
        assert target.seen == []
        assert [run.state for run in await runs_of(store, task)] == [RunState.CANCELLED]

    virtually(scene)


def test_an_end_that_is_asked_for_while_the_log_is_written_loses_nothing() -> None:
    async def scene(clock: VirtualClock) -> Run:
        store = Door()

        async def act(invocation: Invocation) -> Outcome:
            invocation.log("the last words")
            return Succeeded('"done"')

        engine = an_engine(store, Obedient(act), clock)
        task = await add(store, NOON, clock.now(), timeout=5 * SECOND)
        store.shut("write_lines")
        await engine.start()
        await clock.pause(8)
        assert engine.runner.going == 1
        store.open_again()
        await clock.pause(1)
        await engine.stop()
        (run,) = await runs_of(store, task)
        assert [line.line.text for line in await as_store(store).lines(run.id)] == ["the last words"]
        return run

    run = virtually(scene)
    assert (run.state, run.result) == (RunState.SUCCEEDED, '"done"')


# --- the third write of `at_most_once` -------------------------------------------------------------------------------------


async def a_careful_one(clock: VirtualClock) -> tuple[Door, Obedient, Engine, Task]:
    store, target = Door(), Obedient()
    return store, target, an_engine(store, target, clock), await add(store, NOON, clock.now(), guarantee="at_most_once")


def test_what_must_have_started_is_written_down_first() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target, engine, task = await a_careful_one(clock)
        store.shut("start")
        await engine.start()
        await clock.pause(2)
        assert target.seen == []
        assert [run.state for run in await runs_of(store, task)] == [RunState.CLAIMED]
        store.open_again()
        await clock.pause(1)
        await engine.stop()
        (run,) = await runs_of(store, task)
        assert (run.state, run.started) == (RunState.SUCCEEDED, NOON + 2 * SECOND)

    virtually(scene)


def test_a_start_that_failed_before_it_was_written_is_tried_again() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target, engine, task = await a_careful_one(clock)
        store.fail_before("start")
        await engine.start()
        await clock.pause(5)
        await engine.stop()
        first, second = await runs_of(store, task)
        assert (first.state, first.reason) == (RunState.LOST, Reason.RELEASED)
        assert second.state is RunState.SUCCEEDED
        assert len(target.seen) == 1

    virtually(scene)


def test_a_start_that_may_have_been_written_is_not_tried_again() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target, engine, task = await a_careful_one(clock)
        store.fail_after("start")
        await engine.start()
        await clock.pause(60)
        await engine.stop()
        assert [run.state for run in await runs_of(store, task)] == [RunState.LOST]
        assert target.seen == []

    virtually(scene)


def test_a_run_that_is_cancelled_while_it_is_being_started_does_not_begin() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target, engine, task = await a_careful_one(clock)
        store.shut("start")
        await engine.start()
        await clock.pause(1)
        tasks = Tasks(as_store(store), clock, told=lambda _due: engine.ring())
        await tasks.cancel(LOCAL, task.id)
        await clock.pause(1)
        store.open_again()
        await clock.pause(1)
        await engine.stop()
        assert target.seen == []
        assert [run.state for run in await runs_of(store, task)] == [RunState.CANCELLED]

    virtually(scene)


def test_a_run_that_somebody_else_took_over_while_it_was_being_started_does_not_begin() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target, engine, task = await a_careful_one(clock)
        store.shut("start")
        await engine.start()
        await clock.pause(1)
        whole = as_store(store.inner)
        (run,) = await runs_of(store, task)
        await whole.release([(run.id, run.token)], partial(release, now=clock.now()))
        store.open_again()
        await clock.pause(20)
        await engine.stop()
        lost, again = await runs_of(store, task)
        assert (lost.state, again.state) == (RunState.LOST, RunState.SUCCEEDED)
        assert [each.run.attempt for each in target.seen] == [2]

    virtually(scene)


# --- letting go ------------------------------------------------------------------------------------------------------------


def test_what_was_abandoned_is_handed_back_when_it_is_over_and_never_settled() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, ended = Door(), asyncio.Event()

        async def act(invocation: Invocation) -> Outcome:
            if invocation.run.attempt > 1:
                return Succeeded()
            try:
                await endless(invocation)
            finally:
                await clock.pause(2)
                ended.set()
            return Succeeded()

        target = Obedient(act)
        engine = an_engine(store, target, clock)
        task = await add(store, NOON, clock.now())
        await engine.start()
        await clock.pause(1)
        engine.runner.abandon(Reason.LEASE_LOST)
        engine.runner.abandon(Reason.LEASE_LOST)
        assert engine.runner.going == 0
        await engine.runner.drained()
        await clock.pause(1)
        assert [run.state for run in await runs_of(store, task)] == [RunState.RUNNING], "its work is not over yet"
        await engine.runner.gone()
        assert ended.is_set()
        await clock.pause(1)
        await engine.stop()
        first, second = await runs_of(store, task)
        assert (first.state, first.reason) == (RunState.LOST, Reason.RELEASED)
        assert second.state is RunState.SUCCEEDED
        assert all(first.id not in [each.run_id for each in batch] for batch, _ in store.arguments("settle"))

    virtually(scene)


def test_room_counts_what_has_ended_and_is_not_recorded_yet() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target = Door(), Obedient()
        engine = an_engine(store, target, clock, capacity=10)
        store.shut("settle")
        for _ in range(4):
            await add(store, NOON, clock.now())
        await engine.start()
        await clock.pause(1)
        assert (engine.runner.going, engine.settler.waiting, engine.runner.room) == (0, 4, 6)
        store.open_again()
        await clock.pause(1)
        assert (engine.settler.waiting, engine.runner.room) == (0, 10)
        await engine.stop()

    virtually(scene)


def test_the_key_and_the_trace_are_those_of_the_occurrence() -> None:
    async def scene(clock: VirtualClock) -> list[Invocation]:
        store = Door()

        async def act(invocation: Invocation) -> Outcome:
            return Failed("once more") if invocation.run.attempt < 3 else Succeeded()

        target = Obedient(act)
        engine = an_engine(store, target, clock)
        await add(store, NOON, clock.now())
        await add(store, NOON + HOUR, clock.now())
        await engine.start()
        await clock.pause(2 * HOUR.total_seconds())
        await engine.stop()
        return target.seen

    seen = virtually(scene)
    assert len(seen) == 6
    assert len({each.key for each in seen}) == 2
    spans = [each.trace.split("-") for each in seen]
    assert [len(part) for part in spans[0]] == [2, 32, 16, 2]
    assert len({span[1] for span in spans}) == 2
    assert len({span[2] for span in spans}) == 6


def test_a_stop_is_told_to_those_who_look() -> None:
    async def scene(clock: VirtualClock) -> None:
        async def act(invocation: Invocation) -> Outcome:
            while not invocation.yield_requested:
                await clock.pause(0.5)
            return Succeeded('"early"')

        store = Door()
        engine = an_engine(store, Obedient(act), clock)
        task = await add(store, NOON, clock.now())
        await engine.start()
        await clock.pause(5)
        before = clock.now()
        await engine.stop()
        assert clock.now() - before < SECOND
        assert [run.result for run in await runs_of(store, task)] == ['"early"']

    virtually(scene)


def test_a_carried_run_says_no_more_than_is_kept() -> None:
    async def scene(clock: VirtualClock) -> None:
        store = Door()

        async def act(invocation: Invocation) -> Outcome:
            for number in range(5_000):
                invocation.log(str(number))
            assert isinstance(invocation, Carried)
            return Succeeded()

        engine = an_engine(store, Obedient(act), clock)
        await add(store, NOON, clock.now())
        await engine.start()
        await clock.pause(1)
        await engine.stop()
        assert sum(len(lines) for (lines,) in store.arguments("write_lines")) == 1_001

    virtually(scene)


def test_the_target_is_told_what_it_is_for() -> None:
    async def scene(clock: VirtualClock) -> None:
        store, target = Door(), Obedient()
        engine = an_engine(store, target, clock)
        task = await add(store, NOON + SECOND, clock.now())
        await engine.start()
        await until(clock, lambda: bool(target.seen))
        (invocation,) = target.seen
        assert invocation.task == task
        assert invocation.task.target == Target("stub", "{}")
        assert (invocation.run.planned, invocation.run.attempt) == (NOON + SECOND, 1)
        assert invocation.deadline == NOON + SECOND + task.policies.timeout
        await engine.stop()

    virtually(scene)
