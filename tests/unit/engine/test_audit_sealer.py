"""Sealing of the audit trail: prompt while there are new rows, and seldom on an idle deployment."""

from __future__ import annotations

import asyncio
from typing import cast

from horae.runtime.api_service import AuditSealer
from horae.service.events.change_signal import ChangeSignal
from horae.service.service import Service
from horae.virtual_time import VirtualClock


class CountedAudit:
    def __init__(self) -> None:
        self.rows_made = self.calls = self.open_rows = 0

    async def seal(self) -> int:
        self.calls += 1
        sealed, self.open_rows = self.open_rows, 0
        return sealed


class ServiceWithAudit:
    def __init__(self) -> None:
        self.audit = CountedAudit()
        self.changes = ChangeSignal()


async def test_idle_deployment_is_asked_for_rows_every_five_seconds(clock: VirtualClock) -> None:
    service = ServiceWithAudit()
    sealing = asyncio.ensure_future(AuditSealer(cast("Service", service), clock).run())
    await clock.pause(60)
    sealing.cancel()
    assert 12 <= service.audit.calls <= 13


async def test_own_rows_are_sealed_within_a_second_and_others_within_six(clock: VirtualClock) -> None:
    service = ServiceWithAudit()
    audit = service.audit
    sealing = asyncio.ensure_future(AuditSealer(cast("Service", service), clock).run())
    await clock.pause(30.2)
    audit.rows_made += 1
    # The write that holds the row takes longer than one interval.
    await clock.pause(1.2)
    audit.open_rows = 1
    await clock.pause(1)
    assert audit.open_rows == 0
    await clock.pause(30)
    audit.open_rows = 1
    await clock.pause(6)
    assert audit.open_rows == 0
    sealing.cancel()
