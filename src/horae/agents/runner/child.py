"""Runs a program to its end with bounded output; the program of a mind or the script of a task."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

_CHUNK_BYTES: Final = 65_536
_MAX_STDERR_BYTES: Final = 65_536


class ChildFailed(Exception):  # noqa: N818 - of the program, not of the runner
    pass


class ChildEnd(NamedTuple):
    code: int
    stdout: bytes
    stderr: bytes


async def run_child(argv: Sequence[str], stdin: bytes, max_bytes: int, seconds: float | None = None) -> ChildEnd:
    """Run the program; raise `ChildFailed` when it cannot start, writes too much, or takes too long. All of it has ended then."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise ChildFailed(f"cannot be started: {error}") from None
    assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - all three are pipes
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            group.create_task(_write(process.stdin, stdin))
            output = group.create_task(_read(process.stdout, max_bytes, process.pid))
            errors = group.create_task(_read_tail(process.stderr))
        code = await process.wait()
    except TimeoutError:
        raise ChildFailed(f"did not end within {seconds:g} s") from None
    finally:
        _kill(process.pid)
        await process.wait()
    if len(output.result()) > max_bytes:
        raise ChildFailed(f"wrote more than {max_bytes} bytes")
    return ChildEnd(code, output.result(), errors.result())


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader, max_bytes: int, group: int) -> bytes:
    """Read to the end, or one byte more than is allowed: then the program is killed."""
    data = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        data += chunk[: max_bytes + 1 - len(data)]
        if len(data) > max_bytes:
            _kill(group)
    return bytes(data)


async def _read_tail(stream: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while chunk := await stream.read(_CHUNK_BYTES):
        data += chunk
        del data[:-_MAX_STDERR_BYTES]
    return bytes(data)


SCRIPT_SECONDS: Final = 30.0
_MAX_OUTPUT_BYTES: Final = 1024 * 1024


async def run_script(script: str, seconds: float = SCRIPT_SECONDS) -> tuple[bool, Any]:
    """Return whether the script wakes the agent, and its data.

    The last line that it prints is a JSON object with the boolean `wakeAgent`, and `data` if it has some. After an error,
    a timeout or any other output the agent is not woken.
    """
    try:
        ended = await run_child(["bash", "-c", script], b"", _MAX_OUTPUT_BYTES, seconds)
    except ChildFailed:
        return False, None
    lines = [line for line in ended.stdout.decode(errors="replace").splitlines() if line.strip()]
    if ended.code != 0 or not lines:
        return False, None
    try:
        value = json.loads(lines[-1])
    except (ValueError, RecursionError):
        return False, None
    if not isinstance(value, dict) or value.get("wakeAgent") is not True:
        return False, None
    return True, value.get("data")


def prompt_with_data(prompt: str, data: Any) -> str:
    shown = json.dumps(data, indent=2, ensure_ascii=False)
    return f"[SCHEDULED TASK]\n\nScript output:\n{shown}\n\nInstructions:\n{prompt}"
