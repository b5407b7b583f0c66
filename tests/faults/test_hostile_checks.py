"""What looks for leftovers finds them: otherwise that nothing was found would say nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.functions import FOLDER
from tests.faults.hostile_surroundings import memory_of, open_sockets, survivors


@contextmanager
def left_behind(**environment: str) -> Iterator[int]:
    code = "print('here', flush=True); input()"
    with subprocess.Popen(
        (sys.executable, "-c", code), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid


def test_a_process_of_the_folder_is_found(tmp_path: Path) -> None:
    with left_behind(**{FOLDER: str(tmp_path)}) as pid:
        assert survivors(tmp_path, []) == [pid]
    assert survivors(tmp_path, []) == []


def test_a_process_of_a_run_is_found(tmp_path: Path) -> None:
    run = f"run_of_{os.getpid()}"
    with left_behind(HORAE_RUN_ID=run) as pid:
        assert survivors(tmp_path, [run]) == [pid]
        assert survivors(tmp_path, ["another"]) == []


def test_an_open_socket_is_counted() -> None:
    before = open_sockets(os.getpid())
    with socket.socket():
        assert open_sockets(os.getpid()) == before + 1


def test_what_was_held_for_a_moment_is_in_the_peak() -> None:
    before = memory_of(os.getpid())
    held = bytes(b"x" * (int(before.peak - before.resident) + 50) * 1024 * 1024)
    del held
    assert memory_of(os.getpid()).peak >= before.peak + 25
