"""Pseudo terminal for a command: tests read its screen and send keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from horae.clock import SystemClock
from tests.cli.command_line import Cli
from tests.cli.fork_server import MODULE, Fork, is_same_interpreter

_ORDERS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_PATIENCE = 60.0
_CLOCK = SystemClock()


def _start(
    program: Sequence[str], arguments: Sequence[str], terminal: int, cwd: Path, env: dict[str, str]
) -> subprocess.Popen[bytes] | Fork:
    if program == MODULE and is_same_interpreter(env):
        return Fork(arguments, cwd=cwd, env=env, streams=[terminal] * 3, new_session=True)
    return subprocess.Popen(
        [*program, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )


class Terminal:
    """`with Terminal(cli, "resume", "x") as terminal:` then `wait_for` text and `press` keys."""

    def __init__(
        self,
        cli: Cli,
        *arguments: str,
        columns: int | None = None,
        program: Sequence[str] = MODULE,
        **environment: str,
    ) -> None:
        """`columns` is the width of the terminal itself; without it, COLUMNS is 100."""
        self._ours, theirs = pty.openpty()
        known = cli.environment(**({"TERM": "xterm", "COLUMNS": "100", "LINES": "50"} | environment))
        if columns is not None:
            known = {name: value for name, value in known.items() if name not in ("COLUMNS", "LINES")}
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = _start(program, arguments, theirs, cli.directory, known)
        os.close(theirs)
        self.raw = ""

    @property
    def shown(self) -> str:
        """Screen text without colours and cursor moves."""
        return _ORDERS.sub("", self.raw)

    def wait_for(self, text: str) -> None:
        end = _CLOCK.steady() + _PATIENCE
        while text not in self.shown:
            assert self._read(), f"{text!r} never came: {self.shown!r}"
            assert _CLOCK.steady() < end, f"{text!r} has not come: {self.shown!r}"

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        end = _CLOCK.steady() + _PATIENCE
        while self._read():
            assert _CLOCK.steady() < end, f"it goes on: {self.shown!r}"
        return self._process.wait(_PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], _PATIENCE)
        try:
            found = os.read(self._ours, 65_536) if ready else b""
        except OSError:  # the other end is closed
            found = b""
        self.raw += found.decode(errors="replace")
        return bool(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
