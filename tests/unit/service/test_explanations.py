"""`why` of an instant, a time of day, a day or the newest run, and whether an engine ran."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import NotFound
from horae.lifecycle.explain.explanation import Verdict
from horae.model.outcome import Failed
from horae.model.reason import Reason
from horae.service.runs.explanations import Explanations
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import Options
from horae.testing.factories import DAY, HOUR, MINUTE, NODE, NOON, SECOND
from tests.unit.service.service_harness import ADA, BOB, ServiceHarness, code_of, open_harness

MIDNIGHT = NOON + 12 * HOUR


async def test_an_instant_is_explained_by_its_row() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        run = await harness.run_due(HOUR)
        for at in (NOON + HOUR, "13:00", "2026-03-01T13:00Z", "2026-03-01 13:00", "today 13:00"):
            why = await harness.explanations.explain(ADA, task.id, at)
            assert (why.at, why.explanation.verdict, why.explanation.runs) == (NOON + HOUR, Verdict.RAN, (run,))
            assert await harness.explanations.why(ADA, task.id, NOON + HOUR) == why.explanation


async def test_why_of_a_day_explains_its_last_occurrence_with_a_row() -> None:
    async with open_harness() as harness:
        task = await harness.add("every 4h")
        runs = [await harness.run_due(4 * HOUR) for _ in range(5)]
        assert harness.clock.now() == NOON + 20 * HOUR
        yesterday = await harness.explanations.explain(ADA, task.id, "yesterday")
        today = await harness.explanations.explain(ADA, task.id, "2026-03-02")
        assert (yesterday.explanation.runs, today.explanation.runs) == ((runs[1],), (runs[4],))


async def test_why_of_a_day_without_rows_explains_its_last_planned_instant_up_to_now() -> None:
    async with open_harness() as harness:
        task = await harness.add("every 4h")
        harness.advance(22 * HOUR)
        why = await harness.explanations.explain(ADA, task.id, "today")
        assert (why.at, why.explanation.verdict) == (NOON + 20 * HOUR, Verdict.OVERDUE)
        tomorrow = await harness.explanations.explain(ADA, task.id, "2026-03-03")
        assert (tomorrow.at, tomorrow.explanation.verdict) == (NOON + 36 * HOUR, Verdict.PENDING)


async def test_midnight_belongs_to_its_day() -> None:
    async with open_harness() as harness:
        task = await harness.add("0 0,12 * * *")
        harness.clock.advance((12 * HOUR + MINUTE).total_seconds())
        why = await harness.explanations.explain(ADA, task.id, "today")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.OVERDUE)


async def test_why_of_a_day_without_plans_explains_its_beginning() -> None:
    async with open_harness() as harness:
        task = await harness.add("0 9 * * MON")
        why = await harness.explanations.explain(ADA, task.id, "2026-03-04")
        assert (why.at, why.explanation.verdict) == (NOON + 2.5 * DAY, Verdict.NOT_PLANNED)


async def test_moment_is_read_in_the_callers_zone_else_in_that_of_the_task() -> None:
    async with open_harness() as harness:
        tokyo = await harness.add("0 9 * * *", zone="Asia/Tokyo")
        why = await harness.explanations.explain(ADA, tokyo.id, "2026-03-01 19:00", "America/New_York")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.PENDING)
        why = await harness.explanations.explain(ADA, tokyo.id, "2026-03-02 09:00")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.PENDING)
        harness.tasks.drafts._zone = None
        anywhere = await harness.add("every 1h", zone=None)
        why = await harness.explanations.explain(ADA, anywhere.id, "13:00", "America/New_York")
        assert why.at == NOON + 6 * HOUR


async def test_why_without_a_moment_explains_the_newest_row_or_the_next_instant() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        why = await harness.explanations.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict) == (NOON + HOUR, Verdict.PENDING)
        await harness.run_due(HOUR)
        failed = await harness.run_due(HOUR, Failed("no", permanent=True))
        why = await harness.explanations.explain(ADA, task.id, None)
        assert (why.at, why.explanation.runs) == (failed.planned, (failed,))


async def test_why_without_a_moment_explains_the_last_instant_of_a_span() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.pause(ADA, task.id)
        harness.advance(5.5 * HOUR)
        await harness.tasks.resume(ADA, task.id)
        why = await harness.explanations.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict, why.explanation.reason) == (
            NOON + 5 * HOUR,
            Verdict.SKIPPED,
            Reason.PAUSED,
        )
        day = await harness.explanations.explain(ADA, task.id, "today")
        assert day.at == why.at


async def test_a_stretch_that_lasts_beyond_the_day_answers_for_its_last_instant_of_the_day() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.pause(ADA, task.id)
        harness.advance(30 * HOUR)
        await harness.tasks.resume(ADA, task.id)
        why = await harness.explanations.explain(ADA, task.id, "2026-03-01")
        assert why.explanation.verdict is Verdict.SKIPPED
        assert why.at == MIDNIGHT - HOUR


async def test_time_between_the_instants_of_a_stretch_was_not_planned() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.pause(ADA, task.id)
        harness.advance(5.5 * HOUR)
        await harness.tasks.resume(ADA, task.id)
        for at in (NOON + 2.5 * HOUR, "14:30:05"):
            why = await harness.explanations.explain(ADA, task.id, at)
            assert why.explanation.verdict is Verdict.NOT_PLANNED, at
        assert (
            await harness.explanations.explain(ADA, task.id, NOON + 2 * HOUR)
        ).explanation.verdict is Verdict.SKIPPED


async def test_stretch_of_an_edited_task_answers_for_the_schedule_that_it_had() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.pause(ADA, task.id)
        harness.advance(30 * HOUR)
        await harness.tasks.resume(ADA, task.id)
        await harness.tasks.edit(ADA, task.id, Edits(when="every day at 09:00"))
        why = await harness.explanations.explain(ADA, task.id, NOON + 2 * HOUR)
        assert why.explanation.verdict is Verdict.SKIPPED
        day = await harness.explanations.explain(ADA, task.id, "2026-03-01")
        assert (day.at, day.explanation.verdict) == (NOON + HOUR, Verdict.SKIPPED)


async def test_a_task_of_which_nothing_is_left_answers_for_now() -> None:
    async with open_harness() as harness:
        task = await harness.add("in 1h")
        await harness.tasks.cancel(ADA, task.id)
        why = await harness.explanations.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict) == (NOON, Verdict.OVER)


@pytest.mark.parametrize("at", [None, NOON, "yesterday", "nonsense"])
async def test_what_is_not_there_is_not_found_whatever_is_asked_of_it(at: object) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        for who, task_id in ((ADA, "tsk_unknown"), (BOB, task.id)):
            with pytest.raises(NotFound):
                await harness.explanations.explain(who, task_id, at)  # type: ignore[arg-type]


async def test_what_is_no_moment_is_refused() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        assert await code_of(harness.explanations.explain(ADA, task.id, "soonish")) == "unclear_moment"


# --- nothing ran -----------------------------------------------------------------------------------------------------


async def an_outage(harness: ServiceHarness, length: timedelta) -> None:
    await harness.claim()
    await harness.store.leave(NODE)
    await harness.service.outages.record_stop()
    harness.advance(length)
    await harness.service.outages.record_start()


async def test_what_was_missed_while_no_engine_ran_says_so() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await an_outage(harness, 5.5 * HOUR)
        (run,) = await harness.claim()
        missed = await harness.explanations.explain(ADA, task.id, NOON + 3 * HOUR)
        assert (missed.explanation.reason, missed.explanation.verdict) == (Reason.MERGED, Verdict.SKIPPED)
        assert missed.outage is not None
        assert (missed.outage.since, missed.outage.until, missed.outage.clean) == (NOON, NOON + 5.5 * HOUR, True)
        caught_up = await harness.explanations.explain(ADA, task.id, run.planned)
        assert caught_up.outage == missed.outage


async def test_what_ran_on_time_or_was_skipped_for_another_reason_blames_no_outage() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await harness.tasks.skip_next(ADA, task.id)
        harness.advance(HOUR)
        await harness.claim()
        await harness.run_due(HOUR)
        await an_outage(harness, 10 * MINUTE)
        for at in (NOON + HOUR, NOON + 2 * HOUR - SECOND, NOON + 9 * HOUR):
            assert (await harness.explanations.explain(ADA, task.id, at)).outage is None
        skipped = await harness.explanations.explain(ADA, task.id, NOON + HOUR)
        assert skipped.explanation.reason is Reason.SKIP_REQUESTED


async def test_explanation_without_an_outage_record_names_no_outage() -> None:
    async with open_harness() as harness:
        task = await harness.add()
        await an_outage(harness, 5.5 * HOUR)
        await harness.claim()
        explanations = Explanations(harness.store, harness.clock)
        assert (await explanations.explain(ADA, task.id, NOON + 3 * HOUR)).outage is None


async def test_missing_labels_are_named_beside_a_missing_function() -> None:
    async with open_harness() as harness:
        task = await harness.add("now", options=Options(where={"gpu": "a100"}))
        why = await harness.explanations.explain(ADA, task.id, None)
        assert "gpu=a100" in why.explanation.english
        assert "garden.water" in why.explanation.english
        assert "gpu=a100" in why.explanation.chinese
