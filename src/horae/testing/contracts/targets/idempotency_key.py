"""Contract of the idempotency key: the same for every attempt of an occurrence, and for no other occurrence."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from abc import abstractmethod

from ....model.outcome import Outcome, Succeeded
from ...factories import HOUR, NOON
from ...invocations import RecordingInvocation
from .harness import TargetCase, TargetHarness


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
