"""Runs: tried again, asked to end, and answered from outside, by whoever can prove that the answer is for this run."""

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
from tests.unit.service.service_harness import ADA, House, code_of, house_on, refusal_of

NEVER_AGAIN = Failed("no", permanent=True)


def proof(run: Run) -> bool:
    """What a target that was told the token can show."""
    return run.token > 0


def no_proof(_: Run) -> bool:
    return False


async def going(house: House, **fields: Any) -> Run:
    await house.add(**fields)
    house.later(HOUR)
    (run,) = await house.claim()
    return run


async def handed_on(house: House, minutes: int = 5) -> Run:
    """The target has said that somebody else goes on with it."""
    run = await going(house)
    assert await house.settle(run, Waiting(house.clock.now() + minutes * MINUTE)) == frozenset()
    return await house.runs.get(ADA, run.id)


async def state_of(house: House, run: Run) -> RunState:
    return (await house.runs.get(ADA, run.id)).state


# --- once more -------------------------------------------------------------------------------------------------------


async def test_a_failed_run_is_tried_again_at_once_and_the_engine_is_told() -> None:
    async with house_on() as house:
        await house.add()
        failed = await house.ran(HOUR, NEVER_AGAIN)
        house.told.clear()
        facts = await house.runs.retry(ADA, failed.id)
        assert (house.told, facts.task.id) == ([None], failed.task_id)
        (again,) = await house.claim()
        assert (again.planned, again.attempt) == (failed.planned, 2)


async def test_whichever_attempt_is_named_the_last_one_counts() -> None:
    async with house_on() as house:
        await house.add(options=Options(retries=0))
        first = await house.ran(HOUR, Failed("no"))
        await house.runs.retry(ADA, first.id)
        (second,) = await house.claim()
        assert await code_of(house.runs.retry(ADA, first.id)) == "run_going"
        await house.settle(second, NEVER_AGAIN)
        await house.runs.retry(ADA, first.id)
        (third,) = await house.claim()
        assert third.attempt == 3
        await house.settle(third)
        refusal = await refusal_of(house.runs.retry(ADA, first.id))
        assert (refusal.code, refusal.facts["state"]) == ("nothing_to_retry", "succeeded")


async def test_of_a_stretch_that_never_ran_there_is_nothing_to_try_again() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.skip_next(ADA, task.id)
        house.later(HOUR)
        await house.claim()
        (row,) = (await house.runs.page(ADA)).items
        assert row.state is RunState.SKIPPED
        assert await code_of(house.runs.retry(ADA, row.id)) == "nothing_to_retry"


async def test_a_retry_whose_task_goes_meanwhile_is_not_found() -> None:
    async with house_on() as house:
        task = await house.add()
        failed = await house.ran(HOUR, NEVER_AGAIN)
        really = house.store.runs

        async def read_and_then_it_is_deleted(*arguments: Any, **named: Any) -> Page[Run]:
            found = await really(*arguments, **named)
            await house.tasks.delete(ADA, task.id)
            return found

        house.store.runs = read_and_then_it_is_deleted  # type: ignore[method-assign]
        assert await code_of(house.runs.retry(ADA, failed.id)) == "no_such_run"


async def test_a_task_that_gave_up_has_one_more_attempt_and_stays_as_it_is() -> None:
    async with house_on() as house:
        task = await house.add("in 1h")
        failed = await house.ran(HOUR, NEVER_AGAIN)
        assert (await house.tasks.get(ADA, task.id)).status.state is TaskState.FAILED
        await house.runs.retry(ADA, failed.id)
        (again,) = await house.claim()
        await house.settle(again)
        assert [each.state for each in (await house.runs.page(ADA)).items] == [RunState.SUCCEEDED, RunState.FAILED]


# --- while somebody looks, the engine goes on -------------------------------------------------------------------------


def meanwhile(house: House, end: Outcome) -> None:
    """After the first look at the attempts, the one that waits is made, and ends like this."""
    really = house.store.runs

    async def read_before_it_was_tried(*arguments: Any, **named: Any) -> Page[Run]:
        page = await really(*arguments, **named)
        house.store.runs = really  # type: ignore[method-assign]
        house.later(HOUR)
        (again,) = await house.claim()
        await house.settle(again, end)
        return page

    house.store.runs = read_before_it_was_tried  # type: ignore[method-assign]


async def failed_once(house: House, retries: int) -> Run:
    await house.add(when="in 1h", options=Options(retries=retries))
    return await house.ran(HOUR, Failed("no"))


async def test_an_attempt_that_came_and_went_meanwhile_is_the_one_that_is_tried_again() -> None:
    async with house_on() as house:
        failed = await failed_once(house, retries=1)
        meanwhile(house, Failed("no again"))
        facts = await house.runs.retry(ADA, failed.id)
        assert [(entry.kind, entry.attempt) for entry in facts.entries] == [("retry", 3)]
        (third,) = await house.claim()
        assert (third.attempt, third.planned) == (3, failed.planned)


async def test_what_succeeded_meanwhile_is_not_tried_again_and_nothing_is_left_behind() -> None:
    async with house_on() as house:
        failed = await failed_once(house, retries=1)
        meanwhile(house, Succeeded())
        refusal = await refusal_of(house.runs.retry(ADA, failed.id))
        assert (refusal.code, refusal.facts["state"]) == ("nothing_to_retry", "succeeded")
        assert (await house.tasks.get(ADA, failed.task_id)).entries == ()
        assert await house.store.check() == ()


@pytest.mark.parametrize("retries", [0, 1])
async def test_an_attempt_that_is_made_of_our_wish_at_once_is_no_other_one(retries: int) -> None:
    async with house_on() as house:
        failed = await failed_once(house, retries)
        really = house.store.change
        claimed: list[Run] = []

        async def claimed_at_once(*arguments: Any) -> Facts | None:
            facts = await really(*arguments)
            claimed.extend(await house.claim())
            return facts

        house.store.change = claimed_at_once  # type: ignore[method-assign, assignment]
        await house.runs.retry(ADA, failed.id)
        assert [run.attempt for run in claimed] == [2]


# --- an end ----------------------------------------------------------------------------------------------------------


async def test_a_run_that_a_node_holds_is_asked_to_end() -> None:
    async with house_on() as house:
        run = await going(house)
        house.told.clear()
        asked = await house.runs.cancel(ADA, run.id)
        assert (asked.state, asked.cancel, house.told) == (RunState.RUNNING, "cancelled", [None])
        await house.settle(run, Failed("stopped"))
        assert await state_of(house, run) is RunState.CANCELLED
        refusal = await refusal_of(house.runs.cancel(ADA, run.id))
        assert (refusal.code, refusal.facts) == ("run_over", {"task": run.task_id, "state": "cancelled"})


async def test_a_run_that_somebody_else_holds_ends_at_once() -> None:
    async with house_on() as house:
        run = await handed_on(house)
        assert (await house.runs.cancel(ADA, run.id)).state is RunState.CANCELLED
        assert await code_of(house.runs.answer(run.id, proof, Succeeded())) == "bad_answer"


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(Succeeded('"done"'), RunState.SUCCEEDED), (Failed("no"), RunState.FAILED)],
)
async def test_a_good_answer_ends_the_run(outcome: Succeeded | Failed, state: RunState) -> None:
    async with house_on() as house:
        run = await handed_on(house)
        house.later(SECOND)
        house.told.clear()
        await house.runs.answer(run.id, proof, outcome)
        ended = await house.runs.get(ADA, run.id)
        assert (ended.state, ended.ended, house.told) == (state, house.clock.now(), [None])


async def test_whoever_is_still_at_work_moves_the_deadline() -> None:
    async with house_on() as house:
        run = await handed_on(house, minutes=5)
        house.later(4 * MINUTE)
        later = house.clock.now() + 30 * MINUTE
        await house.runs.answer(run.id, proof, Waiting(later))
        assert (await house.runs.get(ADA, run.id)).deadline == later
        house.later(5 * MINUTE)
        await house.claim()
        assert await state_of(house, run) is RunState.WAITING
        house.later(30 * MINUTE)
        await house.claim()
        assert await state_of(house, run) is RunState.TIMED_OUT


async def test_an_answer_without_proof_late_twice_or_for_nothing_is_refused_alike_and_changes_nothing() -> None:
    async with house_on() as house:
        run = await handed_on(house)
        refusals = [
            await refusal_of(house.runs.answer(run.id, no_proof, Succeeded())),
            await refusal_of(house.runs.answer("run_unknown", proof, Succeeded())),
        ]
        assert await house.runs.get(ADA, run.id) == run
        await house.runs.answer(run.id, proof, Succeeded())
        ended = await house.runs.get(ADA, run.id)
        refusals.append(await refusal_of(house.runs.answer(run.id, proof, Failed("too late"))))
        assert await house.runs.get(ADA, run.id) == ended
        told = {(type(each), each.code, str(each).replace(str(each.facts["id"]), "…")) for each in refusals}
        assert len(told) == 1
        assert refusals[0].code == "bad_answer"


async def test_a_proof_that_was_given_out_for_an_older_claim_is_stale() -> None:
    async with house_on() as house:
        run = await handed_on(house)
        old = run.token

        def shows_the_old_token(current: Run) -> bool:
            return current.token == old

        really = house.store.run

        async def read_before_it_was_answered(*arguments: Any) -> Run | None:
            found = await really(*arguments)
            await house.settle(run, Succeeded('"first"'))
            return found

        house.store.run = read_before_it_was_answered  # type: ignore[method-assign, assignment]
        refusal = await refusal_of(house.runs.answer(run.id, shows_the_old_token, Failed("second")))
        house.store.run = really  # type: ignore[method-assign]
        assert refusal.code == "bad_answer"
        assert (await house.runs.get(ADA, run.id)).result_json == '"first"'


async def test_an_answer_may_overtake_the_report_that_there_will_be_one() -> None:
    """The target was so quick that the run is still `running` here: it ends all the same, and the report is stale."""

    async with house_on() as house:
        run = await going(house)
        await house.runs.answer(run.id, proof, Succeeded('"quick"'))
        stale = await house.settle(run, Waiting(house.clock.now() + MINUTE))
        assert stale == frozenset({run.id})
        ended = await house.runs.get(ADA, run.id)
        assert (ended.state, ended.result_json) == (RunState.SUCCEEDED, '"quick"')
        facts = await house.tasks.get(ADA, run.task_id)
        assert [entry.kind for entry in facts.entries] == ["next"], "and no deadline is left behind"


async def test_a_failed_answer_is_tried_again_like_any_failure() -> None:
    async with house_on() as house:
        run = await handed_on(house)
        await house.runs.answer(run.id, proof, Failed("no", retry_after=MINUTE))
        house.later(MINUTE)
        (again,) = await house.claim()
        assert (again.attempt, again.planned) == (2, run.planned)


def test_how_an_answer_reads() -> None:
    assert build_outcome('"done"', None, None) == Succeeded('"done"')
    assert build_outcome(None, None, None) == Succeeded(None)
    assert build_outcome('"done"', "no", NOON) == Failed("no")
    assert build_outcome(None, None, NOON) == Waiting(NOON)


def test_an_answer_stays_within_the_bounds_of_what_is_kept() -> None:
    outcome = build_outcome(None, "x" * (ERROR_CHARACTERS + 1), None)
    assert isinstance(outcome, Failed)
    assert len(outcome.error) == ERROR_CHARACTERS
    assert outcome.error.endswith("x…")
    assert build_outcome("1" * RESULT_BYTES, None, None) == Succeeded("1" * RESULT_BYTES)
    with pytest.raises(Refusal) as caught:
        build_outcome("1" * (RESULT_BYTES + 1), None, None)
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("until", [NOON.replace(tzinfo=None), "tomorrow"])
def test_more_time_until_an_instant_of_no_zone_is_refused(until: Any) -> None:
    with pytest.raises(Refusal) as caught:
        build_outcome(None, None, until)
    assert caught.value.code == "naive_instant"


async def test_more_time_that_is_over_already_is_refused_and_the_run_goes_on_as_it_was() -> None:
    async with house_on() as house:
        run = await handed_on(house)
        for until in (house.clock.now(), NOON - 24 * HOUR):
            assert await code_of(house.runs.answer(run.id, proof, Waiting(until))) == "deadline_past"
            assert await code_of(house.runs.answer(run.id, no_proof, Waiting(until))) == "bad_answer"
        assert await house.runs.get(ADA, run.id) == run
        await house.runs.answer(run.id, proof, Waiting(house.clock.now() + SECOND))


async def test_what_a_run_said_is_read_on_from_a_number() -> None:
    async with house_on() as house:
        run = await going(house)
        await house.store.write_lines([Line(run.id, NOON, "info", f"line {number}") for number in range(5)])
        first = await house.runs.lines(ADA, run.id, limit=2)
        rest = await house.runs.lines(ADA, run.id, after=first[-1].number)
        assert [each.line.text for each in (*first, *rest)] == [f"line {number}" for number in range(5)]
