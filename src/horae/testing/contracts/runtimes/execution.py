"""Contract of execution: streams, exit codes, stopping, secrets, refused specs."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from ....errors import Refusal
from ....ports.runtime import Limits, Mount, Runtime, RuntimeSpec
from .harness import CONNECT, ENDLESS, SMALL, RuntimeCase, RuntimeHarness

_SECRET = "swordfish-5f3c"  # noqa: S105 - of the test
_TERM = """
import signal
def end(*_):
    print("ending", flush=True)
    raise SystemExit(9)
signal.signal(signal.SIGTERM, end)
"""


class RuntimeExecutionContract(RuntimeCase):
    async def test_check_names_what_enforces_each_limit(self, harness: RuntimeHarness) -> None:
        enforcement = await harness.runtime.check()
        assert {"memory", "processes", "cpus", "open_files", "output", "scratch"} <= enforcement.keys()

    async def test_input_larger_than_a_pipe_comes_back(self, harness: RuntimeHarness) -> None:
        data = os.urandom(1024) * 1500
        copy = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
        done = await harness.run(copy, stdin=data)
        assert (done.exit.code, done.exit.cause) == (0, "exited"), done.stderr
        assert done.stdout == data

    async def test_each_stream_is_in_order(self, harness: RuntimeHarness) -> None:
        code = "import sys\nfor n in range(2000):\n  print(n)\n  print(-n, file=sys.stderr)"
        done = await harness.run(code)
        assert done.stdout.split() == [b"%d" % n for n in range(2000)]
        assert done.stderr.split() == [b"%d" % -n for n in range(2000)]

    async def test_exit_code_is_reported(self, harness: RuntimeHarness) -> None:
        done = await harness.run("raise SystemExit(7)")
        assert (done.exit.code, done.exit.cause) == (7, "exited")

    async def test_signal_is_reported_as_128_and_its_number(self, harness: RuntimeHarness) -> None:
        done = await harness.run("import os; os.kill(os.getpid(), 9)")
        assert (done.exit.code, done.exit.cause) == (137, "exited")

    async def test_input_that_is_not_read_does_not_block(self, harness: RuntimeHarness) -> None:
        done = await harness.run("print('bye')", stdin=b"x" * 1_000_000)
        assert (done.exit.code, done.stdout) == (0, b"bye\n")

    async def test_only_the_given_environment_is_passed(self, harness: RuntimeHarness) -> None:
        os.environ["COLOUR_OF_THE_HOST"] = "1"
        try:
            done = await harness.run(
                "import os; print(sorted(os.environ), os.environ['COLOUR'])", environment={"COLOUR": "a b='c"}
            )
        finally:
            del os.environ["COLOUR_OF_THE_HOST"]
        assert b"COLOUR_OF_THE_HOST" not in done.stdout
        assert done.stdout.endswith(b" a b='c\n")

    async def test_missing_program_is_an_error(self, harness: RuntimeHarness) -> None:
        spec = RuntimeSpec(run="missing", program=["horae-no-such-program"], limits=SMALL)
        async with await harness.runtime.start(spec) as process:
            done = await harness.finish(process)
        assert done.exit.code != 0
        assert b"horae-no-such-program" in done.stderr or b"No such file" in done.stderr

    async def test_stop_asks_and_the_program_ends_in_order(self, harness: RuntimeHarness) -> None:
        async with await harness.start(_TERM + ENDLESS) as process:
            connection = await harness.connected()
            done = await process.stop(grace=20)
            assert (done.code, done.cause) == (9, "stopped")
            assert [chunk.data async for chunk in process.output()] == [b"ending\n"]
            await harness.assert_ended(connection)

    async def test_stop_kills_after_the_grace(self, harness: RuntimeHarness) -> None:
        async with await harness.start("import signal; signal.signal(15, signal.SIG_IGN)" + ENDLESS) as process:
            connection = await harness.connected()
            assert (await process.stop(grace=0.2)).cause == "stopped"
            await harness.assert_ended(connection)

    async def test_stop_ends_children_in_sessions_of_their_own(self, harness: RuntimeHarness) -> None:
        daemon = "import os\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n" + "\n".join(
            f"    {line}" for line in ENDLESS.splitlines()
        )
        async with await harness.start(daemon + "\nimport time\nwhile True: time.sleep(60)") as process:
            connection = await harness.connected()
            await process.stop()
            await harness.assert_ended(connection)

    async def test_children_end_with_the_program(self, harness: RuntimeHarness) -> None:
        leave = "import os\nif os.fork() == 0:\n  os.setsid()\n" + "\n".join(
            f"  {line}" for line in ENDLESS.splitlines()
        )
        wait = "\nelse:\n  import sys; sys.stdin.read()"
        async with await harness.start(leave + wait) as process:
            connection = await harness.connected()
            process.close_input()
            assert (await process.wait()).code == 0
            await harness.assert_ended(connection)

    async def test_stop_at_once_after_start(self, harness: RuntimeHarness) -> None:
        async with await harness.start(ENDLESS) as process:
            assert (await process.stop()).cause == "stopped"

    async def test_stop_works_while_the_output_is_not_read(self, harness: RuntimeHarness) -> None:
        code = CONNECT + "while True: sys.stdout.write('x' * 10_000)"
        async with await harness.start(code, limits=Limits(memory=SMALL.memory, processes=32)) as process:
            connection = await harness.connected()
            assert (await process.stop(grace=0.1)).cause == "stopped"
            await harness.assert_ended(connection)

    async def test_cancelling_a_wait_stops_nothing_and_leaving_stops_all(self, harness: RuntimeHarness) -> None:
        async with await harness.start(ENDLESS) as process:
            connection = await harness.connected()
            waiting = asyncio.create_task(process.wait())
            await asyncio.wait([waiting], timeout=0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert connection.is_open
        await harness.assert_ended(connection)

    async def test_cancelled_host_task_stops_its_agent(self, harness: RuntimeHarness) -> None:
        task = asyncio.create_task(harness.run(ENDLESS))
        connection = await harness.connected()
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)
        await harness.assert_ended(connection)

    async def test_two_agents_at_once(self, harness: RuntimeHarness) -> None:
        async with await harness.start(ENDLESS) as first, await harness.start(ENDLESS) as second:
            connections = [await harness.connected(), await harness.connected()]
            assert first.name != second.name
            await first.stop()
            await second.stop()
        for connection in connections:
            await harness.assert_ended(connection)

    async def test_secrets_of_stdin_are_in_no_argument_and_no_environment(self, harness: RuntimeHarness) -> None:
        code = "import sys; secret = sys.stdin.readline()" + CONNECT + "line.sendall(secret.encode()); line.recv(1)"
        async with await harness.start(code) as process:
            await process.write(f"{_SECRET}\n".encode())
            connection = await harness.connected()
            assert await connection.read_line() == _SECRET
            assert not _processes_that_show(_SECRET.encode())
        await harness.assert_ended(connection)

    async def test_specs_that_cannot_work_are_refused(self, harness: RuntimeHarness) -> None:
        folder = str(harness.directory("real"))
        (harness.folder / "link").symlink_to(folder)
        bad: list[dict[str, Any]] = [
            {"run": ""},
            {"run": "../x"},
            {"run": "-x"},
            {"program": []},
            {"program": ["a\0b"]},
            {"directory": "relative"},
            {"directory": "/a/../b"},
            {"environment": {"A=B": "x"}},
            {"environment": {"HORAE_RUN_ID": "other"}},
            {"mounts": [Mount(folder, "relative")]},
            {"mounts": [Mount(folder, "/")]},
            {"mounts": [Mount(folder, "/usr/bin")]},
            {"mounts": [Mount(folder, "/proc")]},
            {"mounts": [Mount(folder, "/a,readonly=false")]},
            {"mounts": [Mount(folder, "/a"), Mount(folder, "/a/b")]},
            {"mounts": [Mount(f"{folder}/absent", "/a")]},
            {"mounts": [Mount("relative", "/a")]},
            {"mounts": [Mount(str(harness.folder / "link"), "/a")]},
            {"mounts": [Mount(f"{folder}/../real", "/a")]},
            {"limits": Limits(memory=0)},
            {"limits": Limits(processes=0)},
            {"limits": Limits(cpus=float("nan"))},
        ]
        for change in bad:
            fields = {"run": "bad", "program": ["true"], **change}
            code = await _refusal(harness.runtime, RuntimeSpec(**fields))
            assert code in {"runtime_spec", "mount_source"}, f"{change} was not refused"


async def _refusal(runtime: Runtime, spec: RuntimeSpec) -> str | None:
    try:
        process = await runtime.start(spec)
    except Refusal as refusal:
        return refusal.code
    async with process:
        return None


def _processes_that_show(secret: bytes) -> list[Path]:
    seen = [file for name in ("cmdline", "environ") for file in Path("/proc").glob(f"[0-9]*/{name}")]
    return [file for file in seen if secret in _read(file)]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
