"""Contract of secrets in a target: used in the call, never in results, errors or log lines."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

from ....model.outcome import Failed, Outcome
from ...invocations import RecordingInvocation
from .harness import Spec, TargetCase, TargetHarness

SECRET_NAME: Final = "of_the_contract"  # noqa: S105 - made up
SECRET: Final = 'corect-hörse "battery" stäple'  # noqa: S105 - made up
"""Has a quotation mark and non-ASCII letters: JSON escapes of it must not be shown either."""


class TargetSecretsContract(TargetCase):
    @abstractmethod
    def secret_specs(self) -> Sequence[Spec]:
        """Specs with `{"secret": SECRET_NAME}` in them that provoke the target to show it, for example in an error."""

    def secrets(self) -> Mapping[str, str]:
        return {SECRET_NAME: SECRET}

    async def test_a_secret_is_never_shown(self, harness: TargetHarness) -> None:
        for spec in self.secret_specs():
            outcome, invocation = await harness.run(spec)
            shown = _visible_text(outcome, invocation)
            assert SECRET_NAME not in shown, f"the secret was not resolved: {shown}"
            for piece in (SECRET, *SECRET.replace('"', " ").split()):
                assert piece not in shown

    async def test_a_secret_that_is_missing_is_a_failure_for_good(self, harness: TargetHarness) -> None:
        for spec in self.secret_specs():
            invocation = harness.stored_invocation(_with_missing_secret(harness, spec))
            outcome = await harness.execute(invocation)
            assert isinstance(outcome, Failed), outcome
            assert outcome.permanent
            assert "no_such_secret" in outcome.error


def _with_missing_secret(harness: TargetHarness, spec: Spec) -> str:
    return harness.invocation(spec).task.target.spec.replace(SECRET_NAME, "no_such_secret")


def _visible_text(outcome: Outcome, invocation: RecordingInvocation) -> str:
    return "\n".join([*invocation.texts(), *(str(part) for part in outcome)])
