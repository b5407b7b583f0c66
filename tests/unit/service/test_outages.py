"""Outages: recorded by the first node that is back, never while another node is live."""

from __future__ import annotations

from datetime import timedelta

from horae.model.outcome import Succeeded
from horae.service.runs.outages import Outage
from horae.testing.factories import HOUR, MICROSECOND, MINUTE, NODE, NOON, SECOND, a_node
from tests.unit.service.service_harness import open_harness


async def test_new_deployment_has_no_outage() -> None:
    async with open_harness() as harness:
        assert await harness.service.outages.record_start() is None
        assert await harness.service.outages.all() == ()
        assert await harness.service.outages.at(NOON) is None


async def test_outage_after_a_clean_stop_begins_with_the_stop() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop()
        harness.advance(HOUR)
        expected = Outage(NOON, NOON + HOUR, clean=True)
        assert await outages.record_start() == expected
        assert await outages.all() == (expected,)


async def test_unrequested_stop_is_not_clean_and_the_next_requested_one_is() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop(requested=False)
        harness.advance(HOUR)
        assert await outages.record_start() == Outage(NOON, NOON + HOUR, clean=False)
        await outages.record_stop()
        harness.advance(HOUR)
        assert await outages.record_start() == Outage(NOON + HOUR, NOON + 2 * HOUR, clean=True)


async def test_outage_after_a_crash_begins_with_the_last_renewal() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop()
        await harness.store.join(a_node(renewed=NOON + 5 * MINUTE))
        harness.advance(HOUR)
        assert await outages.record_start() == Outage(NOON + 5 * MINUTE, NOON + HOUR, clean=False)


async def test_outage_begins_when_the_last_node_dies() -> None:
    async with open_harness() as harness:
        for number, minutes in enumerate((3, 9, 6)):
            await harness.store.join(a_node(f"node-{number}", renewed=NOON + minutes * MINUTE))
        harness.advance(HOUR)
        outage = await harness.service.outages.record_start()
        assert outage is not None
        assert outage.since == NOON + 9 * MINUTE


async def test_node_that_joins_live_nodes_records_no_outage() -> None:
    """They renew every few seconds: a renewal that is a little old is no death."""

    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop()
        harness.advance(HOUR)
        for age in (0, 3, 4, 14):
            await harness.store.join(a_node(renewed=harness.clock.now() - timedelta(seconds=age)))
            assert await outages.record_start() is None, age
        assert await outages.all() == ()


async def test_silence_of_a_node_is_judged_by_its_lease() -> None:
    async with open_harness() as harness:
        await harness.store.join(a_node())
        harness.advance(MINUTE)
        assert await harness.service.outages.record_start(lease=2 * MINUTE) is None, "a long lease: it may be alive"
        harness.advance(MINUTE)
        assert await harness.service.outages.record_start(lease=2 * MINUTE) is not None


async def test_short_lease_expires_soon() -> None:
    async with open_harness() as harness:
        await harness.store.join(a_node())
        harness.advance(5 * SECOND)
        assert await harness.service.outages.record_start(lease=4 * SECOND) is not None


async def test_dead_process_on_this_host_needs_no_lease_timeout() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await harness.store.join(a_node(home="here/7"))
        harness.advance(5 * SECOND)
        assert await outages.record_start(lambda home: home == "elsewhere/7") is None
        assert await outages.record_start(lambda home: home == "here/7") == Outage(NOON, NOON + 5 * SECOND, clean=False)


async def test_quick_restart_is_no_outage() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop()
        harness.advance(SECOND)
        assert await outages.record_start() is None
        harness.advance(HOUR)
        assert await outages.record_start() is not None


async def test_only_the_last_leaving_node_records_the_stop() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await harness.store.join(a_node(NODE, renewed=NOON + 30 * MINUTE))
        harness.advance(10 * MINUTE)
        await outages.record_stop()
        harness.advance(20 * MINUTE)
        await harness.store.leave(NODE)
        await outages.record_stop()
        harness.advance(HOUR)
        outage = await outages.record_start()
        assert outage == Outage(NOON + 30 * MINUTE, NOON + 90 * MINUTE, clean=True)


async def test_concurrent_starts_record_one_outage() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        await outages.record_stop()
        harness.advance(HOUR)
        assert await outages.record_start() == await outages.record_start()
        assert len(await outages.all()) == 1


async def test_outage_lookup_includes_both_ends() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        for _ in range(3):
            await outages.record_stop()
            harness.advance(HOUR)
            await outages.record_start()
            harness.advance(HOUR)
        first, second, third = await outages.all()
        assert [each.since for each in (first, second, third)] == [NOON, NOON + 2 * HOUR, NOON + 4 * HOUR]
        assert await outages.at(second.since) == await outages.at(second.until) == second
        assert await outages.at(second.since - MICROSECOND) is None
        assert await outages.at(second.until + MICROSECOND) is None


async def test_oldest_outages_are_deleted() -> None:
    async with open_harness() as harness:
        outages = harness.service.outages
        for _ in range(205):
            await outages.record_stop()
            harness.advance(MINUTE)
            await outages.record_start()
        kept = await outages.all()
        assert len(kept) == 200
        assert kept[-1].until == harness.clock.now()
        assert kept[0].since == NOON + 5 * MINUTE


async def test_run_after_the_last_renewal_moves_the_start_of_the_outage() -> None:
    async with open_harness() as harness:
        await harness.add()
        run = await harness.run_due(HOUR, Succeeded())
        assert run.ended is not None
        await harness.store.join(a_node(renewed=run.ended - 2 * SECOND))
        harness.advance(HOUR)
        outage = await harness.service.outages.record_start(lambda _home: True)
        assert outage is not None
        assert outage.since == run.ended
