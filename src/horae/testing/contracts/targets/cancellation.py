"""Contract of cancellation: a cancelled run ends soon, cleanly, and without affecting other runs."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from ....model.outcome import Outcome, Succeeded
from ...invocations import RecordingInvocation
from .execution import assert_within_limits
from .harness import TargetCase, TargetHarness


class CancellationContract(TargetCase):
    async def test_an_endless_run_that_is_cancelled_ends(self, harness: TargetHarness) -> None:
        execution, invocation = await self._start_endless(harness)
        execution.cancel()
        await _assert_cancelled(harness, execution, invocation)

    async def test_a_run_that_the_engine_cancels_ends(self, harness: TargetHarness) -> None:
        """The engine calls the target's cancel action, then cancels the coroutine, and repeats both."""
        execution, invocation = await self._start_endless(harness)
        for _ in range(2):
            invocation.end()
            execution.cancel()
        await _assert_cancelled(harness, execution, invocation)

    async def test_a_run_that_is_cancelled_at_once_ends(self, harness: TargetHarness) -> None:
        invocation = harness.invocation(self.endless())
        execution = asyncio.create_task(harness.target.execute(invocation))
        await asyncio.wait([execution], timeout=0)
        execution.cancel()
        await _assert_cancelled(harness, execution, invocation)

    async def test_cancelling_one_run_does_not_affect_another(self, harness: TargetHarness) -> None:
        first, first_invocation = await self._start_endless(harness)
        second, second_invocation = await self._start_endless(harness)
        first.cancel()
        await _assert_cancelled(harness, first, first_invocation)
        assert not second.done()
        outcome, _ = await harness.run(self.succeeding())
        assert isinstance(outcome, Succeeded)
        second.cancel()
        await _assert_cancelled(harness, second, second_invocation)

    async def _start_endless(self, harness: TargetHarness) -> tuple[asyncio.Task[Outcome], RecordingInvocation]:
        invocation = harness.invocation(self.endless())
        execution = asyncio.create_task(harness.target.execute(invocation))
        await self.wait_until_running(invocation)
        assert not execution.done(), "the endless spec has ended by itself"
        return execution, invocation


async def _assert_cancelled(
    harness: TargetHarness, execution: asyncio.Task[Outcome], invocation: RecordingInvocation
) -> None:
    done, _ = await asyncio.wait([execution], timeout=harness.patience.total_seconds())
    assert done, "the cancelled run did not end"
    if not execution.cancelled():
        error = execution.exception()
        assert error is None, f"cancellation raised {error!r}"
    assert_within_limits(Succeeded(), invocation)
