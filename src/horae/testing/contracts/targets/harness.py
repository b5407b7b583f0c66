"""Base class of the target contracts: a subclass describes its target, and every test opens a new one."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from ....clock import SystemClock
from ....model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut, Waiting
from ....model.task import Target as TargetField
from ....ports.target import Target, TargetKind, Tools
from ...factories import NOON, a_run, a_task
from ...invocations import RecordingInvocation
from .leak_check import ProcessSnapshot

Spec: TypeAlias = Mapping[str, Any]
TestCoroutine: TypeAlias = Callable[["TargetCase", "TargetHarness"], Awaitable[None]]


class KnownSecrets:
    """Secrets from a dict, the same for every owner."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    async def reveal(self, owner: str, name: str) -> str | None:  # noqa: ARG002 - see above
        return self._values.get(name)


class TargetHarness:
    """One open target, with methods that build invocations and execute them."""

    def __init__(self, case: TargetCase) -> None:
        self._case = case
        self.kind = case.kind()
        self.published: list[tuple[str, Mapping[str, Any]]] = []
        self.target: Target = self.kind.open(self._tools())
        self.patience = case.patience

    def _tools(self) -> Tools:
        publish = lambda topic, body: self.published.append((topic, body))  # noqa: E731 - one line where it is used
        return Tools(SystemClock(), KnownSecrets(self._case.secrets()), self._case.settings(), publish)

    def check(self, spec: Any) -> Spec:
        return self.kind.check(spec, self._case.payload(), self._case.settings())

    def invocation(self, spec: Spec, *, planned: datetime = NOON, attempt: int = 1) -> RecordingInvocation:
        """An invocation of a task that was created with this spec."""
        return self.stored_invocation(json.dumps(self.check(spec)), planned=planned, attempt=attempt)

    def stored_invocation(self, spec: str, *, planned: datetime = NOON, attempt: int = 1) -> RecordingInvocation:
        """An invocation of a task whose stored spec is this text, valid or not."""
        target = TargetField(self.kind.kind, spec)
        task = a_task(id="tsk_contract", target=target, payload=json.dumps(self._case.payload()))
        return RecordingInvocation(task, a_run(task, planned=planned, attempt=attempt))

    async def run(self, spec: Spec) -> tuple[Outcome, RecordingInvocation]:
        invocation = self.invocation(spec)
        return await self.execute(invocation), invocation

    async def execute(self, invocation: RecordingInvocation) -> Outcome:
        """Execute within the time limit and assert that an outcome is returned."""
        async with asyncio.timeout(self.patience.total_seconds()):
            outcome = await self.target.execute(invocation)
        assert isinstance(outcome, Succeeded | Failed | TimedOut | Cancelled | Skipped | Waiting), outcome
        return outcome

    async def close(self) -> None:
        close = getattr(self.target, "aclose", None)
        if close is not None:
            await close()


class TargetCase(ABC):
    """Wraps each `async def test_…(self, harness)` in a synchronous test; a subclass describes the target.

    With pytest, name the subclass `Test…`, and call `pytest.register_assert_rewrite("horae.testing.contracts")` in a
    conftest.py, so that a failure shows what was compared.
    """

    patience = timedelta(seconds=30)
    """Time limit of any step; only a broken target reaches it."""

    @abstractmethod
    def kind(self) -> TargetKind: ...

    @abstractmethod
    def succeeding(self) -> Spec:
        """A spec that succeeds, soon."""

    @abstractmethod
    def failing(self) -> Spec:
        """A spec that is accepted and fails, soon."""

    @abstractmethod
    def endless(self) -> Spec:
        """A spec that never ends by itself."""

    def verbose(self) -> Spec:
        """A spec with as much output as possible, more than the limits where the target can produce it."""
        return self.succeeding()

    def settings(self) -> Mapping[str, Any]:
        """The operator's settings for this kind of target."""
        return {}

    def payload(self) -> Any:
        return {}

    def secrets(self) -> Mapping[str, str]:
        return {}

    async def wait_until_running(self, invocation: RecordingInvocation) -> None:
        """Wait until the endless run has started. Override it where the target sends neither log lines nor heartbeats."""
        await invocation.wait_for_activity(self.patience)

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[None]:
        """Set up what the target needs before it is opened: a server that it calls, a file that it reads."""
        yield

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _as_sync_test(name, test))


async def _run_test(case: TargetCase, test_body: TestCoroutine) -> None:
    """Run one test, close the target, and assert that no asyncio task, process, socket or pipe is left."""
    async with case.environment():
        before = ProcessSnapshot.now()
        harness = TargetHarness(case)
        try:
            await test_body(case, harness)
        finally:
            await harness.close()
        await before.assert_no_leaks(case.patience)


def _as_sync_test(name: str, test_body: TestCoroutine) -> Callable[[TargetCase], None]:
    def test(self: TargetCase) -> None:
        asyncio.run(_run_test(self, test_body))

    # Not `functools.wraps`: `__wrapped__` would show a test runner the parameters of the coroutine.
    test.__name__, test.__doc__ = name, test_body.__doc__
    test.__qualname__, test.__module__ = test_body.__qualname__, test_body.__module__
    return test
