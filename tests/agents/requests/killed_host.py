"""Host of requests that kills itself at a step: `python -m tests.agents.requests.killed_host DIRECTORY STEP`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from horae.agents.requests import directory as directory_module
from horae.agents.requests import inbox
from tests.agents.requests.request_harness import RequestHarness, open_store

STEPS = ("claimed", "executed", "answered")


def die(*_arguments: Any, **_options: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


async def main(directory: Path, step: str) -> None:
    async with open_store(directory) as store:
        harness = RequestHarness(store, directory / "agents")
        if step == "claimed":
            harness.host.executor.execute = die  # type: ignore[method-assign]
        elif step == "executed":
            harness.host.inbox.answer = die  # type: ignore[method-assign]
        else:
            write = directory_module.write_file

            def write_and_die(*arguments: Any, **options: Any) -> None:
                write(*arguments, **options)
                die()

            vars(inbox)["write_file"] = write_and_die
        await harness.host.watcher.recover()
        await harness.host.watcher.look()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
