"""One process with an engine on the store: started, frozen and killed by the tests. It ends in good order when its input
does, or when it is asked to by SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import ExitStack
from typing import cast

from horae import Horae
from horae.app import lifespan as app_module
from horae.clock import Clock
from horae.engine import engine as engine_module
from horae.ports.full_store import FullStore
from horae.runtime import make_store
from tests.faults.defects import planted, swapped
from tests.faults.functions import FOLDER, clock_of, register
from tests.faults.orders import Orders
from tests.faults.points import StoppingStore


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def work(orders: Orders) -> None:
    place = orders.place
    app = Horae(place.url, settings=orders.settings, clock=clock_of(place))
    register(app)
    async with app:
        say("ready")
        await _until_the_end()


async def _until_the_end() -> None:
    """Nobody says anything to a worker: whatever comes is the end of its input."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    loop.remove_reader(sys.stdin.fileno())


def main() -> None:
    logging.basicConfig()
    orders = Orders.read(sys.argv[1])
    os.environ[FOLDER] = orders.folder

    def stopping(url: str, clock: Clock) -> FullStore:
        return cast("FullStore", StoppingStore(make_store(url, clock), orders.place, orders.point, say))

    with ExitStack() as stack:
        stack.enter_context(swapped(app_module, "make_store", stopping))
        stack.enter_context(planted(orders.defect))
        if orders.home is not None:
            stack.enter_context(swapped(engine_module, "own_home", lambda: orders.home))
        asyncio.run(work(orders))
    say("ended")


if __name__ == "__main__":
    main()
