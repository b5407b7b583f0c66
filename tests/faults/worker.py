"""Worker process with an engine on the store of a test; stops cleanly at the end of its input or on SIGTERM."""

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
from tests.faults.defects import plant_defect, replace_attribute
from tests.faults.functions import FOLDER, clock_of, register
from tests.faults.stopping_store import StoppingStore
from tests.faults.worker_config import WorkerConfig


def report(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def work(config: WorkerConfig) -> None:
    testbed = config.testbed
    app = Horae(testbed.url, settings=config.settings, clock=clock_of(testbed))
    register(app)
    async with app:
        report("ready")
        await _wait_for_stop()


async def _wait_for_stop() -> None:
    """Wait for SIGTERM or for the end of the input; tests send no input."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    loop.add_reader(sys.stdin.fileno(), over.set)
    await over.wait()
    loop.remove_reader(sys.stdin.fileno())


def main() -> None:
    logging.basicConfig()
    config = WorkerConfig.from_json(sys.argv[1])
    os.environ[FOLDER] = config.folder

    def stopping(url: str, clock: Clock) -> FullStore:
        return cast("FullStore", StoppingStore(make_store(url, clock), config.testbed, config.point, report))

    with ExitStack() as stack:
        stack.enter_context(replace_attribute(app_module, "make_store", stopping))
        stack.enter_context(plant_defect(config.defect))
        if config.home is not None:
            stack.enter_context(replace_attribute(engine_module, "own_home", lambda: config.home))
        asyncio.run(work(config))
    report("ended")


if __name__ == "__main__":
    main()
