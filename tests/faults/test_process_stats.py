"""Process statistics of the hostile tests: leftovers that exist are found."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.functions import FOLDER
from tests.faults.process_stats import memory_of, open_sockets, survivors


@contextmanager
def running_process(**environment: str) -> Iterator[int]:
    code = "print('here', flush=True); input()"
    with subprocess.Popen(
        (sys.executable, "-c", code), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid


def test_survivors_finds_process_by_folder(tmp_path: Path) -> None:
    with running_process(**{FOLDER: str(tmp_path)}) as pid:
        assert survivors(tmp_path, []) == [pid]
    assert survivors(tmp_path, []) == []


def test_survivors_finds_process_by_run_id(tmp_path: Path) -> None:
    run = f"run_of_{os.getpid()}"
    with running_process(HORAE_RUN_ID=run) as pid:
        assert survivors(tmp_path, [run]) == [pid]
        assert survivors(tmp_path, ["another"]) == []


def test_open_sockets_counts_an_open_socket() -> None:
    before = open_sockets(os.getpid())
    with socket.socket():
        assert open_sockets(os.getpid()) == before + 1


def test_peak_memory_includes_released_memory() -> None:
    before = memory_of(os.getpid())
    held = bytes(b"x" * (int(before.peak - before.resident) + 50) * 1024 * 1024)
    del held
    assert memory_of(os.getpid()).peak >= before.peak + 25
