"""A network namespace for containers: the host gets no new interface, which would break the connections of browsers.

Chromium closes all of its connections when the addresses of the machine change (ERR_NETWORK_CHANGED), and other tests run
browsers at the same time.
"""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType
from typing import Self

from tests.servers.programs import program

# The loopback interface of a new namespace is down; the process that holds the namespace ends with its standard input.
_HOLD = 'ip link set lo up && echo "ready" && exec cat >/dev/null'


class NetworkNamespace:
    """`inside` goes before a command that is to run in the namespace, until the block ends."""

    def __enter__(self) -> Self:
        program("ip", package="iproute2")
        unshare = program("unshare", package="util-linux")
        self._holder = subprocess.Popen(
            [unshare, "--net", "sh", "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "ready\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holder.communicate(timeout=60)

    @property
    def inside(self) -> tuple[str, ...]:
        return ("nsenter", f"--net=/proc/{self._holder.pid}/ns/net")

    def run_python(self, code: str, *arguments: str, stdin: str = "", timeout: float = 300) -> str:
        """Run code of the tests in the namespace; returns its standard output."""
        done = subprocess.run(
            [*self.inside, sys.executable, "-P", "-c", code, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
