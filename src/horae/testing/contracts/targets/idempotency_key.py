"""Where the other side can see the idempotency key: it is the same for every attempt, and for no other occurrence."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from abc import abstractmethod

from ....model.outcome import Outcome, Succeeded
from ...factories import HOUR, NOON
from ...invocations import RecordingInvocation
from .harness import Stage, TargetCase


class TargetKeysContract(TargetCase):
    @abstractmethod
    def key_seen(self, stage: Stage, invocation: RecordingInvocation, outcome: Outcome) -> str:
        """The key that arrived on the other side, of a run of `succeeding` that has just ended."""

    async def test_every_attempt_has_the_same_key(self, stage: Stage) -> None:
        first, second = [await self._key_of(stage, stage.invocation(self.succeeding(), attempt=n)) for n in (1, 2)]
        assert first == second
        other = await self._key_of(stage, stage.invocation(self.succeeding(), planned=NOON + HOUR))
        assert other != first

    async def _key_of(self, stage: Stage, invocation: RecordingInvocation) -> str:
        outcome = await stage.carried(invocation)
        assert isinstance(outcome, Succeeded), outcome
        key = self.key_seen(stage, invocation, outcome)
        assert key == invocation.key
        return key
