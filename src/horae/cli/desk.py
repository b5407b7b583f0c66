"""What most commands work at: the use cases of an opened store, without engine, functions and listeners.

It is the library's `Horae` for those who only ask and order: loading that costs a command a tenth of a second more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TypeVar

from ..clock import Clock, SystemClock
from ..errors import NotFound
from ..model.principal import LOCAL, Principal
from ..model.task import Target
from ..ports.keeping import Keeping
from ..runtime.choosing import chosen_wake
from ..runtime.sealed import sealing_of
from ..runtime.stores import make_store, make_wakeup
from ..service.secrets import SecretBox
from ..service.service import Service
from ..settings import Settings
from .session import home_zone, opened_url, settings_of

T = TypeVar("T")


class Desk:
    """An open store, who is asking, and in which zone; every write rings for the engines of other processes."""

    who: Final[Principal] = LOCAL

    def __init__(self, url: str, store: Keeping, settings: Settings) -> None:
        self.store = store
        self.zone = home_zone(None, settings).name
        self.clock: Clock = SystemClock()
        self._ring = make_wakeup(url, precise=chosen_wake(settings, os.environ))
        secrets = SecretBox(store, sealing_of(url, settings.value("key_file")), self.clock)
        self.service = Service(store, self.clock, self.zone, secrets, check=_checked, told=self.told)

    def told(self, _due: datetime | None) -> None:
        self._ring.ring()

    async def anybody(self) -> bool:
        """Whether somebody is there to run what is due; who has died without a word does not count."""
        from ..engine.home import is_gone  # noqa: PLC0415 - few commands ask

        return not all(is_gone(node.home) for node in await self.store.nodes())

    async def close(self) -> None:
        await self._ring.finish()


def at_desk(store: str | None, work: Callable[[Desk], Awaitable[T]], *, create: bool = False) -> T:
    """Open the store, do it, close it again. Unless it is to be made, a file that is not there is refused."""
    url = opened_url(store, create=create)
    return asyncio.run(_within(url, settings_of(store), work))


async def _within(url: str, settings: Settings, work: Callable[[Desk], Awaitable[T]]) -> T:
    store = make_store(url)
    try:
        await store.open()
        desk = Desk(url, store, settings)
        try:
            return await work(desk)
        except NotFound as refusal:
            if refusal.code != "no_such_task":
                raise
            from .nearest import with_nearest  # noqa: PLC0415 - only for what was mistyped

            raise await with_nearest(desk, refusal) from None
        finally:
            await desk.close()
    finally:
        await store.close()


def _checked(target: Target, payload: str) -> Target:
    from ..runtime.kinds import Kinds  # noqa: PLC0415 - only what makes or edits a task looks at targets

    return Kinds(settings_of(None)).check(target, payload)
