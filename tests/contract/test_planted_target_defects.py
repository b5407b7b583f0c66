"""Mutation check of the target contract: each planted defect fails the contract test listed for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from horae.model.outcome import Outcome, Succeeded
from horae.ports.target import TargetKind
from horae.testing import RecordingInvocation
from horae.testing.contracts import TargetContract, TargetKeysContract, TargetSecretsContract
from horae.testing.contracts.targets import SECRET_NAME, TargetHarness

from .defective_targets import DEFECTS, CorrectTarget, LeavesAChild, LeavesASocket, LeavesATask


class DeedContract(TargetContract, TargetKeysContract, TargetSecretsContract):
    patience = timedelta(seconds=0.2)  # a defective target uses all of it

    deed: CorrectTarget = CorrectTarget()

    def kind(self) -> TargetKind:
        return self.deed

    def succeeding(self) -> Mapping[str, Any]:
        return {"deed": "succeed"}

    def failing(self) -> Mapping[str, Any]:
        return {"deed": "fail"}

    def endless(self) -> Mapping[str, Any]:
        return {"deed": "wait"}

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        assert isinstance(outcome, Succeeded)
        return str(json.loads(outcome.result or "")["key"])

    def secret_specs(self) -> Sequence[Mapping[str, Any]]:
        return ({"deed": "succeed", "token": {"secret": SECRET_NAME}},)


TESTS = [name for name in dir(DeedContract) if name.startswith("test_")]


class TestCorrectTarget(DeedContract):
    patience = timedelta(seconds=30)


def test_every_chapter_is_tested_by_a_defect() -> None:
    assert set(DEFECTS.values()) <= set(TESTS)
    assert len(TESTS) > 15


@pytest.fixture
def _swept() -> Iterator[None]:
    yield
    for child in LeavesAChild.left:
        child.kill()
        child.wait()
    for number in LeavesASocket.left:
        number.close()
    for left in (LeavesAChild.left, LeavesASocket.left, LeavesATask.left):
        left.clear()


@pytest.mark.usefixtures("_swept")
@pytest.mark.parametrize(
    ("defect", "name"), DEFECTS.items(), ids=lambda case: case if isinstance(case, str) else case.__name__
)
def test_a_planted_defect_is_noticed(defect: type[CorrectTarget], name: str) -> None:
    contract = DeedContract()
    contract.deed = defect()
    with pytest.raises((AssertionError, ValueError, TypeError)):
        getattr(contract, name)()
