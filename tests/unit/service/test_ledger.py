"""Why: of an instant, a time of day, a day, or the newest there is; and whether any engine ran at all."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import NotFound
from horae.lifecycle.explain import Verdict
from horae.model.outcome import Failed
from horae.model.reason import Reason
from horae.service.runs.ledger import Ledger
from horae.service.tasks.edits import Edits
from horae.testing.factories import DAY, HOUR, MINUTE, NODE, NOON, SECOND
from tests.unit.service.service_harness import ADA, BOB, House, code_of, house_on

MIDNIGHT = NOON + 12 * HOUR


async def test_an_instant_is_explained_by_its_row() -> None:
    async with house_on() as house:
        task = await house.add()
        run = await house.ran(HOUR)
        for at in (NOON + HOUR, "13:00", "2026-03-01T13:00Z", "2026-03-01 13:00", "today 13:00"):
            why = await house.ledger.explain(ADA, task.id, at)
            assert (why.at, why.explanation.verdict, why.explanation.runs) == (NOON + HOUR, Verdict.RAN, (run,))
            assert await house.ledger.why(ADA, task.id, NOON + HOUR) == why.explanation


async def test_of_a_day_the_last_occurrence_that_has_a_row_answers() -> None:
    async with house_on() as house:
        task = await house.add("every 4h")
        runs = [await house.ran(4 * HOUR) for _ in range(5)]
        assert house.clock.now() == NOON + 20 * HOUR
        yesterday = await house.ledger.explain(ADA, task.id, "yesterday")
        today = await house.ledger.explain(ADA, task.id, "2026-03-02")
        assert (yesterday.explanation.runs, today.explanation.runs) == ((runs[1],), (runs[4],))


async def test_of_a_day_without_rows_the_last_planned_one_up_to_now_answers() -> None:
    async with house_on() as house:
        task = await house.add("every 4h")
        house.later(22 * HOUR)
        why = await house.ledger.explain(ADA, task.id, "today")
        assert (why.at, why.explanation.verdict) == (NOON + 20 * HOUR, Verdict.OVERDUE)
        tomorrow = await house.ledger.explain(ADA, task.id, "2026-03-03")
        assert (tomorrow.at, tomorrow.explanation.verdict) == (NOON + 36 * HOUR, Verdict.PENDING)


async def test_midnight_belongs_to_its_day() -> None:
    async with house_on() as house:
        task = await house.add("0 0,12 * * *")
        house.clock.advance((12 * HOUR + MINUTE).total_seconds())
        why = await house.ledger.explain(ADA, task.id, "today")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.OVERDUE)


async def test_of_a_day_on_which_nothing_was_planned_its_beginning_answers() -> None:
    async with house_on() as house:
        task = await house.add("0 9 * * MON")
        why = await house.ledger.explain(ADA, task.id, "2026-03-04")
        assert (why.at, why.explanation.verdict) == (NOON + 2.5 * DAY, Verdict.NOT_PLANNED)


async def test_moment_is_read_in_the_callers_zone_else_in_that_of_the_task() -> None:
    async with house_on() as house:
        tokyo = await house.add("0 9 * * *", zone="Asia/Tokyo")
        why = await house.ledger.explain(ADA, tokyo.id, "2026-03-01 19:00", "America/New_York")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.PENDING)
        why = await house.ledger.explain(ADA, tokyo.id, "2026-03-02 09:00")
        assert (why.at, why.explanation.verdict) == (MIDNIGHT, Verdict.PENDING)
        house.tasks.drafts._zone = None
        anywhere = await house.add("every 1h", zone=None)
        why = await house.ledger.explain(ADA, anywhere.id, "13:00", "America/New_York")
        assert why.at == NOON + 6 * HOUR


async def test_without_a_moment_the_newest_row_answers_and_before_there_is_one_what_is_next() -> None:
    async with house_on() as house:
        task = await house.add()
        why = await house.ledger.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict) == (NOON + HOUR, Verdict.PENDING)
        await house.ran(HOUR)
        failed = await house.ran(HOUR, Failed("no", permanent=True))
        why = await house.ledger.explain(ADA, task.id, None)
        assert (why.at, why.explanation.runs) == (failed.planned, (failed,))


async def test_without_a_moment_a_stretch_answers_for_its_last_instant() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.pause(ADA, task.id)
        house.later(5.5 * HOUR)
        await house.tasks.resume(ADA, task.id)
        why = await house.ledger.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict, why.explanation.reason) == (
            NOON + 5 * HOUR,
            Verdict.SKIPPED,
            Reason.PAUSED,
        )
        day = await house.ledger.explain(ADA, task.id, "today")
        assert day.at == why.at


async def test_a_stretch_that_lasts_beyond_the_day_answers_for_its_last_instant_of_the_day() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.pause(ADA, task.id)
        house.later(30 * HOUR)
        await house.tasks.resume(ADA, task.id)
        why = await house.ledger.explain(ADA, task.id, "2026-03-01")
        assert why.explanation.verdict is Verdict.SKIPPED
        assert why.at == MIDNIGHT - HOUR


async def test_time_between_the_instants_of_a_stretch_was_not_planned() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.pause(ADA, task.id)
        house.later(5.5 * HOUR)
        await house.tasks.resume(ADA, task.id)
        for at in (NOON + 2.5 * HOUR, "14:30:05"):
            why = await house.ledger.explain(ADA, task.id, at)
            assert why.explanation.verdict is Verdict.NOT_PLANNED, at
        assert (await house.ledger.explain(ADA, task.id, NOON + 2 * HOUR)).explanation.verdict is Verdict.SKIPPED


async def test_stretch_of_an_edited_task_answers_for_the_schedule_that_it_had() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.pause(ADA, task.id)
        house.later(30 * HOUR)
        await house.tasks.resume(ADA, task.id)
        await house.tasks.edit(ADA, task.id, Edits(when="every day at 09:00"))
        why = await house.ledger.explain(ADA, task.id, NOON + 2 * HOUR)
        assert why.explanation.verdict is Verdict.SKIPPED
        day = await house.ledger.explain(ADA, task.id, "2026-03-01")
        assert (day.at, day.explanation.verdict) == (NOON + HOUR, Verdict.SKIPPED)


async def test_a_task_of_which_nothing_is_left_answers_for_now() -> None:
    async with house_on() as house:
        task = await house.add("in 1h")
        await house.tasks.cancel(ADA, task.id)
        why = await house.ledger.explain(ADA, task.id, None)
        assert (why.at, why.explanation.verdict) == (NOON, Verdict.OVER)


@pytest.mark.parametrize("at", [None, NOON, "yesterday", "nonsense"])
async def test_what_is_not_there_is_not_found_whatever_is_asked_of_it(at: object) -> None:
    async with house_on() as house:
        task = await house.add()
        for who, task_id in ((ADA, "tsk_unknown"), (BOB, task.id)):
            with pytest.raises(NotFound):
                await house.ledger.explain(who, task_id, at)  # type: ignore[arg-type]


async def test_what_is_no_moment_is_refused() -> None:
    async with house_on() as house:
        task = await house.add()
        assert await code_of(house.ledger.explain(ADA, task.id, "soonish")) == "unclear_moment"


# --- nothing ran -----------------------------------------------------------------------------------------------------


async def an_outage(house: House, length: timedelta) -> None:
    await house.claim()
    await house.store.leave(NODE)
    await house.service.outages.record_stop()
    house.later(length)
    await house.service.outages.record_start()


async def test_what_was_missed_while_no_engine_ran_says_so() -> None:
    async with house_on() as house:
        task = await house.add()
        await an_outage(house, 5.5 * HOUR)
        (run,) = await house.claim()
        missed = await house.ledger.explain(ADA, task.id, NOON + 3 * HOUR)
        assert (missed.explanation.reason, missed.explanation.verdict) == (Reason.MERGED, Verdict.SKIPPED)
        assert missed.outage is not None
        assert (missed.outage.since, missed.outage.until, missed.outage.clean) == (NOON, NOON + 5.5 * HOUR, True)
        caught_up = await house.ledger.explain(ADA, task.id, run.planned)
        assert caught_up.outage == missed.outage


async def test_what_ran_on_time_or_was_skipped_for_another_reason_blames_no_outage() -> None:
    async with house_on() as house:
        task = await house.add()
        await house.tasks.skip_next(ADA, task.id)
        house.later(HOUR)
        await house.claim()
        await house.ran(HOUR)
        await an_outage(house, 10 * MINUTE)
        for at in (NOON + HOUR, NOON + 2 * HOUR - SECOND, NOON + 9 * HOUR):
            assert (await house.ledger.explain(ADA, task.id, at)).outage is None
        skipped = await house.ledger.explain(ADA, task.id, NOON + HOUR)
        assert skipped.explanation.reason is Reason.SKIP_REQUESTED


async def test_where_nobody_keeps_book_of_outages_none_is_told() -> None:
    async with house_on() as house:
        task = await house.add()
        await an_outage(house, 5.5 * HOUR)
        await house.claim()
        ledger = Ledger(house.store, house.clock)
        assert (await ledger.explain(ADA, task.id, NOON + 3 * HOUR)).outage is None
