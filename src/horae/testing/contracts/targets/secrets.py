"""Where a target can be given secrets: they are used, and they are never shown."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

from ....model.outcome import Failed, Outcome
from ...invocations import RecordingInvocation
from .harness import Spec, Stage, TargetCase

SECRET_NAME: Final = "of_the_contract"  # noqa: S105 - made up
SECRET: Final = 'corect-hörse "battery" stäple'  # noqa: S105 - made up
"""With a quotation mark and letters that JSON may escape: it must not be shown in any of its forms."""


class TargetSecretsContract(TargetCase):
    @abstractmethod
    def revealing(self) -> Sequence[Spec]:
        """Specs with `{"secret": SECRET_NAME}` in them, which bring it to light as well as they can."""

    def secrets(self) -> Mapping[str, str]:
        return {SECRET_NAME: SECRET}

    async def test_a_secret_is_never_shown(self, stage: Stage) -> None:
        for spec in self.revealing():
            outcome, invocation = await stage.carry(spec)
            shown = _shown(outcome, invocation)
            assert SECRET_NAME not in shown, f"it seems that the secret was not found: {shown}"
            for piece in (SECRET, *SECRET.replace('"', " ").split()):
                assert piece not in shown

    async def test_a_secret_that_is_missing_is_a_failure_for_good(self, stage: Stage) -> None:
        for spec in self.revealing():
            invocation = stage.stored(_renamed(stage, spec))
            outcome = await stage.carried(invocation)
            assert isinstance(outcome, Failed), outcome
            assert outcome.permanent
            assert "no_such_secret" in outcome.error


def _renamed(stage: Stage, spec: Spec) -> str:
    return stage.invocation(spec).task.target.spec.replace(SECRET_NAME, "no_such_secret")


def _shown(outcome: Outcome, invocation: RecordingInvocation) -> str:
    return "\n".join([*invocation.texts(), *(str(part) for part in outcome)])
