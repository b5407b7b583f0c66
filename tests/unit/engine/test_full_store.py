"""A store without space: the node waits, and logs it once a minute for each loop."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import cast

import pytest

from horae.errors import StoreFull
from horae.runtime.api_service import AuditSealer
from horae.schedule import Every
from horae.service.events.change_signal import ChangeSignal
from horae.service.service import Service
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, ScriptedTarget, add_task, make_engine, wait_until

SECOND = timedelta(seconds=1)
FULL = StoreFull("There is no space left for another write.")
MINUTES = 3


async def run_on_a_full_store(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    for _ in range(20):
        await add_task(store, Every(interval=SECOND), NOON)
    engine = make_engine(store, target, clock)
    await engine.start()
    await clock.pause(2.5)
    for name in ("claim_due", "settle", "renew_lease", "write_lines", "trim"):
        store.fail_before(name, times=100_000, error=FULL)
    await clock.pause(60 * MINUTES)
    seen = len(target.invocations)
    for name in ("claim_due", "settle", "renew_lease", "write_lines", "trim"):
        store.fail_before(name, times=0)
    await wait_until(clock, lambda: len(target.invocations) > seen, within=30)
    await engine.stop()


async def test_full_store_is_logged_once_a_minute_for_each_loop(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        await run_on_a_full_store(clock)
    begins = [message.split(" is paused")[0] for message in caplog.messages if "is paused and tried again" in message]
    assert "claiming" in begins or "lease renewal" in begins
    assert all(begins.count(loop) <= MINUTES + 1 for loop in begins)
    assert len(caplog.messages) <= 2 * (MINUTES + 1) * len(set(begins))


class FullAudit:
    rows_made = 0

    async def seal(self) -> int:
        raise FULL


class FullService:
    audit = FullAudit()
    changes = ChangeSignal()


async def seal_on_a_full_store(clock: VirtualClock) -> None:
    sealing = asyncio.ensure_future(AuditSealer(cast("Service", FullService()), clock).run())
    await clock.pause(60 * MINUTES)
    sealing.cancel()


async def test_sealing_of_the_audit_trail_on_a_full_store_is_logged_once_a_minute(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        await seal_on_a_full_store(clock)
    assert 1 <= len(caplog.messages) <= MINUTES + 1
