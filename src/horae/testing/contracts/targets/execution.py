"""Contracts of execution: an outcome within the size limits, also for an invalid spec; one idempotency key per occurrence."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod

from ....model.limits import ERROR_CHARACTERS, LOG_LINE_CHARACTERS, LOG_LINES, RESULT_BYTES
from ....model.outcome import Failed, Outcome, Succeeded
from ...factories import HOUR, NOON
from ...invocations import RecordingInvocation
from .harness import TargetCase, TargetHarness

_CONCURRENT = 4


class ExecutionContract(TargetCase):
    async def test_a_succeeding_spec_returns_success(self, harness: TargetHarness) -> None:
        outcome, invocation = await harness.run(self.succeeding())
        assert isinstance(outcome, Succeeded), (outcome, invocation.lines)
        assert_within_limits(outcome, invocation)

    async def test_a_failing_spec_returns_failure(self, harness: TargetHarness) -> None:
        outcome, invocation = await harness.run(self.failing())
        assert isinstance(outcome, Failed), (outcome, invocation.lines)
        assert outcome.error.strip()
        assert_within_limits(outcome, invocation)

    async def test_log_lines_are_bounded(self, harness: TargetHarness) -> None:
        outcome, invocation = await harness.run(self.verbose())
        assert_within_limits(outcome, invocation)

    async def test_an_unchecked_spec_returns_failure(self, harness: TargetHarness) -> None:
        """A store may hold a spec of an older version, or one that was edited by hand."""
        for spec in ("", "null", "[]", '"text"', "{not json", '{"no_such_key_of_any_target":1}', "[" * 100_000):
            invocation = harness.stored_invocation(spec)
            outcome = await harness.execute(invocation)
            assert isinstance(outcome, Failed), (spec[:100], outcome)
            assert_within_limits(outcome, invocation)

    async def test_runs_are_concurrent(self, harness: TargetHarness) -> None:
        carried = await asyncio.gather(*(harness.run(self.succeeding()) for _ in range(_CONCURRENT)))
        assert all(isinstance(outcome, Succeeded) for outcome, _ in carried), carried

    async def test_a_failure_does_not_affect_the_next_run(self, harness: TargetHarness) -> None:
        await harness.run(self.failing())
        outcome, _ = await harness.run(self.succeeding())
        assert isinstance(outcome, Succeeded)


def assert_within_limits(outcome: Outcome, invocation: RecordingInvocation) -> None:
    """Assert that result, error and log lines fit the limits that the engine would enforce by truncation."""
    if isinstance(outcome, Succeeded) and outcome.result is not None:
        assert len(outcome.result.encode()) <= RESULT_BYTES
        json.loads(outcome.result)
    if isinstance(outcome, Failed):
        assert len(outcome.error) <= ERROR_CHARACTERS
    # One more line is the truncation mark.
    assert len(invocation.lines) <= LOG_LINES + 1
    for line in invocation.lines:
        assert len(line.text) <= LOG_LINE_CHARACTERS
        assert "\0" not in line.text
        line.text.encode()  # lone surrogates cannot be stored


# ruff: noqa: S101 - asserting is what a contract does


class TargetKeysContract(TargetCase):
    @abstractmethod
    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:
        """The key that the called system received in a run of `succeeding`."""

    async def test_every_attempt_has_the_same_key(self, harness: TargetHarness) -> None:
        first, second = [await self._key_of(harness, harness.invocation(self.succeeding(), attempt=n)) for n in (1, 2)]
        assert first == second
        other = await self._key_of(harness, harness.invocation(self.succeeding(), planned=NOON + HOUR))
        assert other != first

    async def _key_of(self, harness: TargetHarness, invocation: RecordingInvocation) -> str:
        outcome = await harness.execute(invocation)
        assert isinstance(outcome, Succeeded), outcome
        key = self.received_key(harness, invocation, outcome)
        assert key == invocation.key
        return key
