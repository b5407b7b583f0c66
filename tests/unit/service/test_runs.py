"""Runs: retry, cancel, and callbacks with a token for this run."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.change import Facts
from horae.model.limits import ERROR_CHARACTERS, RESULT_BYTES
from horae.model.outcome import Failed, Outcome, Succeeded, Waiting
from horae.model.page import Page
from horae.model.run import Run, RunState
from horae.model.task import TaskState
from horae.ports.journal import Line
from horae.service.runs.runs import build_outcome
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from tests.unit.service.service_harness import ADA, ServiceHarness, code_of, open_harness, refusal_of

NEVER_AGAIN = Failed("no", permanent=True)


def proof(run: Run) -> bool:
    """The callback token that the target received."""
    return run.token > 0


def no_proof(_: Run) -> bool:
    return False


async def start_run(harness: ServiceHarness, **fields: Any) -> Run:
    await harness.add(**fields)
    harness.advance(HOUR)
    (run,) = await harness.claim()
    return run


async def hand_on_run(harness: ServiceHarness, minutes: int = 5) -> Run:
    """Settle the run as waiting for a callback."""
    run = await start_run(harness)
    assert await harness.settle(run, Waiting(harness.clock.now() + minutes * MINUTE)) == frozenset()
    return await harness.runs.get(ADA, run.id)


async def state_of(harness: ServiceHarness, run: Run) -> RunState:
    return (await harness.runs.get(ADA, run.id)).state


# --- once more -------------------------------------------------------------------------------------------------------


async def test_failed_run_is_retried_at_once_and_the_engine_notified() -> None:
    async with open_harness() as harness:
        await harness.add()
        failed = await harness.run_due(HOUR, NEVER_AGAIN)
        harness.writes.clear()
        facts = await harness.runs.retry(ADA, failed.id)
        assert (harness.writes, facts.task.id) == ([None], failed.task_id)
        (again,) = await harness.claim()
        assert (again.planned, again.attempt) == (failed.planned, 2)


async def test_retry_of_any_attempt_continues_from_the_last() -> None:
    async with open_harness() as harness:
        await harness.add(options=Options(retries=0))
        first = await harness.run_due(HOUR, Failed("no"))
        await harness.runs.retry(ADA, first.id)
        (second,) = await harness.claim()
        assert await code_of(harness.runs.retry(ADA, first.id)) == "run_going"
        await harness.settle(second, NEVER_AGAIN)
        await harness.runs.retry(ADA, first.id)
        (third,) = await harness.claim()
        assert third.attempt == 3
        await harness.settle(third)
        refusal = await refusal_of(harness.runs.retry(ADA, first.id))
        assert (refusal.code, refusal.facts["state"]) == ("nothing_to_retry", "succeeded")


async def test_span_of_skipped_occurrences_cannot_be_retried() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.skip_next(ADA, task.id)
        harness.advance(HOUR)
        await harness.claim()
        (row,) = (await harness.runs.page(ADA)).items
        assert row.state is RunState.SKIPPED
        assert await code_of(harness.runs.retry(ADA, row.id)) == "nothing_to_retry"


async def test_retry_of_a_task_deleted_meanwhile_is_not_found() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        failed = await harness.run_due(HOUR, NEVER_AGAIN)
        really = harness.store.runs

        async def read_and_then_it_is_deleted(*arguments: Any, **named: Any) -> Page[Run]:
            found = await really(*arguments, **named)
            await harness.tasks.delete(ADA, task.id)
            return found

        harness.store.runs = read_and_then_it_is_deleted  # type: ignore[method-assign]
        assert await code_of(harness.runs.retry(ADA, failed.id)) == "no_such_run"


async def test_retry_of_a_failed_task_keeps_its_state() -> None:
    async with open_harness() as harness:
        task = await harness.add("in 1h")
        failed = await harness.run_due(HOUR, NEVER_AGAIN)
        assert (await harness.tasks.get(ADA, task.id)).status.state is TaskState.FAILED
        await harness.runs.retry(ADA, failed.id)
        (again,) = await harness.claim()
        await harness.settle(again)
        assert [each.state for each in (await harness.runs.page(ADA)).items] == [RunState.SUCCEEDED, RunState.FAILED]


# --- concurrent engine writes ----------------------------------------------------------------------------------------


def meanwhile(harness: ServiceHarness, end: Outcome) -> None:
    """After the first look at the attempts, the one that waits is made, and ends like this."""
    really = harness.store.runs

    async def read_before_it_was_tried(*arguments: Any, **named: Any) -> Page[Run]:
        page = await really(*arguments, **named)
        harness.store.runs = really  # type: ignore[method-assign]
        harness.advance(HOUR)
        (again,) = await harness.claim()
        await harness.settle(again, end)
        return page

    harness.store.runs = read_before_it_was_tried  # type: ignore[method-assign]


async def failed_once(harness: ServiceHarness, retries: int) -> Run:
    await harness.add(when="in 1h", options=Options(retries=retries))
    return await harness.run_due(HOUR, Failed("no"))


async def test_retry_continues_from_an_attempt_that_ended_meanwhile() -> None:
    async with open_harness() as harness:
        failed = await failed_once(harness, retries=1)
        meanwhile(harness, Failed("no again"))
        facts = await harness.runs.retry(ADA, failed.id)
        assert [(entry.kind, entry.attempt) for entry in facts.entries] == [("retry", 3)]
        (third,) = await harness.claim()
        assert (third.attempt, third.planned) == (3, failed.planned)


async def test_run_that_succeeded_meanwhile_is_not_retried() -> None:
    async with open_harness() as harness:
        failed = await failed_once(harness, retries=1)
        meanwhile(harness, Succeeded())
        refusal = await refusal_of(harness.runs.retry(ADA, failed.id))
        assert (refusal.code, refusal.facts["state"]) == ("nothing_to_retry", "succeeded")
        assert (await harness.tasks.get(ADA, failed.task_id)).entries == ()
        assert await harness.store.check() == ()


@pytest.mark.parametrize("retries", [0, 1])
async def test_retry_claimed_at_once_is_returned_as_the_requested_attempt(retries: int) -> None:
    async with open_harness() as harness:
        failed = await failed_once(harness, retries)
        really = harness.store.change
        claimed: list[Run] = []

        async def claimed_at_once(*arguments: Any) -> Facts | None:
            facts = await really(*arguments)
            claimed.extend(await harness.claim())
            return facts

        harness.store.change = claimed_at_once  # type: ignore[method-assign, assignment]
        await harness.runs.retry(ADA, failed.id)
        assert [run.attempt for run in claimed] == [2]


# --- an end ----------------------------------------------------------------------------------------------------------


async def test_cancel_of_a_run_held_by_a_node_is_requested() -> None:
    async with open_harness() as harness:
        run = await start_run(harness)
        harness.writes.clear()
        asked = await harness.runs.cancel(ADA, run.id)
        assert (asked.state, asked.cancel, harness.writes) == (RunState.RUNNING, "cancelled", [None])
        await harness.settle(run, Failed("stopped"))
        assert await state_of(harness, run) is RunState.CANCELLED
        refusal = await refusal_of(harness.runs.cancel(ADA, run.id))
        assert (refusal.code, refusal.facts) == ("run_over", {"task": run.task_id, "state": "cancelled"})


async def test_cancel_of_a_waiting_run_ends_it_at_once() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        assert (await harness.runs.cancel(ADA, run.id)).state is RunState.CANCELLED
        assert await code_of(harness.runs.answer(run.id, proof, Succeeded())) == "bad_answer"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(Succeeded('"done"'), RunState.SUCCEEDED), (Failed("no"), RunState.FAILED)],
)
async def test_valid_callback_ends_the_run(outcome: Succeeded | Failed, state: RunState) -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        harness.advance(SECOND)
        harness.writes.clear()
        await harness.runs.answer(run.id, proof, outcome)
        ended = await harness.runs.get(ADA, run.id)
        assert (ended.state, ended.ended, harness.writes) == (state, harness.clock.now(), [None])


async def test_callback_with_more_time_moves_the_deadline() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness, minutes=5)
        harness.advance(4 * MINUTE)
        later = harness.clock.now() + 30 * MINUTE
        await harness.runs.answer(run.id, proof, Waiting(later))
        assert (await harness.runs.get(ADA, run.id)).deadline == later
        harness.advance(5 * MINUTE)
        await harness.claim()
        assert await state_of(harness, run) is RunState.WAITING
        harness.advance(30 * MINUTE)
        await harness.claim()
        assert await state_of(harness, run) is RunState.TIMED_OUT


async def test_invalid_late_or_repeated_callback_is_refused_and_changes_nothing() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        refusals = [
            await refusal_of(harness.runs.answer(run.id, no_proof, Succeeded())),
            await refusal_of(harness.runs.answer("run_unknown", proof, Succeeded())),
        ]
        assert await harness.runs.get(ADA, run.id) == run
        await harness.runs.answer(run.id, proof, Succeeded())
        ended = await harness.runs.get(ADA, run.id)
        refusals.append(await refusal_of(harness.runs.answer(run.id, proof, Failed("too late"))))
        assert await harness.runs.get(ADA, run.id) == ended
        told = {(type(each), each.code, str(each).replace(str(each.facts["id"]), "…")) for each in refusals}
        assert len(told) == 1
        assert refusals[0].code == "bad_answer"


async def test_callback_token_of_an_older_claim_is_stale() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        old = run.token

        def shows_the_old_token(current: Run) -> bool:
            return current.token == old

        really = harness.store.run

        async def read_before_it_was_answered(*arguments: Any) -> Run | None:
            found = await really(*arguments)
            await harness.settle(run, Succeeded('"first"'))
            return found

        harness.store.run = read_before_it_was_answered  # type: ignore[method-assign, assignment]
        refusal = await refusal_of(harness.runs.answer(run.id, shows_the_old_token, Failed("second")))
        harness.store.run = really  # type: ignore[method-assign]
        assert refusal.code == "bad_answer"
        assert (await harness.runs.get(ADA, run.id)).result_json == '"first"'


async def test_callback_may_arrive_before_the_waiting_report() -> None:
    """The target was so quick that the run is still `running` here: it ends all the same, and the report is stale."""

    async with open_harness() as harness:
        run = await start_run(harness)
        await harness.runs.answer(run.id, proof, Succeeded('"quick"'))
        stale = await harness.settle(run, Waiting(harness.clock.now() + MINUTE))
        assert stale == frozenset({run.id})
        ended = await harness.runs.get(ADA, run.id)
        assert (ended.state, ended.result_json) == (RunState.SUCCEEDED, '"quick"')
        facts = await harness.tasks.get(ADA, run.task_id)
        assert [entry.kind for entry in facts.entries] == ["next"], "and no deadline is left behind"


async def test_failed_callback_is_retried() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        await harness.runs.answer(run.id, proof, Failed("no", retry_after=MINUTE))
        harness.advance(MINUTE)
        (again,) = await harness.claim()
        assert (again.attempt, again.planned) == (2, run.planned)


def test_callback_outcomes_are_parsed() -> None:
    assert build_outcome('"done"', None, None) == Succeeded('"done"')
    assert build_outcome(None, None, None) == Succeeded(None)
    assert build_outcome('"done"', "no", NOON) == Failed("no")
    assert build_outcome(None, None, NOON) == Waiting(NOON)


def test_callback_result_and_error_are_bounded() -> None:
    outcome = build_outcome(None, "x" * (ERROR_CHARACTERS + 1), None)
    assert isinstance(outcome, Failed)
    assert len(outcome.error) == ERROR_CHARACTERS
    assert outcome.error.endswith("x…")
    assert build_outcome("1" * RESULT_BYTES, None, None) == Succeeded("1" * RESULT_BYTES)
    with pytest.raises(Refusal) as caught:
        build_outcome("1" * (RESULT_BYTES + 1), None, None)
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("until", [NOON.replace(tzinfo=None), "tomorrow"])
def test_naive_callback_deadline_is_refused(until: Any) -> None:
    with pytest.raises(Refusal) as caught:
        build_outcome(None, None, until)
    assert caught.value.code == "naive_instant"


async def test_past_callback_deadline_is_refused_and_the_run_unchanged() -> None:
    async with open_harness() as harness:
        run = await hand_on_run(harness)
        for until in (harness.clock.now(), NOON - 24 * HOUR):
            assert await code_of(harness.runs.answer(run.id, proof, Waiting(until))) == "deadline_past"
            assert await code_of(harness.runs.answer(run.id, no_proof, Waiting(until))) == "bad_answer"
        assert await harness.runs.get(ADA, run.id) == run
        await harness.runs.answer(run.id, proof, Waiting(harness.clock.now() + SECOND))


async def test_log_lines_resume_from_a_number() -> None:
    async with open_harness() as harness:
        run = await start_run(harness)
        await harness.store.write_lines([Line(run.id, NOON, "info", f"line {number}") for number in range(5)])
        first = await harness.runs.lines(ADA, run.id, limit=2)
        rest = await harness.runs.lines(ADA, run.id, after=first[-1].number)
        assert [each.line.text for each in (*first, *rest)] == [f"line {number}" for number in range(5)]
