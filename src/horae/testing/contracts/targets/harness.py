"""What the contracts of targets share: a subclass describes its target, and every test gets it freshly opened."""
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
from .leak_check import Footprint

Spec: TypeAlias = Mapping[str, Any]
Scene: TypeAlias = Callable[["TargetCase", "Stage"], Awaitable[None]]


class KnownSecrets:
    """Secrets that a test has made up. Every owner has the same."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    async def reveal(self, owner: str, name: str) -> str | None:  # noqa: ARG002 - see above
        return self._values.get(name)


class Stage:
    """One open target, and what it takes to carry runs to it."""

    def __init__(self, case: TargetCase) -> None:
        self._case = case
        self.kind = case.kind()
        self.published: list[tuple[str, Mapping[str, Any]]] = []
        self.target: Target = self.kind.open(self._tools())
        self.patience = case.patience

    def _tools(self) -> Tools:
        tell = lambda topic, body: self.published.append((topic, body))  # noqa: E731 - one line where it is used
        return Tools(SystemClock(), KnownSecrets(self._case.secrets()), self._case.settings(), tell)

    def check(self, spec: Any) -> Spec:
        return self.kind.check(spec, self._case.payload(), self._case.settings())

    def invocation(self, spec: Spec, *, planned: datetime = NOON, attempt: int = 1) -> RecordingInvocation:
        """A run of a task that was made with this spec."""
        return self.stored(json.dumps(self.check(spec)), planned=planned, attempt=attempt)

    def stored(self, spec: str, *, planned: datetime = NOON, attempt: int = 1) -> RecordingInvocation:
        """A run of a task in whose store this text stands, whatever it is."""
        target = TargetField(self.kind.kind, spec)
        task = a_task(id="tsk_of_the_contract", target=target, payload=json.dumps(self._case.payload()))
        return RecordingInvocation(task, a_run(task, planned=planned, attempt=attempt))

    async def carry(self, spec: Spec) -> tuple[Outcome, RecordingInvocation]:
        invocation = self.invocation(spec)
        return await self.carried(invocation), invocation

    async def carried(self, invocation: RecordingInvocation) -> Outcome:
        """Its outcome, in time; that it is one is part of every contract."""
        async with asyncio.timeout(self.patience.total_seconds()):
            outcome = await self.target.execute(invocation)
        assert isinstance(outcome, Succeeded | Failed | TimedOut | Cancelled | Skipped | Waiting), outcome
        return outcome

    async def close(self) -> None:
        close = getattr(self.target, "aclose", None)
        if close is not None:
            await close()


class TargetCase(ABC):
    """One target, described: tests are coroutines that get a stage; here they become plain functions.

    With pytest, name the subclass `Test…`, and call `pytest.register_assert_rewrite("horae.testing.contracts")` in a
    conftest.py, so that a failure shows what was compared.
    """

    patience = timedelta(seconds=30)
    """How long anything may take; only what is broken takes that long."""

    @abstractmethod
    def kind(self) -> TargetKind: ...

    @abstractmethod
    def succeeding(self) -> Spec:
        """A spec that leads to a success, soon."""

    @abstractmethod
    def failing(self) -> Spec:
        """A spec that is accepted, and leads to a failure, soon."""

    @abstractmethod
    def endless(self) -> Spec:
        """A spec that never ends by itself."""

    def talkative(self) -> Spec:
        """A spec that says as much as it can; more than is kept, where that is possible."""
        return self.succeeding()

    def settings(self) -> Mapping[str, Any]:
        """The operator's."""
        return {}

    def payload(self) -> Any:
        return {}

    def secrets(self) -> Mapping[str, str]:
        return {}

    async def under_way(self, invocation: RecordingInvocation) -> None:
        """Until the endless one is really at work. Override this where it gives no sign of life."""
        await invocation.sign_of_life(self.patience)

    @asynccontextmanager
    async def surroundings(self) -> AsyncIterator[None]:
        """What must be there before the target is opened: a server that it calls, a file that it reads."""
        yield

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _as_sync_test(name, test))


async def _play(case: TargetCase, scene: Scene) -> None:
    """Whatever a test is about: when its target is closed, nothing of it may be left."""
    async with case.surroundings():
        before = Footprint.now()
        stage = Stage(case)
        try:
            await scene(case, stage)
        finally:
            await stage.close()
        await before.is_all_there_is(case.patience)


def _as_sync_test(name: str, scene: Scene) -> Callable[[TargetCase], None]:
    def test(self: TargetCase) -> None:
        asyncio.run(_play(self, scene))

    # Not `functools.wraps`: a test runner must not look through to the parameters of the coroutine.
    test.__name__, test.__doc__ = name, scene.__doc__
    test.__qualname__, test.__module__ = scene.__qualname__, scene.__module__
    return test
