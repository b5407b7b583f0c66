"""Hourly counters of SQLite: a run in the far future does not expire the current hours."""

from __future__ import annotations

from pathlib import Path

from horae.clock import SystemClock
from horae.model.change import Change
from horae.model.counts import OUTCOME_RETAINED_HOURS, SUCCEEDED_COUNTER, hour_of
from horae.testing.decisions import always
from horae.testing.factories import DAY, HOUR, a_new_task, a_task, an_ended_run
from tests.unit.stores.sqlite.store_setup import new_store


async def test_run_in_the_far_future_does_not_drop_current_hourly_counts(tmp_path: Path) -> None:
    now = SystemClock().now()
    hour = hour_of(now)

    async with new_store(tmp_path) as store:
        task = a_task()
        await store.add([a_new_task(task)])
        today, old = now.replace(minute=0), now - (OUTCOME_RETAINED_HOURS + 2) * HOUR
        for planned in (old, today, today + 3_000 * DAY, today - HOUR):
            run = an_ended_run(task, planned=planned)
            await store.change(task.id, None, always(Change(new_runs=(run,))))
        found = await store.counts(None, [hour, hour - 1, hour_of(old)])
        assert found[hour, SUCCEEDED_COUNTER] == found[hour - 1, SUCCEEDED_COUNTER] == 1
        assert (hour_of(old), SUCCEEDED_COUNTER) not in found
