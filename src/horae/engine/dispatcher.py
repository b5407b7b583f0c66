"""Claims what is due and hands it to the runner; when nothing is, sleeps until something will be."""

from __future__ import annotations

from functools import partial
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.fire import fire
from ..lifecycle.start import Claimant
from ..ports.store import Agenda, Claim, Terms
from .alarm import Alarm
from .lease import Lease
from .runner import Runner

AGAIN_SECONDS: Final = 0.5


class Dispatcher:
    def __init__(self, store: Agenda, runner: Runner, alarm: Alarm, lease: Lease, clock: Clock, terms: Terms) -> None:
        self._store = store
        self._runner = runner
        self._alarm = alarm
        self._lease = lease
        self._clock = clock
        self._ceiling = terms.poll_ceiling

    async def step(self) -> Claim:
        """One slice. The instant is read before the store is asked, so nothing is ever claimed early."""
        room = self._runner.room
        if room <= 0 or not self._lease.held:
            return Claim(more=room <= 0)
        claimant = Claimant(self._lease.node, self._clock.now(), self._ceiling)
        decide = partial(fire, claim=claimant)
        claim = await self._store.claim_due(claimant.now, claimant.node, room, decide)
        self._runner.carry(claim.runs)
        return claim

    async def run(self) -> None:
        while True:
            try:
                claim = await self.step()
            except StoreError:
                # The settler and the keeper find out on their own; here nothing was claimed.
                await self._clock.pause(AGAIN_SECONDS)
                continue
            if claim.more and self._runner.room > 0:
                continue
            if claim.more:
                self._runner.want_room()
            self._alarm.looked(None if claim.more else claim.next_due)
            await self._alarm.wait()
