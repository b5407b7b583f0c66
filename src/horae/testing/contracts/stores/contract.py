"""Base class of the store contracts: a subclass opens the store, and every test gets a new, empty one."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from ....model.limits import CLAIM_SLICE
from ....ports.full_store import FullStore

TestCoroutine: TypeAlias = Callable[["Contract", FullStore], Awaitable[None]]


class Contract(ABC):
    """Wraps each `async def test_…(self, store)` in a synchronous test, so that any test runner can collect it.

    With pytest, name the subclass `Test…`, and call `pytest.register_assert_rewrite("horae.testing.contracts")` in a
    conftest.py, so that a failure shows what was compared.
    """

    slice_size: int = CLAIM_SLICE
    """Largest number of entries that one claim decides. A store whose claim does not block other writers may raise it."""

    @abstractmethod
    def make(self) -> AbstractAsyncContextManager[FullStore]:
        """Opens a new, empty store and closes it at the end of the block."""

    @asynccontextmanager
    async def another(self, store: FullStore) -> AsyncIterator[FullStore]:
        """Opens a second handle on the same data, as another process does. Override it where data outlives the object."""
        yield store

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _as_sync_test(name, test))


def _as_sync_test(name: str, test_body: TestCoroutine) -> Callable[[Contract], None]:
    async def play(contract: Contract) -> None:
        async with contract.make() as store:
            await test_body(contract, store)

    def test(self: Contract) -> None:
        asyncio.run(play(self))

    # Not `functools.wraps`: `__wrapped__` would show a test runner the parameters of the coroutine.
    test.__name__, test.__doc__ = name, test_body.__doc__
    test.__qualname__, test.__module__ = test_body.__qualname__, test_body.__module__
    return test
