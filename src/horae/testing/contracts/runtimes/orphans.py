"""Contract of orphans: a killed host leaves no live agent, and reaping touches neither kept runs nor other installations."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from .harness import ENDLESS, AgentConnection, RuntimeCase, RuntimeHarness


class RuntimeOrphansContract(RuntimeCase):
    async def test_agent_of_a_killed_host_ends(self, harness: RuntimeHarness) -> None:
        host, connection = await self._start_host(harness, "orphan")
        launcher = _launcher(harness.install, "orphan")
        host.kill()
        await host.wait()
        await harness.assert_ended(connection)
        await _wait_for_process(launcher)

    async def test_agent_of_a_host_and_launcher_killed_together_is_reaped(self, harness: RuntimeHarness) -> None:
        host, connection = await self._start_host(harness, "orphan")
        launcher = _launcher(harness.install, "orphan")
        host.kill()
        os.kill(launcher, signal.SIGKILL)
        await host.wait()
        reaped = await harness.runtime.reap()
        assert set(reaped) <= {"orphan"}
        await harness.assert_ended(connection)
        assert await harness.runtime.reap() == []

    async def test_reaping_leaves_kept_runs_and_other_installations(self, harness: RuntimeHarness) -> None:
        # Its name begins with that of the first.
        other = self.runtime(f"{harness.install}-2")
        async with (
            await harness.start(ENDLESS, run="kept") as kept,
            await harness.start(ENDLESS, run="lost") as lost,
            await other.start(harness.spec(ENDLESS, run="lost")) as foreign,
        ):
            connections = [await harness.connected() for _ in range(3)]
            assert await harness.runtime.reap(keep={"kept"}) == ["lost"]
            async with asyncio.timeout(self.patience.total_seconds()):
                assert (await lost.wait()).cause != "stopped"
            ended = [asyncio.create_task(each.wait_for_end()) for each in connections]
            done, running = await asyncio.wait(
                ended, timeout=self.patience.total_seconds(), return_when=asyncio.FIRST_COMPLETED
            )
            assert (len(done), len(running)) == (1, 2)
            assert (await kept.stop()).cause == "stopped"
            assert (await foreign.stop()).cause == "stopped"
            await asyncio.wait(ended)

    async def test_agent_of_a_killed_launcher_ends_and_is_reported(self, harness: RuntimeHarness) -> None:
        async with await harness.start(ENDLESS, run="alone") as process:
            connection = await harness.connected()
            os.kill(_launcher(harness.install, "alone"), signal.SIGKILL)
            async with asyncio.timeout(self.patience.total_seconds()):
                assert (await process.wait()).cause == "lost"
            await harness.assert_ended(connection)

    async def test_a_run_can_start_again_after_its_end(self, harness: RuntimeHarness) -> None:
        for _ in range(2):
            async with await harness.start(ENDLESS, run="again") as process:
                connection = await harness.connected()
                await process.stop()
            await harness.assert_ended(connection)

    async def _start_host(
        self, harness: RuntimeHarness, run: str
    ) -> tuple[asyncio.subprocess.Process, AgentConnection]:
        command = self.host_command(harness.install, run, harness.socket)
        host = await asyncio.create_subprocess_exec(*command)
        return host, await harness.connected()


async def _wait_for_process(pid: int) -> None:
    """Wait for the end of a process that is no child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    await ended.wait()
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


def _launcher(install: str, run: str) -> int:
    """Return the process of the launcher, which has installation and run as arguments."""
    marks = {f"HORAE_INSTALL={install}".encode(), f"HORAE_RUN_ID={run}".encode()}
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if marks <= set(words) and any(word.endswith(b"launcher.py") for word in words):
            return int(file.parent.name)
    raise AssertionError(f"no launcher of the run {run}")
