"""Doctor: callers share one examination, wait for it no longer than they want, and admins alone see it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.errors import NotAllowed
from horae.message import Message
from horae.model.accounts.principal import LOCAL, Principal
from horae.ports.doctor import Check, make_check
from horae.service.doctor import MAX_AGE, Doctor, SharedResult
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock

FINE = make_check("python", "ok", Message("fine", "正常"))
NOW = timedelta(0)


class Examination:
    """Counts its runs; each waits for `release`."""

    def __init__(self) -> None:
        self.runs = 0
        self.release = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> tuple[Check, ...]:
        self.runs += 1
        await self.release.wait()
        if self.error is not None:
            raise self.error
        return (FINE,) * self.runs


async def test_concurrent_callers_share_one_examination() -> None:
    work, clock = Examination(), VirtualClock(NOON)
    doctor = Doctor(clock, work)
    waiting = [asyncio.ensure_future(doctor.report(LOCAL)) for _ in range(3)]
    assert await doctor.latest(LOCAL) is None
    assert doctor.is_running
    work.release.set()
    reports = await asyncio.gather(*waiting)
    assert [(report.at, report.checks) for report in reports] == [(NOON, (FINE,))] * 3
    assert (work.runs, doctor.is_running) == (1, False)


async def test_report_is_kept_for_its_age_and_then_made_again_in_the_background() -> None:
    work, clock = Examination(), VirtualClock(NOON)
    doctor = Doctor(clock, work)
    work.release.set()
    first = await doctor.report(LOCAL)
    clock.advance(MAX_AGE.total_seconds())
    assert await doctor.report(LOCAL) == first
    clock.advance(1.0)
    work.release.clear()
    # The caller without patience gets the report before, and the checks go on.
    assert await doctor.latest(LOCAL) == first
    assert doctor.is_running
    work.release.set()
    second = await doctor.report(LOCAL)
    assert (second.at, len(second.checks), work.runs) == (NOON + MAX_AGE + timedelta(seconds=1), 2, 2)


async def test_failed_examination_is_raised_and_made_again() -> None:
    work = Examination()
    shared = SharedResult(work, VirtualClock(NOON))
    work.error = ValueError("no")
    work.release.set()
    with pytest.raises(ValueError, match="no"):
        await shared.get(NOW)
    work.error = None
    found = await shared.get(NOW)
    assert found is not None
    assert (work.runs, len(found.value)) == (2, 2)


async def test_close_ends_an_examination_and_a_later_call_starts_another() -> None:
    work = Examination()
    doctor = Doctor(VirtualClock(NOON), work)
    assert await doctor.latest(LOCAL) is None
    await doctor.close()
    assert not doctor.is_running
    work.release.set()
    assert len((await doctor.report(LOCAL)).checks) == 2


def test_examination_of_an_ended_event_loop_is_not_waited_for() -> None:
    work = Examination()
    shared = SharedResult(work, VirtualClock(NOON))
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(shared.get(NOW, 0.0)) is None
    work.release.set()
    with asyncio.Runner() as runner:
        found = runner.run(shared.get(NOW))
    assert found is not None
    assert len(found.value) == 2
    (left,) = asyncio.all_tasks(loop)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(left)
    loop.close()


async def test_only_admins_get_a_report() -> None:
    work = Examination()
    doctor = Doctor(VirtualClock(NOON), work)
    for call in (doctor.report, doctor.latest):
        with pytest.raises(NotAllowed):
            await call(Principal("ada"))
    assert work.runs == 0
