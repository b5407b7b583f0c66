"""What all contracts share: a subclass says how to open a store, and every test gets a fresh one."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeAlias

from ....model.limits import CLAIM_SLICE
from ....ports.journal import Journal
from ....ports.records import Records
from ....ports.store import Store
from ....ports.transfer import Moving


class WholeStore(Store, Records, Journal, Moving, Protocol):
    """A store with its records, its journal and a way out and in: what a deployment opens."""


Scene: TypeAlias = Callable[["Contract", WholeStore], Awaitable[None]]


class Contract(ABC):
    """Tests are coroutines that get an open store; here they become plain functions, which every test runner knows.

    With pytest, name the subclass `Test…`, and call `pytest.register_assert_rewrite("horae.testing.contracts")` in a
    conftest.py, so that a failure shows what was compared.
    """

    slice_size: int = CLAIM_SLICE
    """The most that the store takes in one claim; one that does not keep others from writing meanwhile may take more."""

    @abstractmethod
    def make(self) -> AbstractAsyncContextManager[WholeStore]:
        """A new and empty store, open until the block ends."""

    @asynccontextmanager
    async def another(self, store: WholeStore) -> AsyncIterator[WholeStore]:
        """A second handle on the same data, as another process has. Override this wherever data outlives an object."""
        yield store

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _as_sync_test(name, test))


def _as_sync_test(name: str, scene: Scene) -> Callable[[Contract], None]:
    async def play(contract: Contract) -> None:
        async with contract.make() as store:
            await scene(contract, store)

    def test(self: Contract) -> None:
        asyncio.run(play(self))

    # Not `functools.wraps`: a test runner must not look through to the parameters of the coroutine.
    test.__name__, test.__doc__ = name, scene.__doc__
    test.__qualname__, test.__module__ = scene.__qualname__, scene.__module__
    return test
