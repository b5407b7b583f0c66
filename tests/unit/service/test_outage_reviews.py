"""Reviews of outages: counts by outcome, the tasks that were not made up for, per owner, until they are dismissed."""

from __future__ import annotations

from horae.service.runs.outage_reviews import MissedTask, OutageSummary
from horae.service.runs.outages import Outage
from horae.service.tasks.task_request import Options
from horae.testing.factories import HOUR, NOON
from tests.unit.service.service_harness import ADA, BOB, ROOT, ServiceHarness, open_harness


async def _stop_for(harness: ServiceHarness, hours: int) -> Outage:
    """No node runs for some hours; then one starts, and claims what is due."""
    await harness.service.outages.record_stop()
    harness.advance(hours * HOUR)
    outage = await harness.service.outages.record_start()
    assert outage is not None
    await harness.claim()
    return outage


async def test_review_counts_what_came_due_and_names_the_tasks_that_were_not_made_up_for() -> None:
    async with open_harness() as harness:
        skipping = await harness.add("every 1h", options=Options(missed="skip"))
        await harness.add("every 1h", options=Options(missed="latest"))
        outage = await _stop_for(harness, 3)
        review = await harness.service.outage_reviews.latest(ADA)
        assert review is not None
        assert (review.outage, review.is_partial) == (outage, False)
        assert review.summary == OutageSummary(made_up=1, merged=2, skipped=3)
        name = skipping.name
        assert review.missed == (MissedTask(skipping.id, name, 3, NOON + HOUR, NOON + 3 * HOUR),)


async def test_review_shows_an_owner_its_own_tasks_only() -> None:
    async with open_harness() as harness:
        await harness.add("every 1h", options=Options(missed="skip"))
        await _stop_for(harness, 2)
        own, other, all_owners = [await harness.service.outage_reviews.latest(who) for who in (ADA, BOB, ROOT)]
        assert own == all_owners
        assert (own and own.summary.due, other and other.summary.due, other and other.missed) == (2, 0, ())


async def test_dismissed_outage_is_reviewed_no_more_by_its_owner_and_the_next_one_is() -> None:
    async with open_harness() as harness:
        outage = await _stop_for(harness, 1)
        await harness.service.outage_reviews.dismiss(ADA, outage.until)
        assert await harness.service.outage_reviews.latest(ADA) is None
        assert await harness.service.outage_reviews.latest(BOB) is not None
        later = await _stop_for(harness, 1)
        review = await harness.service.outage_reviews.latest(ADA)
        assert review is not None
        assert review.outage == later
        await harness.service.outage_reviews.dismiss(ADA, later.until)
        assert await harness.service.outage_reviews.latest(ADA) is None


async def test_outage_of_the_day_before_yesterday_is_not_reviewed() -> None:
    async with open_harness() as harness:
        await _stop_for(harness, 1)
        harness.advance(25 * HOUR)
        assert await harness.service.outage_reviews.latest(ROOT) is None
