"""Counts the commands that clients send to a Redis server: MONITOR shows them, and those of scripts apart."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Final

from tests.servers.ports import HOST
from tests.servers.redis import RedisServer

_OF_A_SCRIPT: Final = b" lua]"


def count_commands(server: RedisServer, work: Callable[[], object]) -> int:
    """Return the number of commands that arrive while `work` goes on."""
    with TemporaryFile() as seen:
        command = ["redis-cli", "-h", HOST, "-p", str(server.port), "MONITOR"]
        with subprocess.Popen(command, stdout=seen) as monitor:
            try:
                work()
            finally:
                monitor.terminate()
        seen.seek(0)
        lines = [line for line in seen if line[:1].isdigit()]
    return sum(_OF_A_SCRIPT not in line for line in lines)
