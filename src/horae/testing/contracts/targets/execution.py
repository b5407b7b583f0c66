"""Carrying a run: always an outcome, within bounds, whatever stands in the store."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import json

from ....model.limits import ERROR_CHARACTERS, LOG_LINE_CHARACTERS, LOG_LINES, RESULT_BYTES
from ....model.outcome import Failed, Outcome, Succeeded
from ...invocations import RecordingInvocation
from .harness import Stage, TargetCase

_AT_ONCE = 4


class ExecutingContract(TargetCase):
    async def test_what_succeeds_is_a_success(self, stage: Stage) -> None:
        outcome, invocation = await stage.carry(self.succeeding())
        assert isinstance(outcome, Succeeded), (outcome, invocation.said)
        within_bounds(outcome, invocation)

    async def test_what_fails_is_told_as_a_failure(self, stage: Stage) -> None:
        outcome, invocation = await stage.carry(self.failing())
        assert isinstance(outcome, Failed), (outcome, invocation.said)
        assert outcome.error.strip()
        within_bounds(outcome, invocation)

    async def test_what_is_said_is_bounded(self, stage: Stage) -> None:
        outcome, invocation = await stage.carry(self.talkative())
        within_bounds(outcome, invocation)

    async def test_a_spec_that_nobody_checked_is_a_failure_too(self, stage: Stage) -> None:
        """A store may hold what an older version wrote, or what somebody has put there."""
        for spec in ("", "null", "[]", '"text"', "{not json", '{"no_such_key_of_any_target":1}', "[" * 100_000):
            invocation = stage.stored(spec)
            outcome = await stage.carried(invocation)
            assert isinstance(outcome, Failed), (spec[:100], outcome)
            within_bounds(outcome, invocation)

    async def test_runs_go_side_by_side(self, stage: Stage) -> None:
        carried = await asyncio.gather(*(stage.carry(self.succeeding()) for _ in range(_AT_ONCE)))
        assert all(isinstance(outcome, Succeeded) for outcome, _ in carried), carried

    async def test_a_failure_does_not_spoil_the_next_run(self, stage: Stage) -> None:
        await stage.carry(self.failing())
        outcome, _ = await stage.carry(self.succeeding())
        assert isinstance(outcome, Succeeded)


def within_bounds(outcome: Outcome, invocation: RecordingInvocation) -> None:
    """What an engine would have to cut off is not the target's to send."""
    if isinstance(outcome, Succeeded) and outcome.result is not None:
        assert len(outcome.result.encode()) <= RESULT_BYTES
        json.loads(outcome.result)
    if isinstance(outcome, Failed):
        assert len(outcome.error) <= ERROR_CHARACTERS
    # One line more, which says that there was more.
    assert len(invocation.said) <= LOG_LINES + 1
    for said in invocation.said:
        assert len(said.text) <= LOG_LINE_CHARACTERS
        assert "\0" not in said.text
        said.text.encode()  # no halves of characters: no store could keep them
