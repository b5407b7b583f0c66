"""Store contract for a claim whose process is killed between its reads and its commit: nothing is lost, nothing starts twice."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import subprocess
import sys
from abc import abstractmethod
from signal import SIGKILL
from typing import Final

from .....clock import SystemClock
from .....ports.full_store import FullStore
from ....decisions import succeed
from ....factories import a_node, a_settlement, a_task
from ..contract import Contract
from ..setup import add_tasks, claim

BACKLOG: Final = 40
"""More tasks than a claim of ten takes at once: a store may reserve a part of a backlog."""
_PATIENCE: Final = 60.0
_PAUSE: Final = 0.05
_CLAIM: Final = """
import asyncio, os, signal, sys
from horae.runtime import make_store
from horae.testing.factories import NODE, NOON

async def main():
    store = make_store(sys.argv[1])
    await store.open()
    await store.claim_due(NOON, NODE, 10, lambda *_: os.kill(os.getpid(), signal.SIGKILL))

asyncio.run(main())
"""


class KilledClaimContract(Contract):
    """For stores that another process opens by their address."""

    @abstractmethod
    def address_of(self, store: FullStore) -> str:
        """Return the address with which `make_store` opens the same data."""

    async def test_a_claim_killed_before_its_commit_loses_nothing_and_starts_nothing_twice(
        self, store: FullStore
    ) -> None:
        await store.join(a_node())
        tasks = [a_task() for _ in range(BACKLOG)]
        await add_tasks(store, *tasks)
        await self._kill_claim(store)
        started: list[str] = []
        # What the dead process has reserved or locked can be claimed once its server has noticed the death.
        async with asyncio.timeout(_PATIENCE):
            while len(started) < BACKLOG:
                claimed = [each.run for each in (await claim(store, room=10)).runs]
                started += [run.task_id for run in claimed]
                assert not await store.settle([a_settlement(run) for run in claimed], succeed)
                if not claimed:
                    await SystemClock().pause(_PAUSE)
        assert sorted(started) == sorted(task.id for task in tasks)
        assert await store.next_due() is None
        assert await store.check() == ()

    async def _kill_claim(self, store: FullStore) -> None:
        """Claim in another process, which kills itself when it decides about the first entry."""
        words = [sys.executable, "-c", _CLAIM, self.address_of(store)]
        killed = await asyncio.to_thread(subprocess.run, words, check=False, capture_output=True)
        assert killed.returncode == -SIGKILL, killed.stderr.decode()
