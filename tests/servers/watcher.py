"""Watchdog process of a server: removes the server and its folder when the owner closes the pipe or dies."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.servers import process_tree

PID_FILE = "owner-saw.pid"


def watch(folder: Path) -> None:
    sys.stdin.buffer.read()
    pid_file = folder / PID_FILE
    if pid_file.exists():
        process_tree.kill(int(pid_file.read_text()))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
