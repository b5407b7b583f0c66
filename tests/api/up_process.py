"""Runs `horae up --json` with its API in a real process and parses the lines that it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

TIMEOUT_SECONDS: Final = 40
WITH_API: Final = {name: value for name, value in os.environ.items() if name not in ("HORAE_API", "HORAE_STORE")}


class Up:
    """A running `horae up --json`; `lines` holds the JSON objects that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def expect(self, kind: str) -> dict[str, Any]:
        for line in self.stdout:
            self.lines.append(json.loads(line))
            if self.lines[-1]["type"] == kind:
                return self.lines[-1]
        raise AssertionError(f"{kind} was not printed, only {self.lines}")

    def child(self, module: str) -> int:
        """The process that runs this module."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        for each in map(int, children.split()):
            if module in Path(f"/proc/{each}/cmdline").read_text(encoding="utf-8"):
                return each
        raise AssertionError(f"no child runs {module}")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_SECONDS)


@contextmanager
def run_up(folder: Path, *options: str, store: str | None = None) -> Iterator[Up]:
    url = store or f"sqlite:///{folder}/horae.db"
    command = [sys.executable, "-m", "horae", "up", "--json", "--store", url, *options]
    environment = {**WITH_API, "XDG_DATA_HOME": str(folder), "HOME": str(folder)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    # A test that waits for a line that is never printed ends with the process.
    timeout = threading.Timer(3 * TIMEOUT_SECONDS, process.kill)
    timeout.start()
    try:
        yield Up(process)
    finally:
        timeout.cancel()
        process.kill()
        process.wait(TIMEOUT_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
