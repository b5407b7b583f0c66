"""Host process of one agent, for tests that kill it: starts the agent of the arguments and waits for its end."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.container import ContainerRuntime
from horae.agents.runtimes.process import ProcessRuntime
from horae.ports.runtime import ForwardedSocket, Runtime, RuntimeSpec
from horae.testing.contracts.runtimes.harness import ENDLESS, LINE, SMALL


def open_runtime(kind: str, install: str, settings: dict[str, Any]) -> Runtime:
    match kind:
        case "podman":
            return ContainerRuntime(install, rootfs=settings["root"], options=settings["options"])
        case "docker":
            return ContainerRuntime(install, program="docker", image=settings["image"], options=settings["options"])
        case "bubblewrap":
            return BubblewrapRuntime(install, root=Path(settings["root"]), use_cgroup=settings.get("use_cgroup", True))
        case _:
            return ProcessRuntime(install, is_allowed=True)


async def main() -> None:
    kind, install, run, socket, settings, *python = sys.argv[1:]
    spec = RuntimeSpec(
        run=run,
        program=[*python, "-c", ENDLESS, LINE],
        sockets=[ForwardedSocket(socket, LINE)],
        limits=SMALL,
    )
    async with await open_runtime(kind, install, json.loads(settings)).start(spec) as process:
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main())
