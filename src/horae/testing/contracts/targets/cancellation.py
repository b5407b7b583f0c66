"""Ending a run early: soon, completely, and only ever by being cancelled. That nothing is left is looked at after each test."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from ....model.outcome import Outcome, Succeeded
from ...invocations import RecordingInvocation
from .execution import within_bounds
from .harness import Stage, TargetCase


class EndingContract(TargetCase):
    async def test_an_endless_run_that_is_cancelled_ends(self, stage: Stage) -> None:
        carrying, invocation = await self._begun(stage)
        carrying.cancel()
        await _ended(stage, carrying, invocation)

    async def test_a_run_that_is_ended_as_an_engine_does_it_ends(self, stage: Stage) -> None:
        """First the target's own action, then the coroutine; and once more for those that do not listen."""
        carrying, invocation = await self._begun(stage)
        for _ in range(2):
            invocation.end()
            carrying.cancel()
        await _ended(stage, carrying, invocation)

    async def test_a_run_that_is_cancelled_at_once_ends(self, stage: Stage) -> None:
        invocation = stage.invocation(self.endless())
        carrying = asyncio.create_task(stage.target.execute(invocation))
        await asyncio.wait([carrying], timeout=0)
        carrying.cancel()
        await _ended(stage, carrying, invocation)

    async def test_one_that_is_cancelled_does_not_touch_another(self, stage: Stage) -> None:
        first, first_invocation = await self._begun(stage)
        second, second_invocation = await self._begun(stage)
        first.cancel()
        await _ended(stage, first, first_invocation)
        assert not second.done()
        outcome, _ = await stage.carry(self.succeeding())
        assert isinstance(outcome, Succeeded)
        second.cancel()
        await _ended(stage, second, second_invocation)

    async def _begun(self, stage: Stage) -> tuple[asyncio.Task[Outcome], RecordingInvocation]:
        invocation = stage.invocation(self.endless())
        carrying = asyncio.create_task(stage.target.execute(invocation))
        await self.under_way(invocation)
        assert not carrying.done(), "what should be endless has ended"
        return carrying, invocation


async def _ended(stage: Stage, carrying: asyncio.Task[Outcome], invocation: RecordingInvocation) -> None:
    done, _ = await asyncio.wait([carrying], timeout=stage.patience.total_seconds())
    assert done, "it goes on although it was cancelled"
    if not carrying.cancelled():
        error = carrying.exception()
        assert error is None, f"instead of being cancelled it raised {error!r}"
    within_bounds(Succeeded(), invocation)
