"""Contract of limits: a program that exceeds one is contained, soon."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from dataclasses import replace

from ....ports.runtime import MIB
from .harness import CONNECT, SMALL, RuntimeCase, RuntimeHarness

_FORK_BOMB = (
    """
import os, time
children = 0
try:
    while children < 2000:
        if os.fork() == 0:
            time.sleep(600)
        children += 1
except OSError:
    pass
"""
    + CONNECT
    + "line.sendall(b'%d\\n' % children); line.recv(1)"
)


class RuntimeLimitsContract(RuntimeCase):
    reports_process_limit = True
    """Whether the runtime sees that a control group refused the program a process."""
    reports_memory_limit = True
    """Whether the runtime sees that a control group ended the program; otherwise the exit code is 137."""

    async def test_memory_is_limited(self, harness: RuntimeHarness) -> None:
        hog = "data = []\nfor n in range(2048): data.append(b'x' * 1_048_576)\nprint('done')"
        done = await harness.run(hog, limits=replace(SMALL, memory=96 * MIB))
        assert done.stdout == b""
        assert done.exit.code != 0
        is_visible = self.reports_memory_limit and (await harness.runtime.check())["memory"] == "cgroup"
        assert done.exit.cause == ("memory_limit" if is_visible else "exited")

    async def test_memory_of_all_processes_together_or_of_each_is_limited(self, harness: RuntimeHarness) -> None:
        """Eight children of 40 MiB each: a control group stops them together, another limit would stop each at 96."""
        hog = (
            "import os, sys\npipes = []\nfor n in range(8):\n  r, w = os.pipe()\n  if os.fork() == 0:\n"
            "    data = b'x' * 41_943_040\n    os.write(w, b'1')\n    sys.stdin.read()\n    os._exit(0)\n"
            "  os.close(w)\n  pipes.append(r)\nprint(sum(len(os.read(r, 1)) for r in pipes))"
        )
        together = (await harness.runtime.check())["memory"] == "cgroup"
        async with asyncio.timeout(harness.patience.total_seconds()):
            done = await harness.run(hog, limits=replace(SMALL, memory=96 * MIB))
        assert done.stdout != b"8\n" or not together

    async def test_fork_bomb_is_contained_and_ends(self, harness: RuntimeHarness) -> None:
        async with await harness.start(_FORK_BOMB) as process:
            connection = await harness.connected()
            assert 1 <= int(await connection.read_line()) <= SMALL.processes
            ended = await process.stop()
        await harness.assert_ended(connection)
        is_visible = self.reports_process_limit and (await harness.runtime.check())["processes"] == "cgroup"
        assert ended.is_process_limited == is_visible

    async def test_endless_output_is_cut_and_ends_the_program(self, harness: RuntimeHarness) -> None:
        for stream in ("stdout", "stderr"):
            flood = f"import sys\nwhile True: sys.{stream}.write('x' * 100_000)"
            done = await harness.run(flood, limits=replace(SMALL, output=MIB))
            assert done.exit.cause == "output_limit"
            assert len(getattr(done, stream)) == MIB

    async def test_output_up_to_the_limit_is_no_error(self, harness: RuntimeHarness) -> None:
        done = await harness.run("print('x' * 1048575)", limits=replace(SMALL, output=MIB))
        assert (done.exit.cause, len(done.stdout)) == ("exited", MIB)

    async def test_open_files_are_limited(self, harness: RuntimeHarness) -> None:
        code = "import os\nfor n in range(1000): os.dup(0)"
        done = await harness.run(code, limits=replace(SMALL, open_files=64))
        assert b"Too many open files" in done.stderr

    async def test_processor_share_is_limited(self, harness: RuntimeHarness) -> None:
        if (await harness.runtime.check())["cpus"] == "none":
            return
        busy = (
            "import time; start = time.monotonic(); end = time.process_time() + 0.3\n"
            "while time.process_time() < end: pass\nprint(time.monotonic() - start)"
        )
        done = await harness.run(busy, limits=replace(SMALL, cpus=0.5))
        assert float(done.stdout) > 0.4, "0.3 s of half a processor take 0.6 s"
