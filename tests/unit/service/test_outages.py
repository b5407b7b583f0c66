"""Outages: when nothing ran is written down by the first node that comes back, and never while another one is there."""

from __future__ import annotations

from datetime import timedelta

from horae.model.outcome import Succeeded
from horae.service.runs.outages import Outage
from horae.testing.factories import HOUR, MICROSECOND, MINUTE, NODE, NOON, SECOND, a_node
from tests.unit.service.service_harness import house_on


async def test_a_new_deployment_has_had_none() -> None:
    async with house_on() as house:
        assert await house.service.outages.record_start() is None
        assert await house.service.outages.all() == ()
        assert await house.service.outages.at(NOON) is None


async def test_after_a_stop_in_good_order_it_began_with_the_stop() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop()
        house.later(HOUR)
        expected = Outage(NOON, NOON + HOUR, clean=True)
        assert await outages.record_start() == expected
        assert await outages.all() == (expected,)


async def test_a_stop_that_nobody_requested_is_not_clean_and_the_next_requested_one_is() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop(requested=False)
        house.later(HOUR)
        assert await outages.record_start() == Outage(NOON, NOON + HOUR, clean=False)
        await outages.record_stop()
        house.later(HOUR)
        assert await outages.record_start() == Outage(NOON + HOUR, NOON + 2 * HOUR, clean=True)


async def test_after_a_death_it_began_with_the_last_sign_of_life() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop()
        await house.store.join(a_node(renewed=NOON + 5 * MINUTE))
        house.later(HOUR)
        assert await outages.record_start() == Outage(NOON + 5 * MINUTE, NOON + HOUR, clean=False)


async def test_the_last_of_several_to_die_counts() -> None:
    async with house_on() as house:
        for number, minutes in enumerate((3, 9, 6)):
            await house.store.join(a_node(f"node-{number}", renewed=NOON + minutes * MINUTE))
        house.later(HOUR)
        outage = await house.service.outages.record_start()
        assert outage is not None
        assert outage.since == NOON + 9 * MINUTE


async def test_a_node_that_joins_others_finds_none() -> None:
    """They renew every few seconds: a renewal that is a little old is no death."""

    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop()
        house.later(HOUR)
        for age in (0, 3, 4, 14):
            await house.store.join(a_node(renewed=house.clock.now() - timedelta(seconds=age)))
            assert await outages.record_start() is None, age
        assert await outages.all() == ()


async def test_how_long_a_node_may_be_silent_is_a_matter_of_the_lease_that_it_has() -> None:
    async with house_on() as house:
        await house.store.join(a_node())
        house.later(MINUTE)
        assert await house.service.outages.record_start(lease=2 * MINUTE) is None, "a long lease: it may be alive"
        house.later(MINUTE)
        assert await house.service.outages.record_start(lease=2 * MINUTE) is not None


async def test_a_short_lease_is_over_soon() -> None:
    async with house_on() as house:
        await house.store.join(a_node())
        house.later(5 * SECOND)
        assert await house.service.outages.record_start(lease=4 * SECOND) is not None


async def test_whoever_can_see_that_a_process_is_gone_need_not_wait_for_its_lease() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await house.store.join(a_node(home="here/7"))
        house.later(5 * SECOND)
        assert await outages.record_start(lambda home: home == "elsewhere/7") is None
        assert await outages.record_start(lambda home: home == "here/7") == Outage(NOON, NOON + 5 * SECOND, clean=False)


async def test_a_quick_restart_is_not_worth_telling() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop()
        house.later(SECOND)
        assert await outages.record_start() is None
        house.later(HOUR)
        assert await outages.record_start() is not None


async def test_only_the_last_to_leave_says_when_it_stopped() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await house.store.join(a_node(NODE, renewed=NOON + 30 * MINUTE))
        house.later(10 * MINUTE)
        await outages.record_stop()
        house.later(20 * MINUTE)
        await house.store.leave(NODE)
        await outages.record_stop()
        house.later(HOUR)
        outage = await outages.record_start()
        assert outage == Outage(NOON + 30 * MINUTE, NOON + 90 * MINUTE, clean=True)


async def test_two_that_start_at_once_write_one() -> None:
    async with house_on() as house:
        outages = house.service.outages
        await outages.record_stop()
        house.later(HOUR)
        assert await outages.record_start() == await outages.record_start()
        assert len(await outages.all()) == 1


async def test_an_instant_is_looked_up_with_both_ends_included() -> None:
    async with house_on() as house:
        outages = house.service.outages
        for _ in range(3):
            await outages.record_stop()
            house.later(HOUR)
            await outages.record_start()
            house.later(HOUR)
        first, second, third = await outages.all()
        assert [each.since for each in (first, second, third)] == [NOON, NOON + 2 * HOUR, NOON + 4 * HOUR]
        assert await outages.at(second.since) == await outages.at(second.until) == second
        assert await outages.at(second.since - MICROSECOND) is None
        assert await outages.at(second.until + MICROSECOND) is None


async def test_the_oldest_are_forgotten() -> None:
    async with house_on() as house:
        outages = house.service.outages
        for _ in range(205):
            await outages.record_stop()
            house.later(MINUTE)
            await outages.record_start()
        kept = await outages.all()
        assert len(kept) == 200
        assert kept[-1].until == house.clock.now()
        assert kept[0].since == NOON + 5 * MINUTE


async def test_what_a_node_still_ran_after_its_last_renewal_was_a_sign_of_life_too() -> None:
    async with house_on() as house:
        await house.add()
        run = await house.ran(HOUR, Succeeded())
        assert run.ended is not None
        await house.store.join(a_node(renewed=run.ended - 2 * SECOND))
        house.later(HOUR)
        outage = await house.service.outages.record_start(lambda _home: True)
        assert outage is not None
        assert outage.since == run.ended
